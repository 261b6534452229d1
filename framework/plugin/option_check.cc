#include "framework/plugin/option_check.h"

#include <cmath>
#include <string>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_join.h"
#include "absl/types/span.h"
#include "framework/plugin/host_status.h"
#include "framework/plugin/plugin_limits.h"
#include "framework/plugin/plugin_text.h"
#include "framework/plugin/registrar.h"

namespace millstream {
namespace {

using Schema = absl::Span<const MS_OptionDesc* const>;

// What the first release of the struct had.
constexpr uint32_t kOptionDescSize = offsetof(MS_OptionDesc, flags) + sizeof(MS_OptionDesc::flags);
constexpr uint32_t kKnownFlags = MS_OPTION_PER_DEVICE;

// "a whole number", "a number in [0, 1]", "one of fast, exact".
std::string Expected(const MS_OptionDesc& option) {
  std::string text = "a text";
  if (option.kind == MS_OPTION_I64 || option.kind == MS_OPTION_U64) text = "a whole number";
  if (option.kind == MS_OPTION_F64) text = "a number";
  if (option.kind == MS_OPTION_BOOL) text = "0 or 1, or false or true";
  if (option.n_choices > 0) {
    std::vector<std::string> choices;
    for (uint64_t i = 0; i < option.n_choices; ++i)
      choices.emplace_back(FromAbi(option.choices[i]));
    text = absl::StrCat("one of ", absl::StrJoin(choices, ", "));
  }
  const absl::string_view minimum = FromAbi(option.minimum), maximum = FromAbi(option.maximum);
  if (!minimum.empty() && !maximum.empty()) {
    absl::StrAppend(&text, " in [", minimum, ", ", maximum, "]");
  } else if (!minimum.empty()) {
    absl::StrAppend(&text, " of at least ", minimum);
  } else if (!maximum.empty()) {
    absl::StrAppend(&text, " of at most ", maximum);
  }
  return text;
}

bool ParseNumber(absl::string_view text, int64_t* out) { return absl::SimpleAtoi(text, out); }
bool ParseNumber(absl::string_view text, uint64_t* out) { return absl::SimpleAtoi(text, out); }
bool ParseNumber(absl::string_view text, double* out) {
  return absl::SimpleAtod(text, out) && !std::isnan(*out);
}

// A bound that cannot be read is none that a value meets.
template <typename T>
bool IsNumberWithin(const MS_OptionDesc& option, absl::string_view text) {
  T value = 0, bound = 0;
  if (text.empty() || absl::ascii_isspace(static_cast<unsigned char>(text[0])) ||
      !ParseNumber(text, &value)) {
    return false;
  }
  const absl::string_view minimum = FromAbi(option.minimum), maximum = FromAbi(option.maximum);
  if (!minimum.empty() && (!ParseNumber(minimum, &bound) || value < bound)) return false;
  return maximum.empty() || (ParseNumber(maximum, &bound) && value <= bound);
}

// "name", or "name@ordinal" where that is allowed.
const MS_OptionDesc* FindOption(Schema schema, absl::string_view name) {
  const size_t at = name.find('@');
  const absl::string_view base = name.substr(0, at);
  uint32_t ordinal = 0;
  for (const MS_OptionDesc* option : schema) {
    if (FromAbi(option->name) != base) continue;
    const bool may_have_ordinal = (option->flags & MS_OPTION_PER_DEVICE) != 0;
    if (at == absl::string_view::npos) return option;
    if (may_have_ordinal && absl::SimpleAtoi(name.substr(at + 1), &ordinal)) return option;
  }
  return nullptr;
}

Status UnknownOption(Schema schema, absl::string_view name) {
  std::vector<std::string> known;
  for (const MS_OptionDesc* option : schema) {
    const bool per_device = (option->flags & MS_OPTION_PER_DEVICE) != 0;
    known.push_back(absl::StrCat(FromAbi(option->name), per_device ? "[@ordinal]" : ""));
  }
  return errors::InvalidArgument("unknown option \"", name,
                                 "\": ", known.empty() ? "there are none" : "known are ",
                                 absl::StrJoin(known, ", "));
}

Status CheckOptionTexts(const MS_OptionDesc& option) {
  MS_RETURN_IF_ERROR(CheckText(option.doc, "MS_OptionDesc.doc"));
  MS_RETURN_IF_ERROR(CheckText(option.default_value, "MS_OptionDesc.default_value"));
  MS_RETURN_IF_ERROR(CheckName(option.minimum, "MS_OptionDesc.minimum"));
  MS_RETURN_IF_ERROR(CheckName(option.maximum, "MS_OptionDesc.maximum"));
  MS_RETURN_IF_ERROR(
      CheckArray(option.choices, option.n_choices, kMostOptions, "MS_OptionDesc.choices"));
  for (uint64_t i = 0; i < option.n_choices; ++i) {
    MS_RETURN_IF_ERROR(CheckName(option.choices[i], "MS_OptionDesc.choices"));
  }
  return absl::OkStatus();
}

const MS_OptionsApi* TableOf(const MS_Plugin* plugin) {
  return reinterpret_cast<const MS_OptionsApi*>(plugin->get_interface(plugin, MS_OPTIONS_API));
}

Schema SchemaIn(const MS_OptionsApi& table, const MS_Plugin* plugin) {
  const MS_OptionDesc* const* options = nullptr;
  uint64_t n = 0;
  table.schema(plugin, &options, &n);
  return Schema(options, n);
}

}  // namespace

bool IsGoodOptionValue(const MS_OptionDesc& option, absl::string_view value) {
  switch (option.kind) {
    case MS_OPTION_I64: return IsNumberWithin<int64_t>(option, value);
    case MS_OPTION_U64: return IsNumberWithin<uint64_t>(option, value);
    case MS_OPTION_F64: return IsNumberWithin<double>(option, value);
    case MS_OPTION_BOOL: return value == "0" || value == "1" || value == "false" || value == "true";
    default: break;
  }
  const absl::Span<const MS_Str> choices(option.choices, option.n_choices);
  return choices.empty() ||
         absl::c_any_of(choices, [value](MS_Str choice) { return FromAbi(choice) == value; });
}

Status CheckOptionDescription(const MS_OptionDesc* option) {
  if (option == nullptr) return errors::InvalidArgument("an MS_OptionDesc is null");
  MS_RETURN_IF_ERROR(CheckHead(option->head, kOptionDescSize, "MS_OptionDesc"));
  MS_RETURN_IF_ERROR(CheckName(option->name, "MS_OptionDesc.name"));
  const absl::string_view name = FromAbi(option->name);
  MS_RETURN_IF_ERROR(WithContext(CheckOptionTexts(*option), absl::StrCat("option ", name)));
  if (option->kind < MS_OPTION_I64 || option->kind > MS_OPTION_STR ||
      (option->flags & ~kKnownFlags) != 0) {
    return errors::Unimplemented("option ", name, ": kind ", option->kind, " or flags ",
                                 option->flags, " are unknown");
  }
  const bool has_default = option->default_value.data != nullptr;
  if (name.empty() ||
      (has_default && !IsGoodOptionValue(*option, FromAbi(option->default_value)))) {
    return errors::InvalidArgument("option \"", name, "\": the default \"",
                                   FromAbi(option->default_value), "\" is not ", Expected(*option));
  }
  return absl::OkStatus();
}

Schema OptionSchemaOf(const MS_Plugin* plugin) {
  const MS_OptionsApi* const table = TableOf(plugin);
  return table == nullptr ? Schema() : SchemaIn(*table, plugin);
}

Status CheckOptions(const MS_Plugin* plugin, const PluginOptions& given, PluginOptions* all) {
  return CheckOptions(plugin, TableOf(plugin), given, all);
}

Status CheckOptions(const MS_Plugin* plugin, const MS_OptionsApi* table, const PluginOptions& given,
                    PluginOptions* all) {
  *all = given;
  if (table == nullptr) return absl::OkStatus();
  const Schema schema = SchemaIn(*table, plugin);
  MS_RETURN_IF_ERROR(
      CheckArray(schema.data(), schema.size(), kMostOptions, "the schema of ms.options/1"));
  for (const MS_OptionDesc* option : schema) MS_RETURN_IF_ERROR(CheckOptionDescription(option));
  for (const auto& [name, value] : given) {
    const MS_OptionDesc* const option = FindOption(schema, name);
    if (option == nullptr) return UnknownOption(schema, name);
    if (!IsGoodOptionValue(*option, value)) {
      return errors::InvalidArgument("option ", name, " must be ", Expected(*option), ", got \"",
                                     value, "\"");
    }
  }
  for (const MS_OptionDesc* option : schema) {
    const std::string name(FromAbi(option->name));
    const bool is_given =
        absl::c_any_of(given, [&](const auto& pair) { return pair.first == name; });
    if (is_given || option->default_value.data == nullptr) continue;
    all->emplace_back(name, std::string(FromAbi(option->default_value)));
  }
  return absl::OkStatus();
}

}  // namespace millstream
