// Pad and PadV2.
#include <cstdint>

#include "framework/plugin/plugin.hpp"
#include "kernels/array/indices.h"
#include "kernels/array/strided_copy.h"

namespace millstream::kernels {
namespace {

// Inputs: input, paddings [rank, 2], and for PadV2 constant_values, a scalar. Those, or zeros
// (empty strings), before and behind the input along each dimension.
class Pad {
 public:
  ms::Status Compute(ms::Frame& frame) const {
    const ms::View input = frame.input(0);
    const ms::View paddings = frame.input(1);
    const ms::Shape source = input.shape();
    ms::Shape shape = source;
    MS_TRY(Grow(paddings, &shape));
    if (frame.num_inputs() > 2 && frame.input(2).rank() != 0) {
      return ms::InvalidArgument("constant_values must be a scalar, but has shape ",
                                 frame.input(2).shape().ToString());
    }
    ms::View output;
    MS_TRY(frame.Output(0, shape, &output));
    if (output.size() == 0) return ms::Status();

    if (output.size() != input.size()) MS_TRY(FillMargin(frame, output));
    const ms::Shape source_strides = RowMajorStrides(source);
    const ms::Shape target_strides = RowMajorStrides(shape);
    StridedCopy copy;
    int64_t start = 0;
    for (uint32_t i = 0; i < shape.rank(); ++i) {
      copy.AddDim(source[i], source_strides[i], target_strides[i]);
      start += IndexAt(paddings, 2 * int64_t{i}) * target_strides[i];
    }
    return copy.Run(frame, input, 0, output, start);
  }

 private:
  static ms::Status FillMargin(ms::Frame& frame, const ms::View& output) {
    if (frame.num_inputs() < 3) return SetToZero(frame, output);
    return FillWith(frame, frame.input(2), output);
  }

  static ms::Status Grow(const ms::View& paddings, ms::Shape* shape) {
    if (paddings.rank() != 2 || paddings.dim(0) != shape->rank() || paddings.dim(1) != 2) {
      return ms::InvalidArgument("paddings must have shape [", shape->rank(),
                                 ",2] for input of shape ", shape->ToString(), ", but has ",
                                 paddings.shape().ToString());
    }
    for (uint32_t i = 0; i < shape->rank(); ++i) {
      const int64_t before = IndexAt(paddings, 2 * int64_t{i});
      const int64_t behind = IndexAt(paddings, 2 * int64_t{i} + 1);
      if (before < 0 || behind < 0) {
        return ms::InvalidArgument("paddings[", i, "] = [", before, ",", behind,
                                   "] must be non-negative");
      }
      int64_t& size = (*shape)[i];
      if (__builtin_add_overflow(size, before, &size) ||
          __builtin_add_overflow(size, behind, &size)) {
        return ms::InvalidArgument("paddings[", i, "] = [", before, ",", behind,
                                   "] makes a dimension that 64 bits cannot hold");
      }
    }
    return ms::Status();
  }
};

ms::Registered RegisterPad(const char* op) {
  return ms::Register<Pad>(op, ms::KernelOptions()
                                   .Types("T", MovableTypes())
                                   .Types("Tpaddings", IndexTypes())
                                   .HostArg("paddings"));
}

const ms::Registered pad = RegisterPad("Pad");
const ms::Registered pad_v2 = RegisterPad("PadV2");

}  // namespace
}  // namespace millstream::kernels
