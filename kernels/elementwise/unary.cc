#include "kernels/elementwise/unary.h"

#include "kernels/common/parallel.h"

namespace millstream::kernels {

ms::Status ElementwiseKernel::Compute(ms::Frame& frame) const {
  const ms::View x = frame.input(0);
  ms::View out;
  MS_TRY(frame.ForwardOrOutput(0, 0, x.shape(), &out));
  const void* const x_data = x.raw();
  void* const out_data = out.raw();
  ParallelElements(frame, x.size(), picoseconds_,
                   [&](int64_t begin, int64_t end) { loop_(x_data, out_data, begin, end); });
  return ms::Status();
}

}  // namespace millstream::kernels
