// The schema of a plugin's options. The host checks and lists options by it:
//
//   struct AcmePlugin : ms::PluginDefaults {
//     static const ms::OptionSchema& Options() {
//       static const ms::OptionSchema schema{
//           ms::Option("level", MS_OPTION_I64).Doc("How hard to try.").Default("3").Range("0",
//           "9"), ms::Option("mode", MS_OPTION_STR).Doc("Fast or exact.").Choices({"fast",
//           "exact"})};
//       return schema;
//     }
//   };
#ifndef MILLSTREAM_FRAMEWORK_PLUGIN_OPTION_SCHEMA_HPP_
#define MILLSTREAM_FRAMEWORK_PLUGIN_OPTION_SCHEMA_HPP_

#include <cstdint>
#include <initializer_list>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "framework/plugin/plugin.hpp"

namespace ms {
inline namespace v1 {

// One option. Strings must be static, as literals are. Numbers are given as strings.
class Option {
 public:
  Option(std::string_view name, uint32_t kind) {
    description_.head.size = sizeof(description_);
    description_.name = ToAbi(name);
    description_.kind = kind;
  }
  Option& Doc(std::string_view sentence) { return Set(&description_.doc, sentence); }
  Option& Default(std::string_view value) { return Set(&description_.default_value, value); }
  // Both bounds are inclusive; empty: no bound.
  Option& Range(std::string_view minimum, std::string_view maximum) {
    Set(&description_.minimum, minimum);
    return Set(&description_.maximum, maximum);
  }
  Option& Choices(std::initializer_list<std::string_view> choices) {
    for (std::string_view choice : choices) choices_.push_back(ToAbi(choice));
    return *this;
  }
  // The option may also be set for one device, as name@ordinal.
  Option& PerDevice() {
    description_.flags |= MS_OPTION_PER_DEVICE;
    return *this;
  }

 private:
  friend class OptionSchema;
  Option& Set(MS_Str* field, std::string_view text) {
    *field = ToAbi(text);
    return *this;
  }
  MS_OptionDesc description_{};
  std::vector<MS_Str> choices_;
};

// All options of a plugin. Must be static.
class OptionSchema {
 public:
  OptionSchema(std::initializer_list<Option> options) : options_(options) {
    for (Option& option : options_) {
      option.description_.choices = option.choices_.data();
      option.description_.n_choices = option.choices_.size();
      descriptions_.push_back(&option.description_);
    }
  }
  OptionSchema(const OptionSchema&) = delete;
  OptionSchema& operator=(const OptionSchema&) = delete;
  const std::vector<const MS_OptionDesc*>& descriptions() const { return descriptions_; }

 private:
  std::vector<Option> options_;
  std::vector<const MS_OptionDesc*> descriptions_;
};

template <typename Definition, typename = void>
struct HasOptions : std::false_type {};
template <typename Definition>
struct HasOptions<Definition, std::void_t<decltype(Definition::Options())>> : std::true_type {};

// "ms.options/1" of a plugin whose definition has Options(), else null.
template <typename Definition>
const MS_Table* OptionsTable() {
  if constexpr (HasOptions<Definition>::value) {
    static const MS_OptionsApi table = {
        {sizeof(MS_OptionsApi), 1, MS_ABI_MINOR, MS_OPTIONS_API},
        [](const MS_Plugin*, const MS_OptionDesc* const** out, uint64_t* n) noexcept {
          const auto& descriptions = Definition::Options().descriptions();
          *out = descriptions.data();
          *n = descriptions.size();
        }};
    return &table.head;
  }
  return nullptr;
}

}  // namespace v1
}  // namespace ms

#endif  // MILLSTREAM_FRAMEWORK_PLUGIN_OPTION_SCHEMA_HPP_
