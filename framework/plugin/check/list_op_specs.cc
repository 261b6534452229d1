// Writes op_spec_lines.cc: every standard op as calls of OpSpec, without shape functions. The
// checking program has its op definitions from there.
#include <algorithm>
#include <iostream>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "framework/op_registry.h"

namespace millstream {
namespace {

void PrintLine(char kind, const std::string& text) {
  std::cout << "R\"spec(" << kind << text << ")spec\" \"\\n\"\n";
}

std::string ArgumentSpec(const ArgDef& arg) {
  std::string type = arg.type != DataType::kInvalid
                         ? std::string(DataTypeSpecName(arg.type))
                         : absl::StrCat(arg.type_attr, arg.type_list_attr);
  if (arg.is_ref) type = absl::StrCat("Ref(", type, ")");
  return absl::StrCat(arg.name, ": ", arg.number_attr.empty() ? "" : arg.number_attr + " * ", type);
}

std::string AttrSpec(const AttrDef& attr) {
  std::string type = attr.type;
  std::string allowed;
  if (!attr.allowed_types.empty()) allowed = DataTypeListName(attr.allowed_types);
  if (!attr.allowed_strings.empty()) {
    allowed = absl::StrCat("{\"", absl::StrJoin(attr.allowed_strings, "\", \""), "\"}");
  }
  if (!allowed.empty()) type = type.rfind("list(", 0) == 0 ? "list(" + allowed + ")" : allowed;
  std::string text = absl::StrCat(attr.name, ": ", type);
  if (attr.minimum.has_value()) absl::StrAppend(&text, " >= ", *attr.minimum);
  // A tensor's text is for people alone.
  if (attr.default_value.has_value() && attr.type != "tensor") {
    absl::StrAppend(&text, " = ", attr.default_value->ToString());
  }
  return text;
}

void PrintOps() {
  for (const OpDef* op : OpRegistry::Global()->List()) {
    PrintLine('N', op->name);
    for (const ArgDef& arg : op->inputs) PrintLine('I', ArgumentSpec(arg));
    for (const ArgDef& arg : op->outputs) PrintLine('O', ArgumentSpec(arg));
    for (const AttrDef& attr : op->attrs) PrintLine('A', AttrSpec(attr));
  }
}

}  // namespace
}  // namespace millstream

int main() {
  std::cout << "#include \"framework/plugin/check/op_spec_lines.h\"\n"
               "namespace millstream::plugin_check {\n"
               "const char kOpSpecLines[] =\n";
  millstream::PrintOps();
  std::cout << ";\n}  // namespace millstream::plugin_check\n";
  return 0;
}
