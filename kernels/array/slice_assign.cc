// TensorStridedSliceUpdate and ResourceStridedSliceAssign: a value in the place of a strided slice.
#include <cstdint>

#include "framework/plugin/plugin.hpp"
#include "kernels/array/indices.h"
#include "kernels/array/strided_copy.h"
#include "kernels/array/strided_slice_spec.h"
#include "kernels/training/variables.h"

namespace millstream::kernels {
namespace {

// Inputs 1 to 4 of the frame: begin, end, strides, value.
ms::Status AssignSlice(ms::Frame& frame, const StridedSliceMasks& masks, const ms::View& target) {
  const ms::View value = frame.input(4);
  const ms::Shape whole = target.shape();
  StridedSliceSpec spec;
  MS_TRY(ResolveStridedSlice(masks, whole, frame.input(1), frame.input(2), frame.input(3), &spec));
  if (value.shape() != spec.output) {
    return ms::InvalidArgument("value must have the shape of the slice, ", spec.output.ToString(),
                               ", but has shape ", value.shape().ToString());
  }
  if (value.size() == 0) return ms::Status();
  const ms::Shape source_strides = RowMajorStrides(spec.count);
  const ms::Shape target_strides = RowMajorStrides(whole);
  StridedCopy copy;
  int64_t start = 0;
  for (uint32_t i = 0; i < whole.rank(); ++i) {
    copy.AddDim(spec.count[i], source_strides[i], spec.stride[i] * target_strides[i]);
    start += spec.begin[i] * target_strides[i];
  }
  return copy.Run(frame, value, 0, target, start);
}

// Inputs: input, begin, end, strides, value. The output is the input with the value in it.
class TensorStridedSliceUpdate {
 public:
  ms::Status Init(const ms::KernelInfo& info) { return masks_.Init(info); }

  ms::Status Compute(ms::Frame& frame) const {
    const ms::View input = frame.input(0);
    ms::View output;
    MS_TRY(frame.ForwardOrOutput(0, 0, input.shape(), &output));
    if (output.raw() != input.raw() && output.size() > 0) {
      StridedCopy whole;
      whole.AddDim(input.size(), 1, 1);
      MS_TRY(whole.Run(frame, input, 0, output, 0));
    }
    return AssignSlice(frame, masks_, output);
  }

 private:
  StridedSliceMasks masks_;
};

// Inputs: ref (a variable), begin, end, strides, value.
class ResourceStridedSliceAssign {
 public:
  ms::Status Init(const ms::KernelInfo& info) { return masks_.Init(info); }

  ms::Status Compute(ms::Frame& frame) const {
    ms::VariableLocks locks;
    MS_TRY(UnassignedIsNotFound(frame.LockVariables({{0, MS_LOCK_WRITE}}, &locks)));
    ms::View variable;
    MS_TRY(UnassignedIsNotFound(locks.Write(0, &variable)));
    return AssignSlice(frame, masks_, variable);
  }

 private:
  StridedSliceMasks masks_;
};

ms::KernelOptions Options() {
  return ms::KernelOptions()
      .Types("T", MovableTypes())
      .Types("Index", IndexTypes())
      .HostArg("begin")
      .HostArg("end")
      .HostArg("strides");
}

const ms::Registered tensor_update =
    ms::Register<TensorStridedSliceUpdate>("TensorStridedSliceUpdate", Options().InPlace(0, 0));
const ms::Registered variable_assign =
    ms::Register<ResourceStridedSliceAssign>("ResourceStridedSliceAssign", Options());

}  // namespace
}  // namespace millstream::kernels
