#include "core/structural/structural.h"

#include <cstring>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/base/call_once.h"
#include "core/host/host_ctx.h"
#include "core/host/thread_team.h"
#include "core/resources/run_time_handle.h"
#include "framework/opaque_cell.h"
#include "framework/plugin/host_status.h"
#include "framework/plugin/kernel_registry.h"
#include "framework/plugin/reserved_ops.h"

namespace millstream {
namespace {

struct Entry {
  StructuralFunction function;
};

// Those with a function. Filled before main; only read afterwards.
std::map<std::string, Entry, std::less<>>& Entries() {
  static auto* const entries = new std::map<std::string, Entry, std::less<>>();
  return *entries;
}

MS_Status* Create(void* user, const MS_KernelInfo*, void** out_state) {
  *out_state = user;
  return nullptr;
}

// The state is the entry: structural kernels keep nothing between executions.
MS_Status* Compute(void* state, MS_Frame* frame) {
  StructuralFrame wrapped(frame);
  Status status = static_cast<const Entry*>(state)->function(&wrapped);
  return status.ok() ? nullptr : ToAbiStatus(status);
}

// Those that were given whole. Filled before main, taken by RegisterStructuralKernels.
std::vector<KernelRegistration>& Whole() {
  static auto* const whole = new std::vector<KernelRegistration>();
  return *whole;
}

Status CommitKernels() {
  std::vector<KernelRegistration> kernels = std::move(Whole());
  for (auto& [op, entry] : Entries()) {
    KernelRegistration kernel;
    kernel.op = op;
    kernel.device_type = kAnyDevice;
    kernel.plugin = "core";
    kernel.user = const_cast<Entry*>(&entry);
    kernel.create = &Create;
    kernel.compute = &Compute;
    kernels.push_back(std::move(kernel));
  }
  return KernelRegistry::Global()->Commit(std::move(kernels));
}

// A handle that is the address of its resource, as a tensor that holds it.
Tensor HeldHandle(Resource* resource, const Shape& shape) {
  const auto cell =
      std::make_shared<OpaqueCell>(HandleCell(ResourceRef<Resource>::Share(resource)));
  return Tensor(DataType::kResource, shape,
                BorrowBuffer(cell.get(), sizeof(OpaqueCell), true, [cell] {}));
}

}  // namespace

StatusOr<Tensor> StructuralFrame::InputTensor(uint32_t i) const {
  if (PointsToResource(frame_->inputs[i])) return BorrowInput(i);
  return frame_->ctx->host->InputTensor(*frame_->ctx, i);
}

Tensor StructuralFrame::BorrowInput(uint32_t i) const {
  const MS_TensorView& view = frame_->inputs[i];
  if (PointsToResource(view)) return HeldHandle(ResourceOf(view), input_shape(i));
  const DataType dtype = FromAbiDataType(view.dtype);
  if (view.mem.space == MS_SPACE_DEVICE) {
    return frame_->ctx->host->memory->Borrow(dtype, input_shape(i), view.mem);
  }
  char* const data = static_cast<char*>(view.mem.base) + view.mem.offset;
  return Tensor(dtype, input_shape(i), BorrowBuffer(data, view.mem.bytes, false, nullptr));
}

StatusOr<std::vector<int64_t>> StructuralFrame::Integers(uint32_t i) const {
  return IntegerValues(BorrowInput(i));
}

StatusOr<int64_t> StructuralFrame::Integer(uint32_t i) const {
  const MS_TensorView& view = frame_->inputs[i];
  const char* const data = static_cast<const char*>(view.mem.base) + view.mem.offset;
  if (view.dtype == MS_INT32) return *reinterpret_cast<const int32_t*>(data);
  if (view.dtype == MS_INT64) return *reinterpret_cast<const int64_t*>(data);
  MS_ASSIGN_OR_RETURN(const std::vector<int64_t> values, Integers(i));
  return values[0];
}

Resource* StructuralFrame::handle(uint32_t i) const { return ResourceOf(frame_->inputs[i]); }

StatusOr<Variable*> StructuralFrame::variable(uint32_t i) const {
  Variable* const variable = ResourceAs<Variable>(handle(i));
  if (variable == nullptr)
    return errors::InvalidArgument("input ", i, " is no handle of a variable");
  return variable;
}

StatusOr<Tensor> StructuralFrame::AllocateOutput(uint32_t i, const Shape& shape) {
  const MS_Ctx& ctx = *frame_->ctx;
  MS_RETURN_IF_ERROR(CheckOutputShape(i, shape));
  if (ctx.host->HasPlannedOutput(ctx, i)) return ctx.host->PlannedOutput(ctx, i);
  MS_ASSIGN_OR_RETURN(Tensor tensor,
                      Tensor::Create(ctx.call().output_type(static_cast<int>(i)), shape));
  ctx.host->SetOutput(frame_, i, tensor);
  return tensor;
}

void StructuralFrame::ParallelFor(uint64_t total, uint64_t cost_ns,
                                  const std::function<void(uint64_t)>& function) const {
  const auto call = [](void* user, uint64_t begin, uint64_t end) {
    const auto& each = *static_cast<const std::function<void(uint64_t)>*>(user);
    for (uint64_t i = begin; i < end; ++i) each(i);
  };
  ThreadsApi()->parallel_for(frame_, total, cost_ns, call,
                             const_cast<std::function<void(uint64_t)>*>(&function));
}

Status StructuralFrame::CheckOutputShape(uint32_t i, const Shape& shape) const {
  const Shape* known = frame_->ctx->host->KnownOutputShape(*frame_->ctx, i);
  if (known == nullptr || *known == shape) return absl::OkStatus();
  return errors::InvalidArgument("output ", i, " must have shape ", known->ToString(), ", got ",
                                 shape.ToString());
}

Status StructuralFrame::SetOutput(uint32_t i, const Tensor& tensor) {
  const MS_Ctx& ctx = *frame_->ctx;
  if (!ctx.host->HasPlannedOutput(ctx, i)) {
    MS_RETURN_IF_ERROR(CheckOutputShape(i, tensor.shape()));
    ctx.host->SetOutput(frame_, i, tensor);
    return absl::OkStatus();
  }
  MS_ASSIGN_OR_RETURN(Tensor target, AllocateOutput(i, tensor.shape()));
  return CopyElements(tensor, target);
}

Status StructuralFrame::PassOn(uint32_t input, uint32_t output, const Shape& shape) {
  if (frame_->ctx->host->HasPlannedOutput(*frame_->ctx, output)) {
    const MS_TensorView& from = frame_->inputs[input];
    const MS_TensorView& to = frame_->outputs[output];
    const bool is_number = from.rank == 0 && to.rank == 0 && shape.rank() == 0 &&
                           from.dtype == to.dtype && IsPlainData(FromAbiDataType(from.dtype));
    // The flow of an array in a loop.
    if (is_number && from.mem.space == MS_SPACE_HOST && to.mem.space == MS_SPACE_HOST) {
      std::memmove(static_cast<char*>(to.mem.base) + to.mem.offset,
                   static_cast<const char*>(from.mem.base) + from.mem.offset,
                   DataTypeSize(FromAbiDataType(from.dtype)));
      return absl::OkStatus();
    }
    return SetOutput(output, BorrowInput(input).Reshaped(shape));
  }
  MS_ASSIGN_OR_RETURN(Tensor value, InputTensor(input));
  return SetOutput(output, value.Reshaped(shape));
}

Status RegisterStructuralKernels() {
  static absl::once_flag once;
  static Status* const result = new Status();
  absl::call_once(once, [] { *result = CommitKernels(); });
  return *result;
}

StructuralRegistration::StructuralRegistration(const char* op, StructuralRole role,
                                               StructuralFunction function) {
  SetStructuralRole(op, role);
  // A plugin's kernel of such an op would run in some steps and not in others.
  if (role != StructuralRole::kKernel) ReserveOp(op);
  if (function != nullptr) Entries()[op] = Entry{function};
}

void AddStructuralKernel(KernelRegistration kernel) {
  SetStructuralRole(kernel.op, StructuralRole::kKernel);
  Whole().push_back(std::move(kernel));
}

}  // namespace millstream
