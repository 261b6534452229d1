#include "framework/op_call.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"

namespace millstream {

std::string OpCall::InputName(int i) const {
  if (i >= num_inputs()) return absl::StrCat("input ", i);
  const std::vector<int>& starts = signature->input_starts;
  const auto after = std::upper_bound(starts.begin(), starts.end() - 1, i);
  const int argument = static_cast<int>(after - starts.begin()) - 1;
  const ArgDef& arg = op->inputs[argument];
  if (arg.number_attr.empty() && arg.type_list_attr.empty()) return arg.name;
  return absl::StrCat(arg.name, "[", i - starts[argument], "]");
}

std::string OpCall::Describe() const {
  if (name.empty()) return absl::StrCat("op ", op->name);
  return absl::StrCat("node '", name, "' (op ", op->name, ")");
}

StatusOr<OwnedOpCall> MakeOpCall(const OpDef& op, AttrMap attrs, const DataTypeList& input_types,
                                 const std::vector<int>& input_counts, bool allow_unknown_attrs) {
  if (!input_counts.empty() || (op.inputs.empty() && input_types.empty())) {
    if (input_counts.size() != op.inputs.size()) {
      return errors::InvalidArgument("expected ", op.inputs.size(), " arguments, got ",
                                     input_counts.size());
    }
    MS_RETURN_IF_ERROR(InferAttrs(op, input_types, input_counts, &attrs));
  }
  MS_RETURN_IF_ERROR(CompleteAttrs(op, &attrs, allow_unknown_attrs));
  MS_ASSIGN_OR_RETURN(NodeSignature signature, ExpandSignature(op, attrs));
  return OwnedOpCall{&op, std::move(attrs), std::move(signature), ""};
}

Status CheckInputTypes(const OpCall& call, const DataTypeList& types,
                       absl::FunctionRef<std::string(int i)> describe) {
  const DataTypeList& expected = call.signature->input_types;
  if (types.size() != expected.size()) {
    return errors::InvalidArgument("expected ", expected.size(), " inputs, got ", types.size());
  }
  for (size_t i = 0; i < types.size(); ++i) {
    if (types[i] == expected[i] || types[i] == DataType::kInvalid) continue;
    const int input = static_cast<int>(i);
    return errors::InvalidArgument("input '", call.InputName(input), "' expected ",
                                   DataTypeName(expected[i]), ", got ", describe(input));
  }
  return absl::OkStatus();
}

}  // namespace millstream
