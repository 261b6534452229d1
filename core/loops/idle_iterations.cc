#include "core/loops/idle_iterations.h"

#include <cstddef>
#include <cstring>
#include <string>
#include <utility>

#include "absl/algorithm/container.h"
#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_cat.h"
#include "absl/types/span.h"
#include "core/graph/structural_role.h"

namespace millstream {
namespace {

using Values = absl::flat_hash_set<Output>;

// True for what reads or writes an array at the place that a variable of the loop gives. An array
// has an element for each iteration, but perhaps none at a number that was computed.
bool ReadsOrWritesInTurn(const StepItem& item, const Values& variables) {
  const std::string& op = item.node->op().name;
  const bool has_place = op == "TensorArrayReadV3" || op == "TensorArrayWriteV3";
  return has_place && variables.contains(item.inputs[1]);
}

// True if the operation may run in an iteration that nobody asked for. `variables`: their values in
// the body.
bool MayRunInVain(const StepItem& item, const Values& variables) {
  if (item.is_inner()) return false;
  const Node& node = *item.node;
  switch (RoleOf(node.op().name)) {
    case StructuralRole::kNothing:
    case StructuralRole::kIdentity:
    case StructuralRole::kReshape:
    case StructuralRole::kConstant: return true;
    default: break;
  }
  return node.op().is_speculatable || ReadsOrWritesInTurn(item, variables);
}

bool MayBeMasked(DataType dtype) { return IsFloating(dtype) || IsComplex(dtype); }

// The values that are the variables' in the body: those of their Switches, and Identities of them.
Values ValuesOf(const LoopForm& form, absl::Span<const CarriedValue> variables) {
  Values values;
  for (const CarriedValue& variable : variables) {
    if (variable.branch != nullptr) values.insert(variable.branch->output(1));
  }
  for (const StepItem& item : form.body) {
    if (item.is_inner() || RoleOf(item.node->op().name) != StructuralRole::kIdentity) continue;
    if (values.contains(item.inputs[0])) values.insert(item.outputs[0]);
  }
  return values;
}

// The Select that keeps the variable where its first input holds, which is then its next value;
// null if there is none.
const Node* KeeperOf(const LoopForm& form, const CarriedValue& variable) {
  const Output& next = variable.next->input(0);
  if (!MayBeMasked(next.dtype()) || next.node->op().name != "Select") return nullptr;
  return ValuesOf(form, {&variable, 1}).contains(next.node->input(1)) ? next.node : nullptr;
}

}  // namespace

bool MayIdle(const LoopForm& form) {
  const Values variables = ValuesOf(form, form.variables);
  const auto may = [&](const StepItem& item) { return MayRunInVain(item, variables); };
  return absl::c_all_of(form.before, may) && absl::c_all_of(form.body, may);
}

IdleIterations::IdleIterations(const LoopForm& form, GraphCopy* copy) : form_(form), copy_(*copy) {
  for (const CarriedValue& variable : form.variables) keepers_.push_back(KeeperOf(form, variable));
}

Status IdleIterations::Begin(const std::vector<Output>& values) {
  values_ = values;
  for (const StepItem& item : form_.before) MS_RETURN_IF_ERROR(copy_.Add(item));
  asked_for_ = copy_.Of(form_.condition->input(0));
  for (size_t k = 0; k < keepers_.size(); ++k) {
    if (keepers_[k] == nullptr) continue;
    const CarriedValue& variable = form_.variables[k];
    MS_ASSIGN_OR_RETURN(const Output value, OrZeros(*variable.merge, values_[k]));
    copy_.Bind(variable.branch->output(1), value);
  }
  return absl::OkStatus();
}

Status IdleIterations::Add(const StepItem& part) {
  if (part.is_inner()) return copy_.Add(part);
  const auto keeper = absl::c_find(keepers_, part.node);
  if (keeper != keepers_.end()) {
    // It keeps the value of the variable itself.
    const Output& kept = part.inputs[1];
    const Output masked = copy_.Of(kept);
    copy_.Bind(kept, values_[static_cast<size_t>(keeper - keepers_.begin())]);
    MS_RETURN_IF_ERROR(copy_.Add(part));
    copy_.Bind(kept, masked);
    return absl::OkStatus();
  }
  MS_RETURN_IF_ERROR(copy_.Add(part));
  if (part.node->op().name != "TensorArrayReadV3") return absl::OkStatus();
  const Output& element = part.outputs[0];
  if (!MayBeMasked(element.dtype())) return absl::OkStatus();
  MS_ASSIGN_OR_RETURN(const Output value, OrZeros(*part.node, copy_.Of(element)));
  copy_.Bind(element, value);
  return absl::OkStatus();
}

StatusOr<Output> IdleIterations::OrZeros(const Node& like, const Output& value) {
  const std::string name = absl::StrCat(like.name(), "/_or_zeros");
  Output& zero = zeros_[value.dtype()];
  if (!zero) {
    MS_ASSIGN_OR_RETURN(Tensor scalar, Tensor::Create(value.dtype(), Shape()));
    std::memset(scalar.raw(), 0, scalar.bytes());
    AttrMap attrs;
    SetAttr(&attrs, "dtype", value.dtype());
    SetAttr(&attrs, "value", std::move(scalar));
    MS_ASSIGN_OR_RETURN(zero, copy_.AddNew(like, name, "Const", std::move(attrs), {}));
  }
  AttrMap attrs;
  SetAttr(&attrs, "T", value.dtype());
  return copy_.AddNew(like, name, "SelectV2", std::move(attrs), {asked_for_, value, zero});
}

}  // namespace millstream
