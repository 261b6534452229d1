// BroadcastTo.
#include <cstdint>

#include "framework/plugin/plugin.hpp"
#include "kernels/array/indices.h"
#include "kernels/array/strided_copy.h"

namespace millstream::kernels {
namespace {

// Inputs: input, shape. Dimensions of size 1, and those that input lacks at the front, are
// repeated.
class BroadcastTo {
 public:
  ms::Status Compute(ms::Frame& frame) const {
    const ms::View input = frame.input(0);
    const ms::Shape source = input.shape();
    ms::Shape shape;
    MS_TRY(ReadIndexVector(frame.input(1), "shape", &shape));
    MS_TRY(Check(source, shape));
    ms::View output;
    MS_TRY(frame.Output(0, shape, &output));
    if (output.size() == 0) return ms::Status();

    const ms::Shape source_strides = RowMajorStrides(source);
    const ms::Shape target_strides = RowMajorStrides(shape);
    const uint32_t lacking = shape.rank() - source.rank();
    StridedCopy copy;
    for (uint32_t i = 0; i < shape.rank(); ++i) {
      const bool repeats = i < lacking || source[i - lacking] == 1;
      copy.AddDim(shape[i], repeats ? 0 : source_strides[i - lacking], target_strides[i]);
    }
    return copy.Run(frame, input, 0, output, 0);
  }

 private:
  static ms::Status Check(const ms::Shape& source, const ms::Shape& shape) {
    for (uint32_t i = 0; i < shape.rank(); ++i) {
      if (shape[i] < 0) return ms::InvalidArgument("shape[", i, "] = ", shape[i], " is negative");
    }
    bool fits = source.rank() <= shape.rank();
    for (uint32_t i = 1; fits && i <= source.rank(); ++i) {
      const int64_t size = source[source.rank() - i];
      fits = size == 1 || size == shape[shape.rank() - i];
    }
    if (fits) return ms::Status();
    return ms::InvalidArgument("Incompatible shapes: input of shape ", source.ToString(),
                               " cannot be broadcast to shape ", shape.ToString());
  }
};

const ms::Registered broadcast_to = ms::Register<BroadcastTo>(
    "BroadcastTo",
    ms::KernelOptions().Types("T", MovableTypes()).Types("Tidx", IndexTypes()).HostArg("shape"));

}  // namespace
}  // namespace millstream::kernels
