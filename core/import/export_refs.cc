#include "core/import/export_refs.h"

#include <string>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "core/graph/imported_node.h"
#include "framework/op_registry.h"

namespace millstream {
namespace {

// Ops on handles, and those that take the value of a reference in their place.
struct ByValue {
  const char* on_handle;
  const char* on_value;
};
constexpr ByValue kByValue[] = {
    {"ReadVariableOp", "Identity"},
    {"ResourceGather", "Gather"},
    {"ResourceGatherNd", "GatherNd"},
    {"VariableShape", "Shape"},
};

bool IsReferenceOutside(const Output& handle) {
  const ImportedNode* const imported = handle.node->imported();
  if (imported == nullptr) return false;
  const OpDef* const op = OpRegistry::Global()->FindOrNull(imported->op);
  const int index = handle.index + (imported->hidden ? imported->first_output : 0);
  return op != nullptr && index < static_cast<int>(op->outputs.size()) && op->outputs[index].is_ref;
}

// True if the node has handles, and all are references outside.
bool HasReferencesAlone(const Node& node) {
  bool has_any = false;
  for (const Output& input : node.inputs()) {
    if (input.dtype() != DataType::kResource) continue;
    if (!IsReferenceOutside(input)) return false;
    has_any = true;
  }
  return has_any;
}

// True if `outside` takes a reference in the place of each handle, and else the same.
bool TakesReferences(const OpDef& op, const OpDef& outside) {
  if (outside.inputs.size() != op.inputs.size()) return false;
  for (size_t i = 0; i < op.inputs.size(); ++i) {
    if (outside.inputs[i].is_ref != (op.inputs[i].type == DataType::kResource)) return false;
  }
  return true;
}

// The reverse of what an import does with the op's name.
const OpDef* OpOutside(const OpDef& op) {
  const OpRegistry* const registry = OpRegistry::Global();
  for (const ByValue& each : kByValue) {
    if (op.name == each.on_handle) return registry->FindOrNull(each.on_value);
  }
  std::vector<std::string> names;
  absl::string_view name = op.name;
  if (absl::ConsumeSuffix(&name, "VariableOp")) names.emplace_back(name);
  name = op.name;
  if (absl::ConsumePrefix(&name, "Resource")) names.emplace_back(name);
  name = op.name;
  if (absl::ConsumeSuffix(&name, "V2")) names.emplace_back(name);
  if (op.name == "VarIsInitializedOp") names.emplace_back("IsVariableInitialized");
  for (const std::string& each : names) {
    const OpDef* const outside = registry->FindOrNull(each);
    if (outside != nullptr && TakesReferences(op, *outside)) return outside;
  }
  return nullptr;
}

// Those of the node; and the variable's type, which some ops on handles do not have.
AttrMap AttrsFor(const OpDef& outside, const Node& node) {
  const AttrMap& from = node.attrs();
  AttrMap attrs;
  for (const auto& [name, value] : from) {
    if (absl::StartsWith(name, "_")) SetAttr(&attrs, name, value);
  }
  for (const AttrDef& attr : outside.attrs) {
    const AttrValue* value = FindAttr(from, attr.name);
    const bool is_type = attr.name == "T" || attr.name == "Tparams" || attr.name == "dtype";
    if (value == nullptr && is_type) value = FindAttr(from, "dtype");
    if (value == nullptr && is_type) value = FindAttr(node.input(0).node->attrs(), "dtype");
    if (value != nullptr) SetAttr(&attrs, attr.name, *value);
  }
  return attrs;
}

}  // namespace

std::optional<ReferenceForm> ReferenceFormOf(const Node& node) {
  if (!HasReferencesAlone(node)) return std::nullopt;
  // Gather has no such attribute.
  const AttrValue* const batch_dims = FindAttr(node.attrs(), "batch_dims");
  if (batch_dims != nullptr && GetAttr<int64_t>(node.attrs(), "batch_dims").value_or(0) != 0) {
    return std::nullopt;
  }
  ReferenceForm form;
  form.op = OpOutside(node.op());
  if (form.op == nullptr) return std::nullopt;
  form.attrs = AttrsFor(*form.op, node);
  if (!CompleteAttrs(*form.op, &form.attrs).ok()) return std::nullopt;
  return form;
}

}  // namespace millstream
