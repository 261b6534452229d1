#include "core/plan/inner_values.h"

#include <utility>

#include "core/device/device_memory.h"
#include "core/host/kernel_host.h"
#include "core/resources/run_time_handle.h"
#include "framework/plugin/host_tensor.h"

namespace millstream {
namespace {

StatusOr<Tensor> TakeInput(MS_Frame* frame, uint32_t i) {
  const MS_TensorView& view = frame->inputs[i];
  const MS_Ctx& ctx = *frame->ctx;
  // A handle of the session's has no tensor.
  if (PointsToResource(view)) {
    return MakeRunTimeHandle(ResourceRef<Resource>::Share(ResourceOf(view)));
  }
  if (view.dtype == MS_VARIANT) {
    // The tensor leaves its place: with a second reference the first change would copy the list.
    if (const Tensor* const taken = ctx.host->TakeableInput(ctx, i)) {
      return std::exchange(*const_cast<Tensor*>(taken), Tensor());
    }
    return ctx.host->InputTensor(ctx, i);
  }
  MS_ASSIGN_OR_RETURN(Shape shape, ShapeFromAbi(MS_Dims{view.dims, view.rank}));
  char* const data = static_cast<char*>(view.mem.base) + view.mem.offset;
  return Tensor(FromAbiDataType(view.dtype), std::move(shape),
                BorrowBuffer(data, view.mem.bytes, false, nullptr));
}

}  // namespace

StatusOr<std::vector<Tensor>> TakeInputs(MS_Frame* frame, uint32_t first) {
  std::vector<Tensor> values;
  values.reserve(frame->n_in - first);
  for (uint32_t i = first; i < frame->n_in; ++i) {
    MS_ASSIGN_OR_RETURN(Tensor value, TakeInput(frame, i));
    values.push_back(std::move(value));
  }
  return values;
}

Status GiveOutput(MS_Frame* frame, uint32_t output, Tensor value) {
  if (value.buffer() && !value.buffer()->writable()) {
    MS_ASSIGN_OR_RETURN(value, CopyOf(value));
  }
  frame->ctx->host->SetOutput(frame, output, std::move(value));
  return absl::OkStatus();
}

}  // namespace millstream
