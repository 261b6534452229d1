#include "framework/plugin/op_registration.h"

#include <memory>
#include <string>
#include <utility>

#include "absl/algorithm/container.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "framework/ops/signature_text.h"
#include "framework/plugin/host_shape.h"
#include "framework/plugin/host_status.h"
#include "framework/plugin/op_names.h"
#include "framework/plugin/plugin_limits.h"
#include "framework/plugin/plugin_text.h"
#include "framework/plugin/registrar.h"
#include "framework/plugin/reserved_ops.h"

namespace millstream {
namespace {

constexpr uint64_t kKnownFlags =
    MS_OP_STATEFUL | MS_OP_COMMUTATIVE | MS_OP_AGGREGATE | MS_OP_ALLOWS_UNINITIALIZED_INPUT;
// What the first release of the struct had.
constexpr uint32_t kOpDefSize = offsetof(MS_OpDef, deprecation) + sizeof(MS_OpDef::deprecation);

// Names that begin with an underscore are the runtime's.
bool IsOpName(absl::string_view name) {
  return !name.empty() && absl::ascii_isupper(static_cast<unsigned char>(name[0])) &&
         absl::c_all_of(name, [](unsigned char c) { return absl::ascii_isalnum(c) || c == '_'; });
}

Status CheckTexts(const MS_Str* texts, uint64_t n, absl::string_view what) {
  MS_RETURN_IF_ERROR(CheckArray(texts, n, kMostArguments, what));
  for (uint64_t i = 0; i < n; ++i) {
    MS_RETURN_IF_ERROR(CheckText(texts[i], absl::StrCat(what, "[", i, "]")));
  }
  return absl::OkStatus();
}

// That everything can be read, and is no more than a host takes.
Status CheckSizes(const MS_OpDef& definition) {
  MS_RETURN_IF_ERROR(CheckText(definition.doc, "MS_OpDef.doc"));
  MS_RETURN_IF_ERROR(CheckText(definition.deprecation, "MS_OpDef.deprecation"));
  MS_RETURN_IF_ERROR(CheckTexts(definition.inputs, definition.n_inputs, "MS_OpDef.inputs"));
  MS_RETURN_IF_ERROR(CheckTexts(definition.outputs, definition.n_outputs, "MS_OpDef.outputs"));
  return CheckTexts(definition.attrs, definition.n_attrs, "MS_OpDef.attrs");
}

StatusOr<OpDef> ReadOpDef(const MS_OpDef& definition) {
  OpSpec spec(FromAbi(definition.name));
  for (uint64_t i = 0; i < definition.n_inputs; ++i) spec.Input(FromAbi(definition.inputs[i]));
  for (uint64_t i = 0; i < definition.n_outputs; ++i) spec.Output(FromAbi(definition.outputs[i]));
  for (uint64_t i = 0; i < definition.n_attrs; ++i) spec.Attr(FromAbi(definition.attrs[i]));
  if ((definition.flags & MS_OP_STATEFUL) != 0) spec.Stateful();
  if ((definition.flags & MS_OP_COMMUTATIVE) != 0) spec.Commutative();
  if ((definition.flags & MS_OP_AGGREGATE) != 0) spec.Aggregate();
  if ((definition.flags & MS_OP_ALLOWS_UNINITIALIZED_INPUT) != 0) spec.AllowsUninitializedInput();
  if (definition.shape_fn != nullptr) spec.Shape(&InferPluginShape);
  spec.Doc(FromAbi(definition.doc));
  MS_ASSIGN_OR_RETURN(OpDef op, spec.Build());
  if (HasReferences(op)) {
    return errors::InvalidArgument("definition of op '", op.name,
                                   "': references to variables are for imported graphs alone");
  }
  MS_RETURN_IF_ERROR(WithContext(CheckParameterNames(op), absl::StrCat("op ", op.name)));
  op.since_version = definition.since_version;
  op.deprecated_version = definition.deprecated_version;
  op.deprecation = std::string(FromAbi(definition.deprecation));
  return op;
}

// All that graphs can depend on.
std::string Signature(const OpDef& op) {
  std::string text = SignatureText(op);
  if (op.since_version != 0) absl::StrAppend(&text, " since ", op.since_version);
  if (op.deprecated_version != 0) {
    absl::StrAppend(&text, " deprecated in ", op.deprecated_version, ": ", op.deprecation);
  }
  return text;
}

std::string Owner(const OpDef& op) {
  return op.plugin.empty() ? std::string("the runtime") : absl::StrCat("plugin ", op.plugin);
}

// Letters and digits alone, in lower case.
std::string Plain(absl::string_view name) {
  std::string plain;
  for (unsigned char c : name) {
    if (absl::ascii_isalnum(c)) plain.push_back(absl::ascii_tolower(c));
  }
  return plain;
}

// Whether the name says whose op it is.
bool HasPrefix(absl::string_view name, const MS_Registrar& registrar) {
  const std::string plain = Plain(name);
  return absl::c_any_of(registrar.prefixes, [&plain](const std::string& prefix) {
    const std::string start = Plain(prefix);
    return !start.empty() && absl::StartsWith(plain, start);
  });
}

OpDef* FindNew(absl::string_view name, MS_Registrar* registrar) {
  const auto found =
      absl::c_find_if(registrar->new_ops, [name](const OpDef& op) { return op.name == name; });
  return found == registrar->new_ops.end() ? nullptr : &*found;
}

}  // namespace

uint64_t OpFlags(const OpDef& op) {
  return (op.is_stateful ? MS_OP_STATEFUL : 0u) | (op.is_commutative ? MS_OP_COMMUTATIVE : 0u) |
         (op.is_aggregate ? MS_OP_AGGREGATE : 0u) |
         (op.allows_uninitialized_input ? MS_OP_ALLOWS_UNINITIALIZED_INPUT : 0u);
}

Status RegisterOp(const MS_OpDef& definition, MS_Registrar* registrar) {
  MS_RETURN_IF_ERROR(CheckHead(definition.head, kOpDefSize, "MS_OpDef"));
  MS_RETURN_IF_ERROR(CheckName(definition.name, "MS_OpDef.name"));
  const absl::string_view name = FromAbi(definition.name);
  if (!IsOpName(name)) {
    return errors::InvalidArgument("op \"", name,
                                   "\": a name is of letters, digits and underscores, and begins "
                                   "with a capital");
  }
  if ((definition.flags & ~kKnownFlags) != 0) {
    return errors::Unimplemented("op ", name, ": flags ",
                                 absl::Hex(definition.flags & ~kKnownFlags), " (bits) are unknown");
  }
  if (IsReservedOp(name)) {
    return errors::InvalidArgument("op ", name,
                                   ": the op is one that the runtime does itself, and ",
                                   "no plugin registers it");
  }
  MS_RETURN_IF_ERROR(WithContext(CheckSizes(definition), absl::StrCat("op ", name)));
  MS_RETURN_IF_ERROR(CheckCount(registrar->op_names.size() + 1, kMostOps, "ops of a plugin"));
  MS_ASSIGN_OR_RETURN(OpDef op, ReadOpDef(definition));
  const StatusOr<const OpDef*> present = registrar->FindOp(name);
  if (present.ok() && Signature(**present) != Signature(op)) {
    return errors::Unimplemented("op ", name, " of plugin ", registrar->plugin,
                                 " differs from that of ", Owner(**present), ": ", Signature(op),
                                 " against ", Signature(**present));
  }
  if (present.ok() && !absl::c_linear_search(registrar->op_names, name)) {
    registrar->op_names.emplace_back(name);
  }
  if (present.ok()) return absl::OkStatus();
  if (!HasPrefix(name, *registrar)) {
    return errors::NotFound("op ", name, ": this host has no such op, and the name of a plugin's ",
                            "own begins with one of: ", absl::StrJoin(registrar->prefixes, ", "));
  }
  if (!absl::c_linear_search(registrar->op_names, name)) {
    registrar->op_names.emplace_back(name);
  }
  auto functions = std::make_shared<PluginOpFunctions>();
  functions->shape = definition.shape_fn;
  functions->shape_user = definition.user;
  op.plugin = registrar->plugin;
  op.plugin_functions = std::move(functions);
  registrar->new_ops.push_back(std::move(op));
  return absl::OkStatus();
}

Status RegisterGradient(absl::string_view op, PluginGradientFunction function, void* user,
                        MS_Registrar* registrar) {
  MS_RETURN_IF_ERROR(CheckName(ToAbi(op), "the op of a gradient"));
  if (absl::c_linear_search(registrar->skipped_ops, op)) {
    return errors::NotFound("gradient of op ", op, ": op ", op, " of this plugin was skipped");
  }
  if (!absl::c_linear_search(registrar->op_names, op)) {
    return errors::InvalidArgument("gradient of op ", op, ": plugin ", registrar->plugin,
                                   " has not registered the op");
  }
  OpDef* const added = FindNew(op, registrar);
  if (added == nullptr) {
    MS_ASSIGN_OR_RETURN(const OpDef* const present, registrar->FindOp(op));
    const bool has_one =
        present->plugin_functions != nullptr && present->plugin_functions->has_gradient;
    if (has_one) return absl::OkStatus();  // As the op, it stays what it is.
    if (present->plugin.empty()) {
      return errors::InvalidArgument("gradient of op ", op,
                                     ": the op is the runtime's own, and so is its gradient");
    }
    return errors::AlreadyExists("gradient of op ", op, ": ", Owner(*present),
                                 " registered the op, without one");
  }
  if (added->plugin_functions->has_gradient) {
    return errors::AlreadyExists("op ", op, " has a gradient already");
  }
  auto functions = std::make_shared<PluginOpFunctions>(*added->plugin_functions);
  functions->has_gradient = true;
  functions->gradient = function;
  functions->gradient_user = user;
  added->plugin_functions = std::move(functions);
  return absl::OkStatus();
}

}  // namespace millstream
