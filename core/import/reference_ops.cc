#include "core/import/reference_ops.h"

#include <string>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "framework/op_registry.h"

namespace millstream {

ReferenceUse ReferenceUseOf(const OpDef& op) {
  bool takes = false;
  bool gives = false;
  for (const ArgDef& input : op.inputs) takes |= input.is_ref;
  for (const ArgDef& output : op.outputs) gives |= output.is_ref;
  if (!gives) return takes ? ReferenceUse::kQuery : ReferenceUse::kNone;
  // Only the names of other resources have a type that no attribute says.
  if (op.outputs[0].type == DataType::kString) return ReferenceUse::kResource;
  if (!takes) return ReferenceUse::kVariable;
  if (op.name == "RefIdentity") return ReferenceUse::kPass;
  return absl::StartsWith(op.name, kReferencePrefix) ? ReferenceUse::kControlFlow
                                                     : ReferenceUse::kUpdate;
}

// An internal op counts first: it is there because others differ.
StatusOr<const OpDef*> TwinOf(const OpDef& op) {
  for (const std::string& name : {absl::StrCat("_", op.name), absl::StrCat(op.name, "VariableOp"),
                                  absl::StrCat("Resource", op.name), absl::StrCat(op.name, "V2")}) {
    if (const OpDef* twin = OpRegistry::Global()->FindOrNull(name)) return twin;
  }
  if (op.name == "IsVariableInitialized") return OpRegistry::Global()->Find("VarIsInitializedOp");
  if (op.name == "FakeQueue") return OpRegistry::Global()->Find("Identity");
  if (op.name == "DestroyTemporaryVariable") return OpRegistry::Global()->Find("_TakeVariable");
  return errors::Unimplemented("op ", op.name,
                               " works on references; no op does the same on handles");
}

AttrMap AttrsOfTwin(const OpDef& twin, const AttrMap& from) {
  AttrMap attrs;
  for (const auto& [name, value] : from) {
    if (absl::StartsWith(name, "_")) SetAttr(&attrs, name, value);
  }
  for (const AttrDef& attr : twin.attrs) {
    const AttrValue* value = FindAttr(from, attr.name);
    if (value == nullptr && attr.name == "dtype") value = FindAttr(from, "T");
    if (value != nullptr) SetAttr(&attrs, attr.name, *value);
  }
  return attrs;
}

StatusOr<std::string> SharedNameOf(const NodeSpec& variable) {
  const bool is_temporary = variable.op == "TemporaryVariable";
  MS_ASSIGN_OR_RETURN(
      std::string name,
      GetAttr<std::string>(variable.attrs, is_temporary ? "var_name" : "shared_name"));
  if (name.empty()) name = variable.name;
  return is_temporary ? absl::StrCat("__temporary_variable/", name) : name;
}

}  // namespace millstream
