// Ops that read, assign and destroy variables. Plugins have the kernels of arithmetic updates.
#include <cstdint>
#include <string>

#include "core/resources/resource_handle.h"
#include "core/resources/run_time_handle.h"
#include "core/structural/host_kernel.h"
#include "core/structural/structural.h"
#include "framework/allocator.h"

namespace millstream {
namespace {

StatusOr<ResourceRef<Resource>> FindVariable(const Node& node, ResourceManager* resources) {
  MS_ASSIGN_OR_RETURN(const ResourceName name, ResourceNameOf(node));
  MS_ASSIGN_OR_RETURN(DataType dtype, node.Attr<DataType>("dtype"));
  MS_ASSIGN_OR_RETURN(PartialShape shape, node.Attr<PartialShape>("shape"));
  return resources->LookupOrCreateVariable(name.container, name.name, dtype, shape);
}

Status ReadVariable(StructuralFrame* frame) {
  MS_ASSIGN_OR_RETURN(Variable * variable, frame->variable(0));
  MS_ASSIGN_OR_RETURN(Tensor value, variable->Read());
  if (value.dtype() != frame->call().output_type(0)) {
    return errors::InvalidArgument("variable '", variable->name(), "' holds ",
                                   DataTypeName(value.dtype()), ", expected ",
                                   DataTypeName(frame->call().output_type(0)));
  }
  MS_RETURN_IF_ERROR(variable->CheckIsIn(frame->memory(), value));
  return frame->SetOutput(0, value);
}

// Whether a variable may have the buffer as its own for as long as it likes. Of a larger buffer it
// would keep all, memory that a device has pinned goes with the device, and kernels count on the
// alignment of variables, which host memory of others may lack.
bool IsFitToKeep(const Tensor& value) {
  if (value.buffer()->size() != value.bytes()) return false;
  if (value.is_on_device()) return true;
  return value.space() == MemorySpace::kHost &&
         reinterpret_cast<uintptr_t>(value.raw()) % kTensorAlignment == 0;
}

// The value as a tensor whose buffer the variable may have, or null.
const Tensor* BufferToTake(const StructuralFrame& frame, const Tensor& value) {
  const Tensor* const taken = frame.TakeableInput(1);
  const bool fits = taken != nullptr && taken->dtype() == value.dtype() &&
                    taken->shape() == value.shape() && IsFitToKeep(*taken);
  return fits ? taken : nullptr;
}

Status AssignVariable(StructuralFrame* frame) {
  MS_ASSIGN_OR_RETURN(Variable * variable, frame->variable(0));
  const Tensor value = frame->BorrowInput(1);
  if (value.dtype() != variable->dtype()) {
    return errors::InvalidArgument("variable '", variable->name(), "' holds ",
                                   DataTypeName(variable->dtype()), ", got ",
                                   DataTypeName(value.dtype()));
  }
  if (!variable->shape().IsCompatibleWith(value.shape())) {
    return errors::InvalidArgument("variable '", variable->name(), "' has shape ",
                                   variable->shape().ToString(), ", got a value of shape ",
                                   value.shape().ToString());
  }
  // What is restored or computed in memory of its own is not copied.
  if (const Tensor* const taken = BufferToTake(*frame, value)) {
    variable->Take(*taken);
    return absl::OkStatus();
  }
  return variable->Assign(value);
}

Status VariableIsInitialized(StructuralFrame* frame) {
  MS_ASSIGN_OR_RETURN(Variable * variable, frame->variable(0));
  MS_ASSIGN_OR_RETURN(Tensor result, frame->AllocateOutput(0, Shape()));
  *result.data<bool>() = variable->IsInitialized();
  return absl::OkStatus();
}

// An op that reads a variable in passing answers NOT_FOUND when it was never assigned.
Status VariableShape(StructuralFrame* frame) {
  MS_ASSIGN_OR_RETURN(Variable * variable, frame->variable(0));
  const StatusOr<Tensor> value = variable->Read();
  if (absl::IsFailedPrecondition(value.status())) {
    return errors::NotFound(value.status().message());
  }
  MS_RETURN_IF_ERROR(value.status());
  const Shape shape = value->shape();
  MS_ASSIGN_OR_RETURN(Tensor sizes, frame->AllocateOutput(0, Shape({shape.rank()})));
  for (int i = 0; i < shape.rank(); ++i) {
    if (sizes.dtype() == DataType::kInt64) {
      sizes.data<int64_t>()[i] = shape.dim(i);
    } else if (shape.dim(i) <= INT32_MAX) {
      sizes.data<int32_t>()[i] = static_cast<int32_t>(shape.dim(i));
    } else {
      return errors::InvalidArgument("the size ", shape.dim(i), " of variable '", variable->name(),
                                     "' does not fit int32; set out_type");
    }
  }
  return absl::OkStatus();
}

// Gives the value, which nobody else can read afterwards.
Status TakeVariable(StructuralFrame* frame) {
  MS_RETURN_IF_ERROR(ReadVariable(frame));
  MS_ASSIGN_OR_RETURN(Variable * variable, frame->variable(0));
  return variable->Destroy();
}

// The memory goes back now; the handle stays good for another assignment.
Status DestroyVariable(StructuralFrame* frame) {
  MS_ASSIGN_OR_RETURN(Variable * variable, frame->variable(0));
  MS_ASSIGN_OR_RETURN(const bool ignore_missing, frame->call().Attr<bool>("ignore_lookup_error"));
  Status status = variable->Destroy();
  return ignore_missing && absl::IsNotFound(status) ? absl::OkStatus() : status;
}

// One of several handles.
Status SelectHandle(StructuralFrame* frame) {
  MS_ASSIGN_OR_RETURN(const std::vector<int64_t> index, frame->Integers(0));
  const int64_t count = frame->num_inputs() - 1;
  if (index.size() != 1 || index[0] < 0 || index[0] >= count) {
    return errors::InvalidArgument("argument 'index' must be a number from 0 to ", count - 1,
                                   ", got ", frame->BorrowInput(0).DebugString());
  }
  Resource* const chosen = frame->handle(static_cast<uint32_t>(index[0]) + 1);
  if (chosen == nullptr) return errors::InvalidArgument("argument 'handles' has no handle");
  MS_ASSIGN_OR_RETURN(const Tensor handle, MakeRunTimeHandle(ResourceRef<Resource>::Share(chosen)));
  return frame->SetOutput(0, handle);
}

MILLSTREAM_RESOURCE_HANDLE("VarHandleOp", FindVariable);
MILLSTREAM_STRUCTURAL("VarHandleOp", StructuralRole::kHandle, nullptr);
MILLSTREAM_STRUCTURAL("ReadVariableOp", StructuralRole::kKernel, ReadVariable);
MILLSTREAM_STRUCTURAL("AssignVariableOp", StructuralRole::kKernel, AssignVariable);
MILLSTREAM_STRUCTURAL("VariableShape", StructuralRole::kKernel, VariableShape);
MILLSTREAM_STRUCTURAL("_TakeVariable", StructuralRole::kKernel, TakeVariable);
MILLSTREAM_STRUCTURAL("VarIsInitializedOp", StructuralRole::kKernel, VariableIsInitialized);
MILLSTREAM_STRUCTURAL("DestroyResourceOp", StructuralRole::kKernel, DestroyVariable);

MILLSTREAM_HOST_KERNEL("_SelectHandle", HostFunction<&SelectHandle>);

}  // namespace
}  // namespace millstream
