// Tile.
#include <cstdint>

#include "framework/plugin/plugin.hpp"
#include "kernels/array/indices.h"
#include "kernels/array/strided_copy.h"

namespace millstream::kernels {
namespace {

// Inputs: input, multiples. Dimension i of the output is dimension i of the input multiples[i]
// times.
class Tile {
 public:
  ms::Status Compute(ms::Frame& frame) const {
    const ms::View input = frame.input(0);
    const ms::Shape source = input.shape();
    ms::Shape multiples;
    MS_TRY(ReadIndexVector(frame.input(1), "multiples", &multiples));
    ms::Shape shape = source;
    MS_TRY(Multiply(multiples, &shape));
    ms::View output;
    MS_TRY(frame.Output(0, shape, &output));
    if (output.size() == 0) return ms::Status();

    const ms::Shape source_strides = RowMajorStrides(source);
    const ms::Shape target_strides = RowMajorStrides(shape);
    StridedCopy copy;
    for (uint32_t i = 0; i < shape.rank(); ++i) {
      copy.AddDim(multiples[i], 0, source[i] * target_strides[i]);
      copy.AddDim(source[i], source_strides[i], target_strides[i]);
    }
    return copy.Run(frame, input, 0, output, 0);
  }

 private:
  static ms::Status Multiply(const ms::Shape& multiples, ms::Shape* shape) {
    if (multiples.rank() != shape->rank()) {
      return ms::InvalidArgument(
          "multiples must have one entry for each dimension of input, which "
          "has shape ",
          shape->ToString(), ", but is ", multiples.ToString());
    }
    for (uint32_t i = 0; i < shape->rank(); ++i) {
      if (multiples[i] < 0) {
        return ms::InvalidArgument("multiples[", i, "] = ", multiples[i], " is negative");
      }
      if (__builtin_mul_overflow((*shape)[i], multiples[i], &(*shape)[i])) {
        return ms::InvalidArgument("multiples[", i, "] = ", multiples[i],
                                   " makes a dimension that 64 bits cannot hold");
      }
    }
    return ms::Status();
  }
};

const ms::Registered tile = ms::Register<Tile>("Tile", ms::KernelOptions()
                                                           .Types("T", MovableTypes())
                                                           .Types("Tmultiples", IndexTypes())
                                                           .HostArg("multiples"));

}  // namespace
}  // namespace millstream::kernels
