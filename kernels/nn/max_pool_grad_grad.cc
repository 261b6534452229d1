// MaxPoolGradGrad: the gradient of MaxPoolGrad for the gradient that it was given.
#include <cstdint>

#include "framework/plugin/plugin.hpp"
#include "kernels/common/narrow_float.h"
#include "kernels/common/parallel.h"
#include "kernels/nn/pool_shape.h"

namespace millstream::kernels {
namespace {

// Gives for each window the element of `grad` at the place of the window's first largest element,
// which is where MaxPoolGrad puts that window's gradient.
template <typename T>
class MaxPoolGradGrad {
 public:
  ms::Status Init(const ms::KernelInfo& info) { return attributes_.Init(info); }

  ms::Status Compute(ms::Frame& frame) const {
    const ms::View input = frame.input(0);
    const ms::View gradient = frame.input(2);
    PoolShape shape;
    MS_TRY(ResolvePool(attributes_, input.shape(), "orig_input", &shape));
    MS_TRY(CheckPoolOutput(shape, frame.input(1).shape(), "orig_output"));
    if (gradient.shape() != input.shape()) {
      return ms::InvalidArgument("grad must be ", input.shape().ToString(),
                                 ", the shape of orig_input, but is ", gradient.shape().ToString());
    }
    ms::View output;
    MS_TRY(frame.Output(0, shape.output_shape, &output));
    if (shape.OutputSize() == 0) return ms::Status();
    const T* const x = input.data<T>();
    const T* const g = gradient.data<T>();
    T* const out = output.data<T>();
    const int64_t rows = shape.batch * shape.output[0];
    const uint64_t cost =
        static_cast<uint64_t>(shape.output[1] * shape.channels * shape.ksize[0] * shape.ksize[1]) +
        1;
    MS_TRY(StoppableFor(frame, rows, cost, [&](uint64_t begin, uint64_t end) {
      for (int64_t row = begin; row < static_cast<int64_t>(end); ++row) {
        for (int64_t ow = 0; ow < shape.output[1]; ++ow) {
          GatherWindow(shape, row / shape.output[0], row % shape.output[0], ow, x, g,
                       out + (row * shape.output[1] + ow) * shape.channels);
        }
      }
    }));
    return ms::Status();
  }

 private:
  static void GatherWindow(const PoolShape& shape, int64_t n, int64_t oh, int64_t ow, const T* x,
                           const T* g, T* out) {
    const Span rows = shape.Window(0, oh);
    const Span columns = shape.Window(1, ow);
    for (int64_t c = 0; c < shape.channels; ++c) {
      bool found = false;  // a NaN is larger than nothing, and so never found
      T largest = T(0);
      out[c] = T(0);
      for (int64_t h = rows.begin; h < rows.end; ++h) {
        for (int64_t w = columns.begin; w < columns.end; ++w) {
          const int64_t at = ((n * shape.input[0] + h) * shape.input[1] + w) * shape.channels + c;
          const bool larger = found ? x[at] > largest : x[at] == x[at];
          if (!larger) continue;
          found = true;
          largest = x[at];
          out[c] = g[at];
        }
      }
    }
  }

  PoolAttributes attributes_;
};

const ms::Registered max_pool_grad_grad =
    ms::RegisterForTypes<MaxPoolGradGrad, float, double, Float16, BFloat16, int8_t, int16_t,
                         int32_t, int64_t, uint8_t, uint16_t, uint32_t, uint64_t>("MaxPoolGradGrad",
                                                                                  "T");

}  // namespace
}  // namespace millstream::kernels
