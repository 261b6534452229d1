// Softmax and LogSoftmax over the last dimension.
#include <cmath>
#include <cstdint>

#include "framework/plugin/plugin.hpp"
#include "kernels/common/narrow_float.h"
#include "kernels/common/parallel.h"
#include "kernels/common/wide_tensors.h"
#include "kernels/nn/softmax_rows.h"

namespace millstream::kernels {
namespace {

// `out` may be `x`.
template <typename T>
struct SoftmaxRow {
  template <int kBytes>
  struct Loop {
    static void Run(const T* x, int64_t classes, T* out) {
      const double sum = RowExpSum<kBytes>(x, RowMax<kBytes>(x, classes), classes, out);
      const T scale = static_cast<T>(1 / sum);
      for (int64_t j = 0; j < classes; ++j) out[j] *= scale;
    }
  };
};

template <typename T>
struct LogSoftmaxRow {
  template <int kBytes>
  struct Loop {
    static void Run(const T* x, int64_t classes, T* out) {
      const T largest = RowMax<kBytes>(x, classes);
      const double sum = RowExpSum<kBytes, T>(x, largest, classes, nullptr);
      const T log_sum = static_cast<T>(std::log(sum));
      for (int64_t j = 0; j < classes; ++j) out[j] = (x[j] - largest) - log_sum;
    }
  };
};

template <typename T, typename Row>
class RowKernel {
 public:
  ms::Status Compute(ms::Frame& frame) const {
    const ms::View logits = frame.input(0);
    if (logits.rank() == 0) {
      return ms::InvalidArgument("logits must have at least one dimension, but is a scalar");
    }
    ms::View result;
    MS_TRY(frame.ForwardOrOutput(0, 0, logits.shape(), &result));
    if (logits.size() == 0) return ms::Status();
    const int64_t classes = logits.dim(logits.rank() - 1);
    ComputeTypeOf<T>* x = nullptr;
    MS_TRY(WideInput<T>(frame, 0, &x));
    WideOutput<T> output;
    MS_TRY(output.Init(frame, result));
    ComputeTypeOf<T>* const out = output.data();
    MS_TRY(ParallelRows(frame, logits.size() / classes, classes, kSoftmaxPicoseconds,
                        [&](int64_t begin, int64_t end) {
                          for (int64_t row = begin; row < end; ++row) {
                            RunVectorLoop<Row::template Loop>(x + row * classes, classes,
                                                              out + row * classes);
                          }
                        }));
    return output.Finish(frame);
  }
};

template <typename T>
using Softmax = RowKernel<T, SoftmaxRow<ComputeTypeOf<T>>>;
template <typename T>
using LogSoftmax = RowKernel<T, LogSoftmaxRow<ComputeTypeOf<T>>>;

const ms::Registered softmax = ms::RegisterForTypes<Softmax, float, double, Float16, BFloat16>(
    "Softmax", "T", ms::KernelOptions().InPlace(0, 0));
const ms::Registered log_softmax =
    ms::RegisterForTypes<LogSoftmax, float, double, Float16, BFloat16>(
        "LogSoftmax", "T", ms::KernelOptions().InPlace(0, 0));

}  // namespace
}  // namespace millstream::kernels
