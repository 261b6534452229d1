// Empty.
#include "framework/plugin/plugin.hpp"
#include "kernels/array/indices.h"
#include "kernels/array/strided_copy.h"

namespace millstream::kernels {
namespace {

// Input: shape. The output is zero, also where init is false: nothing of other tensors shows in it,
// and the bits are the same in every run.
class Empty {
 public:
  ms::Status Compute(ms::Frame& frame) const {
    ms::Shape shape;
    MS_TRY(ReadIndexVector(frame.input(0), "shape", &shape));
    for (const int64_t size : shape) {
      if (size < 0) return ms::InvalidArgument("shape holds ", size, ", which is negative");
    }
    ms::View output;
    MS_TRY(frame.Output(0, shape, &output));
    return SetToZero(frame, output);
  }
};

const ms::Registered empty = ms::Register<Empty>(
    "Empty", ms::KernelOptions().Types("dtype", MovableTypes()).HostArg("shape"));

}  // namespace
}  // namespace millstream::kernels
