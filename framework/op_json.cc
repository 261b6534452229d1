#include "framework/op_json.h"

#include <cmath>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"

namespace millstream {
namespace {

// A JSON string, which Python reads as well.
std::string Quote(absl::string_view text) {
  std::string out = "\"";
  for (const unsigned char c : text) {
    if (c == '"' || c == '\\') {
      absl::StrAppend(&out, "\\", std::string(1, static_cast<char>(c)));
    } else if (c == '\n') {
      absl::StrAppend(&out, "\\n");
    } else if (c < 0x20) {
      absl::StrAppendFormat(&out, "\\u%04x", c);
    } else {
      out.push_back(static_cast<char>(c));
    }
  }
  return out + "\"";
}

std::string List(const std::vector<std::string>& items) {
  return absl::StrCat("[", absl::StrJoin(items, ", "), "]");
}

std::string Argument(const ArgDef& argument) {
  return absl::StrCat("{\"name\": ", Quote(argument.name),
                      ", \"type\": ", static_cast<int>(argument.type),
                      ", \"type_attr\": ", Quote(argument.type_attr),
                      ", \"number_attr\": ", Quote(argument.number_attr),
                      ", \"list_attr\": ", Quote(argument.type_list_attr), "}");
}

std::string Arguments(const std::vector<ArgDef>& arguments) {
  std::vector<std::string> items;
  for (const ArgDef& argument : arguments) items.push_back(Argument(argument));
  return List(items);
}

// Python source of a default; "..." for one that Python has no literal for.
std::string PythonDefault(const AttrValue& value) {
  if (const auto* number = value.get<int64_t>()) return absl::StrCat(*number);
  if (const auto* number = value.get<float>()) {
    return std::isfinite(*number) ? absl::StrFormat("%.9g", *number)
                                  : absl::StrFormat("float('%f')", *number);
  }
  if (const auto* truth = value.get<bool>()) return *truth ? "True" : "False";
  if (const auto* text = value.get<std::string>()) return Quote(*text);
  if (value.is_empty_list()) return "[]";
  if (const auto* numbers = value.get<std::vector<int64_t>>()) {
    return absl::StrCat("[", absl::StrJoin(*numbers, ", "), "]");
  }
  return "...";
}

std::string Attribute(const AttrDef& attr) {
  std::vector<std::string> types, strings;
  for (const DataType type : attr.allowed_types) {
    types.push_back(absl::StrCat(static_cast<int>(type)));
  }
  for (const std::string& text : attr.allowed_strings) strings.push_back(Quote(text));
  std::string default_source = "null", default_type = "null";
  if (attr.default_value.has_value()) {
    default_source = Quote(PythonDefault(*attr.default_value));
    if (const auto* type = attr.default_value->get<DataType>()) {
      default_type = absl::StrCat(static_cast<int>(*type));
    }
  }
  return absl::StrCat("{\"name\": ", Quote(attr.name), ", \"type\": ", Quote(attr.type),
                      ", \"default\": ", default_source, ", \"default_type\": ", default_type,
                      ", \"allowed_types\": ", List(types),
                      ", \"allowed_strings\": ", List(strings), "}");
}

}  // namespace

std::string OpJson(const OpDef& op) {
  std::vector<std::string> attrs;
  for (const AttrDef& attr : op.attrs) attrs.push_back(Attribute(attr));
  return absl::StrCat("{\"name\": ", Quote(op.name), ", \"doc\": ", Quote(op.doc),
                      ", \"example\": ", Quote(op.example),
                      ", \"stateful\": ", op.is_stateful ? "true" : "false",
                      ", \"inputs\": ", Arguments(op.inputs),
                      ", \"outputs\": ", Arguments(op.outputs), ", \"attrs\": ", List(attrs), "}");
}

}  // namespace millstream
