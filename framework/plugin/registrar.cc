#include "framework/plugin/registrar.h"

#include "absl/algorithm/container.h"
#include "absl/strings/str_cat.h"
#include "framework/plugin/host_status.h"
#include "framework/plugin/kernel_extensions.h"
#include "framework/plugin/op_registration.h"
#include "framework/plugin/plugin_limits.h"
#include "framework/plugin/plugin_text.h"
#include "framework/plugin/reserved_ops.h"

namespace millstream {
namespace {

constexpr uint32_t kKnownFlags = MS_KERNEL_ASYNC | MS_KERNEL_BLOCKING | MS_KERNEL_INEXPENSIVE |
                                 MS_KERNEL_SYNCS_HOST | MS_KERNEL_CAPTURE_SAFE |
                                 MS_KERNEL_DETERMINISTIC;
// What handles of variables are of.
constexpr absl::string_view kVariableType = "Variable";
// What the first release of the structs had.
constexpr uint32_t kKernelDefSize =
    offsetof(MS_KernelDef, supports) + sizeof(MS_KernelDef::supports);
// The most extensions of a struct; a longer chain may have no end.
constexpr int kMostExtensions = 64;
constexpr uint32_t kTypeConstraintSize =
    offsetof(MS_TypeConstraint, n_dtypes) + sizeof(MS_TypeConstraint::n_dtypes);

Status ReadConstraint(const MS_TypeConstraint& constraint, const OpDef& op,
                      KernelRegistration* kernel) {
  MS_RETURN_IF_ERROR(CheckHead(constraint.head, kTypeConstraintSize, "MS_TypeConstraint"));
  MS_RETURN_IF_ERROR(CheckName(constraint.attr, "MS_TypeConstraint.attr"));
  MS_RETURN_IF_ERROR(
      CheckArray(constraint.dtypes, constraint.n_dtypes, kMostTypes, "MS_TypeConstraint.dtypes"));
  const std::string attr(FromAbi(constraint.attr));
  const AttrDef* definition = op.FindAttr(attr);
  if (definition == nullptr || (definition->type != "type" && definition->type != "list(type)")) {
    return errors::NotFound("constrains \"", attr, "\", but op ", op.name,
                            " has no such type attribute");
  }
  KernelRegistration::Constraint& copy = kernel->constraints.emplace_back();
  copy.attr = attr;
  copy.types.reserve(constraint.n_dtypes);
  for (uint64_t i = 0; i < constraint.n_dtypes; ++i) {
    const DataType type = FromAbiDataType(constraint.dtypes[i]);
    if (type == DataType::kInvalid) {
      return errors::Unimplemented("attribute \"", attr, "\": dtype ", constraint.dtypes[i],
                                   " is unknown");
    }
    copy.types.push_back(type);
  }
  if (copy.types.empty()) {
    return errors::InvalidArgument("attribute \"", attr, "\" is constrained to no type at all");
  }
  return absl::OkStatus();
}

bool HasArgument(const OpDef& op, absl::string_view name) {
  const auto is_named = [name](const ArgDef& argument) { return argument.name == name; };
  return absl::c_any_of(op.inputs, is_named) || absl::c_any_of(op.outputs, is_named);
}

bool IsVariadic(const ArgDef& argument) {
  return !argument.number_attr.empty() || !argument.type_list_attr.empty();
}

// Positions count tensors: they can be checked here unless an argument's count is an attribute.
Status CheckPosition(const std::vector<ArgDef>& arguments, uint32_t position,
                     absl::string_view what) {
  if (absl::c_any_of(arguments, &IsVariadic) || position < arguments.size()) {
    return absl::OkStatus();
  }
  return errors::NotFound("an in-place pair names ", what, " ", position, " of ", arguments.size());
}

Status CheckFunctions(const KernelRegistration& kernel) {
  if (kernel.create == nullptr) return errors::InvalidArgument("create is null");
  if (kernel.destroy == nullptr) return errors::InvalidArgument("destroy is null");
  const bool is_async = (kernel.flags & MS_KERNEL_ASYNC) != 0;
  if (is_async && kernel.compute_async == nullptr) {
    return errors::InvalidArgument("compute_async is null, but the kernel is ASYNC");
  }
  if (!is_async && kernel.compute == nullptr) return errors::InvalidArgument("compute is null");
  if ((kernel.specialize == nullptr) != (kernel.unspecialize == nullptr)) {
    return errors::InvalidArgument("specialize and unspecialize come together or not at all");
  }
  return absl::OkStatus();
}

Status CheckArrays(const MS_KernelDef& definition) {
  MS_RETURN_IF_ERROR(CheckArray(definition.constraints, definition.n_constraints, kMostKernelParts,
                                "MS_KernelDef.constraints"));
  MS_RETURN_IF_ERROR(CheckArray(definition.host_args, definition.n_host_args, kMostKernelParts,
                                "MS_KernelDef.host_args"));
  return CheckArray(definition.in_place, definition.n_in_place, kMostKernelParts,
                    "MS_KernelDef.in_place");
}

// REQUIRES: the chain was checked by CheckHead.
bool HasExtension(const MS_Head& head, uint64_t id) {
  const MS_Ext* extension = head.ext;
  while (extension != nullptr && extension->id != id) extension = extension->head.ext;
  return extension != nullptr;
}

// Fills everything that needs the op's definition.
Status ReadParts(const MS_KernelDef& definition, const OpDef& op, KernelRegistration* kernel) {
  MS_RETURN_IF_ERROR(CheckArrays(definition));
  kernel->constraints.reserve(definition.n_constraints);
  for (uint64_t i = 0; i < definition.n_constraints; ++i) {
    if (definition.constraints[i] == nullptr) {
      return errors::InvalidArgument("MS_KernelDef.constraints[", i, "] is null");
    }
    MS_RETURN_IF_ERROR(ReadConstraint(*definition.constraints[i], op, kernel));
  }
  for (uint64_t i = 0; i < definition.n_host_args; ++i) {
    MS_RETURN_IF_ERROR(CheckName(definition.host_args[i], "a host argument"));
    const std::string name(FromAbi(definition.host_args[i]));
    if (!HasArgument(op, name)) {
      return errors::NotFound("host argument \"", name, "\" is no argument of op ", op.name);
    }
    kernel->host_args.push_back(name);
  }
  for (uint64_t i = 0; i < definition.n_in_place; ++i) {
    const MS_InPlacePair& pair = definition.in_place[i];
    MS_RETURN_IF_ERROR(CheckPosition(op.outputs, pair.output, "output"));
    MS_RETURN_IF_ERROR(CheckPosition(op.inputs, pair.input, "input"));
    kernel->in_place.push_back(pair);
  }
  return CheckFunctions(*kernel);
}

// The op and the device that the kernel is for, and what needs the op's definition.
Status ReadPlace(const MS_KernelDef& definition, const MS_Registrar& registrar,
                 KernelRegistration* kernel) {
  if ((kernel->flags & ~kKnownFlags) != 0) {
    return errors::Unimplemented("flags ", absl::Hex(kernel->flags & ~kKnownFlags),
                                 " (bits) are unknown");
  }
  if (kernel->device_type.empty()) return errors::InvalidArgument("no device type");
  if (!IsDeviceType(kernel->device_type)) {
    return errors::InvalidArgument("a device type is of letters, digits and underscores, ",
                                   "and begins with a letter");
  }
  if (IsReservedOp(kernel->op)) {
    return errors::InvalidArgument("the op is one that the runtime does itself, and no ",
                                   "plugin has kernels for it");
  }
  MS_ASSIGN_OR_RETURN(const OpDef* const op, registrar.FindOp(kernel->op));
  return ReadParts(definition, *op, kernel);
}

// What is skipped is listed. Another error is given to the plugin, and the first one is kept: it
// fails the plugin even if that goes on.
MS_Status* Answer(MS_Registrar* registrar, const Status& status) {
  if (IsSkipped(status)) {
    registrar->skipped.emplace_back(status.message());
    return nullptr;
  }
  if (registrar->first_error.ok()) registrar->first_error = status;
  return ToAbiStatus(status);
}

// Whether there is room for another kernel of this op.
Status CountKernel(const std::string& op, MS_Registrar* registrar) {
  MS_RETURN_IF_ERROR(CheckCount(registrar->kernels.size() + registrar->num_kernels_skipped + 1,
                                kMostKernels, "kernels of a plugin"));
  const uint64_t of_op = ++registrar->kernels_of_op[op];
  if (of_op <= kMostKernelsOfOp) return absl::OkStatus();
  return CheckCount(of_op, kMostKernelsOfOp, absl::StrCat("kernels of a plugin for op ", op));
}

MS_Status* KernelRegister(MS_Registrar* registrar, const MS_KernelDef* definition) {
  StatusOr<KernelRegistration> kernel = ReadKernelDef(*definition, *registrar);
  const Status counted = CountKernel(kernel.ok() ? kernel->op : "", registrar);
  if (!counted.ok()) return Answer(registrar, counted);
  if (!kernel.ok()) {
    if (IsSkipped(kernel.status())) ++registrar->num_kernels_skipped;
    return Answer(registrar, kernel.status());
  }
  registrar->kernels.push_back(*std::move(kernel));
  return nullptr;
}

MS_Status* OpRegister(MS_Registrar* registrar, const MS_OpDef* definition) {
  const Status status = RegisterOp(*definition, registrar);
  if (IsSkipped(status)) registrar->skipped_ops.emplace_back(FromAbi(definition->name));
  return Answer(registrar, status);
}

const MS_OpInfo* OpFind(MS_Registrar* registrar, MS_Str name) {
  if (!CheckName(name, "the name of an op").ok()) return nullptr;
  const StatusOr<const OpDef*> op = registrar->FindOp(FromAbi(name));
  if (!op.ok()) return nullptr;
  registrar->found_ops.push_back(std::make_unique<const FoundOp>(**op));
  return &registrar->found_ops.back()->info;
}

MS_Status* GradientRegister(MS_Registrar* registrar, MS_Str op,
                            MS_Status* (*fn)(void* user, MS_GradCtx* ctx), void* user) {
  return Answer(registrar, RegisterGradient(FromAbi(op), fn, user, registrar));
}

MS_Status* ResourceTypeRegister(MS_Registrar* registrar, MS_Str type,
                                void (*destroy)(void* object)) {
  Status checked = CheckName(type, "the name of a resource type");
  if (checked.ok()) {
    checked = CheckCount(registrar->resource_types.size() + 1, kMostResourceTypes,
                         "resource types of a plugin");
  }
  if (!checked.ok()) return Answer(registrar, checked);
  ResourceType added;
  added.name = std::string(FromAbi(type));
  added.plugin = registrar->plugin;
  added.destroy = destroy;
  if (added.name == kVariableType) {
    return Answer(registrar, errors::InvalidArgument("resource type \"", added.name,
                                                     "\" is the runtime's own"));
  }
  if (added.name.empty() || destroy == nullptr) {
    return Answer(registrar, errors::InvalidArgument("resource type \"", added.name,
                                                     "\": a name and a destroy are needed"));
  }
  registrar->resource_types.push_back(std::move(added));
  return nullptr;
}

// What the function says, unless register_all has returned. One thread at a time.
template <auto kFunction, typename... Arguments>
MS_Status* WhileOpen(MS_Registrar* registrar, Arguments... arguments) {
  const absl::MutexLock lock(&registrar->mutex);
  if (!registrar->is_closed) return kFunction(registrar, arguments...);
  return ToAbiStatus(errors::FailedPrecondition(
      "plugin ", registrar->plugin, " registers something after its register_all has returned"));
}

const MS_OpInfo* FindWhileOpen(MS_Registrar* registrar, MS_Str name) {
  const absl::MutexLock lock(&registrar->mutex);
  return registrar->is_closed ? nullptr : OpFind(registrar, name);
}

constexpr MS_RegistryApi kRegistryApi = {
    {sizeof(MS_RegistryApi), 1, MS_ABI_MINOR, MS_REGISTRY_API},
    &WhileOpen<&KernelRegister>,
    &WhileOpen<&OpRegister>,
    &WhileOpen<&GradientRegister>,
    &WhileOpen<&ResourceTypeRegister>,
    &FindWhileOpen,
};

}  // namespace

FoundOp::FoundOp(const OpDef& op) {
  for (const ArgDef& input : op.inputs) inputs.push_back(ToAbi(input.name));
  for (const ArgDef& output : op.outputs) outputs.push_back(ToAbi(output.name));
  for (const AttrDef& attr : op.attrs) attrs.push_back(ToAbi(attr.name));
  info.head.size = sizeof(info);
  info.name = ToAbi(op.name);
  info.inputs = inputs.data();
  info.n_inputs = inputs.size();
  info.outputs = outputs.data();
  info.n_outputs = outputs.size();
  info.attrs = attrs.data();
  info.n_attrs = attrs.size();
  info.flags = OpFlags(op);
  info.since_version = op.since_version;
  info.deprecated_version = op.deprecated_version;
}

const MS_Table* RegistryInterface() { return &kRegistryApi.head; }

Status CheckHead(const MS_Head& head, uint32_t minimum, absl::string_view type) {
  if (head.size < minimum) {
    return errors::InvalidArgument(type, " has ", head.size, " bytes, needed are ", minimum);
  }
  if (head.required != 0) {
    return errors::Unimplemented(type, " requires features ", absl::Hex(head.required),
                                 " (bits), this host knows none");
  }
  int count = 0;
  for (const MS_Ext* extension = head.ext; extension != nullptr; extension = extension->head.ext) {
    if (++count > kMostExtensions) {
      return errors::InvalidArgument(type, " has more than ", kMostExtensions, " extensions");
    }
    if (extension->head.size < sizeof(MS_Ext)) {
      return errors::InvalidArgument("extension ", count - 1, " of ", type, " has ",
                                     extension->head.size, " bytes, needed are ", sizeof(MS_Ext));
    }
    if (extension->head.required != 0) {
      return errors::Unimplemented(type, " requires extension ", extension->id,
                                   ", this host knows none");
    }
  }
  return absl::OkStatus();
}

bool IsSkipped(const Status& status) {
  return absl::IsNotFound(status) || absl::IsUnimplemented(status);
}

StatusOr<KernelRegistration> ReadKernelDef(const MS_KernelDef& definition,
                                           const MS_Registrar& registrar) {
  MS_RETURN_IF_ERROR(CheckHead(definition.head, kKernelDefSize, "MS_KernelDef"));
  MS_RETURN_IF_ERROR(CheckName(definition.op, "MS_KernelDef.op"));
  MS_RETURN_IF_ERROR(CheckName(definition.device_type, "MS_KernelDef.device_type"));
  MS_RETURN_IF_ERROR(CheckName(definition.label, "MS_KernelDef.label"));
  KernelRegistration kernel;
  kernel.op = std::string(FromAbi(definition.op));
  kernel.device_type = std::string(FromAbi(definition.device_type));
  kernel.label = std::string(FromAbi(definition.label));
  kernel.plugin = registrar.plugin;
  kernel.priority = definition.priority;
  kernel.flags = definition.flags;
  kernel.user = definition.user;
  kernel.create = definition.create;
  kernel.compute = definition.compute;
  kernel.compute_async = definition.compute_async;
  kernel.destroy = definition.destroy;
  kernel.specialize = definition.specialize;
  kernel.unspecialize = definition.unspecialize;
  kernel.supports = definition.supports;
  kernel.is_builtin = registrar.is_builtin;
  kernel.keeps_update_bounds = HasExtension(definition.head, MS_EXT_BOUNDED_UPDATE);

  const Status status = ReadPlace(definition, registrar, &kernel);
  if (status.ok()) return kernel;
  return WithContext(status, absl::StrCat("kernel for op ", kernel.op, " on ", kernel.device_type));
}

Status CommitRegistrations(MS_Registrar* registrar, OpRegistry* ops, KernelRegistry* kernels,
                           std::vector<std::string>* ties) {
  const auto commit_types = [registrar] {
    return ResourceTypes::Global()->Commit(std::move(registrar->resource_types));
  };
  const auto commit_ops = [&] {
    return ops->RegisterAll(std::move(registrar->new_ops), commit_types);
  };
  return kernels->Commit(std::move(registrar->kernels), commit_ops, ties);
}

}  // namespace millstream

MS_Registrar::~MS_Registrar() = default;

void MS_Registrar::Close() {
  const absl::MutexLock lock(&mutex);
  is_closed = true;
}

absl::StatusOr<const millstream::OpDef*> MS_Registrar::FindOp(absl::string_view name) const {
  if (absl::c_linear_search(skipped_ops, name)) {
    return millstream::errors::NotFound("op ", name, " of this plugin was skipped");
  }
  for (const millstream::OpDef& op : new_ops) {
    if (op.name == name) return &op;
  }
  return ops->Find(name);
}
