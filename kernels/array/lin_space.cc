// LinSpace.
#include <cstdint>

#include "framework/plugin/plugin.hpp"
#include "kernels/array/indices.h"
#include "kernels/common/narrow_float.h"

namespace millstream::kernels {
namespace {

// Inputs: start, stop, num, scalars. Output: num numbers from start to stop, evenly spaced.
template <typename T>
class LinSpace {
  // 16-bit numbers are made as float and rounded once.
  using Number = ComputeTypeOf<T>;

 public:
  ms::Status Compute(ms::Frame& frame) const {
    for (uint32_t i = 0; i < 2; ++i) {
      if (frame.input(i).rank() == 0) continue;
      return ms::InvalidArgument(i == 0 ? "start" : "stop", " must be a scalar, but has shape ",
                                 frame.input(i).shape().ToString());
    }
    int64_t num = 0;
    MS_TRY(ReadIndexScalar(frame.input(2), "num", &num));
    if (num <= 0) return ms::InvalidArgument("num = ", num, " must be positive");
    ms::View output;
    MS_TRY(frame.Output(0, ms::Shape{num}, &output));
    const Number start = *frame.input(0).data<T>();
    const Number stop = *frame.input(1).data<T>();
    T* const values = output.data<T>();
    values[0] = T(start);
    if (num == 1) return ms::Status();
    const Number step = (stop - start) / static_cast<Number>(num - 1);
    for (int64_t i = 1; i + 1 < num; ++i) values[i] = T(start + step * static_cast<Number>(i));
    values[num - 1] = T(stop);
    return ms::Status();
  }
};

const ms::Registered lin_space = ms::RegisterForTypes<LinSpace, float, double, BFloat16>(
    "LinSpace", "T", ms::KernelOptions().Types("Tidx", IndexTypes()).HostArg("num"));

}  // namespace
}  // namespace millstream::kernels
