#include "framework/ops/signature_text.h"

#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "framework/op_registry.h"

namespace millstream {
namespace {

std::string ArgumentText(const ArgDef& arg) {
  std::string type = arg.type != DataType::kInvalid
                         ? std::string(DataTypeSpecName(arg.type))
                         : absl::StrCat(arg.type_attr, arg.type_list_attr);
  if (arg.is_ref) type = absl::StrCat("Ref(", type, ")");
  const std::string count = arg.number_attr.empty() ? "" : absl::StrCat(arg.number_attr, " * ");
  return absl::StrCat(arg.name, ": ", count, type);
}

std::string ArgumentsText(const std::vector<ArgDef>& args) {
  const auto append = [](std::string* text, const ArgDef& arg) {
    absl::StrAppend(text, ArgumentText(arg));
  };
  return absl::StrCat("(", absl::StrJoin(args, ", ", append), ")");
}

std::string AttrText(const AttrDef& attr) {
  std::string text = absl::StrCat(attr.name, ": ", attr.type);
  if (!attr.allowed_types.empty()) {
    absl::StrAppend(&text, " in ", DataTypeListName(attr.allowed_types));
  }
  if (!attr.allowed_strings.empty()) {
    absl::StrAppend(&text, " in {", absl::StrJoin(attr.allowed_strings, ", "), "}");
  }
  if (attr.minimum.has_value()) absl::StrAppend(&text, " >= ", *attr.minimum);
  if (attr.default_value.has_value()) {
    absl::StrAppend(&text, " = ", attr.default_value->ToString());
  }
  return text;
}

std::string FlagsText(const OpDef& op) {
  std::string text;
  if (op.is_stateful) absl::StrAppend(&text, " stateful");
  if (op.is_commutative) absl::StrAppend(&text, " commutative");
  if (op.is_aggregate) absl::StrAppend(&text, " aggregate");
  if (op.allows_uninitialized_input) absl::StrAppend(&text, " allows_uninitialized_input");
  if (op.is_elementwise) absl::StrAppend(&text, " elementwise");
  if (op.keeps_finite != nullptr) absl::StrAppend(&text, " keeps_finite");
  if (op.cost_function != nullptr) absl::StrAppend(&text, " cost");
  if (op.costs_nothing) absl::StrAppend(&text, " costs_nothing");
  if (op.is_speculatable) absl::StrAppend(&text, " speculatable");
  if (op.shares_outputs) absl::StrAppend(&text, " shares_outputs");
  if (op.bounds_rule != nullptr) absl::StrAppend(&text, " update_bounds");
  if (!op.touches.empty()) {
    absl::StrAppend(&text, " touches {", absl::StrJoin(op.touches, ", "), "}");
  }
  return text;
}

}  // namespace

std::string SignatureText(const OpDef& op) {
  const auto append = [](std::string* text, const AttrDef& attr) {
    absl::StrAppend(text, AttrText(attr));
  };
  return absl::StrCat(op.name, ArgumentsText(op.inputs), " -> ", ArgumentsText(op.outputs), " [",
                      absl::StrJoin(op.attrs, "; ", append), "]", FlagsText(op));
}

std::string AllSignaturesText() {
  std::string text;
  for (const OpDef* op : OpRegistry::Global()->List()) {
    absl::StrAppend(&text, SignatureText(*op), "\n");
  }
  return text;
}

}  // namespace millstream
