// LeakyRelu and LeakyReluGrad: gradients where features is above 0, and alpha * gradients
// elsewhere. LeakyRelu is the same with features as the gradients. A NaN stays one.
#include <algorithm>
#include <cstdint>
#include <iterator>

#include "framework/plugin/plugin.hpp"
#include "kernels/common/parallel.h"
#include "kernels/common/type_table.h"
#include "kernels/simd/instruction_set.h"

namespace millstream::kernels {
namespace {

constexpr int64_t kPicoseconds = 350;

using LeakyLoop = void (*)(const void* gradients, const void* features, float alpha, void* out,
                           int64_t begin, int64_t end);

struct LeakyFunctions {
  MS_DType dtype;
  LeakyLoop loop;
};

template <typename T>
void LeakyElements(const T* gradients, const T* features, T alpha, T* out, int64_t begin,
                   int64_t end) {
#pragma GCC ivdep
  for (int64_t i = begin; i < end; ++i) {
    out[i] = gradients[i] * (features[i] > T(0) ? T(1) : alpha);
  }
}

template <typename T>
void RunLeakyElements(const void* gradients, const void* features, float alpha, void* out,
                      int64_t begin, int64_t end) {
  RunLoopOn<T, &LeakyElements<T>>(static_cast<const T*>(gradients), static_cast<const T*>(features),
                                  static_cast<T>(alpha), static_cast<T*>(out), begin, end);
}

constexpr LeakyFunctions kLoops[] = {{MS_FLOAT32, &RunLeakyElements<float>},
                                     {MS_FLOAT64, &RunLeakyElements<double>}};
constexpr TypeTable<LeakyFunctions> kTable = {kLoops, std::size(kLoops)};

class LeakyReluKernel {
 public:
  ms::Status Init(const ms::KernelInfo& info) {
    const MS_DType dtype = info.input_dtype(0);
    const LeakyFunctions* functions = kTable.Find(dtype);
    if (functions == nullptr) return NoLoopFor(dtype);
    loop_ = functions->loop;
    format_ = NarrowFormatOf(dtype);
    features_ = info.num_inputs() - 1;
    return info.Attr("alpha", &alpha_);
  }

  ms::Status Compute(ms::Frame& frame) const {
    const ms::View gradients = frame.input(0);
    const ms::View features = frame.input(features_);
    const ms::Shape shape = gradients.shape();
    if (shape != features.shape()) {
      return ms::InvalidArgument(
          "LeakyReluGrad: inputs gradients and features must have the same shape, got ",
          shape.ToString(), " and ", features.shape().ToString());
    }
    ms::View out;
    MS_TRY(frame.ForwardOrOutput(0, 0, shape, &out));
    const void* const g = gradients.raw();
    const void* const x = features.raw();
    void* const y = out.raw();
    return ParallelElements(frame, out.size(), kPicoseconds, [&](int64_t begin, int64_t end) {
      if (format_ == nullptr) {
        loop_(g, x, alpha_, y, begin, end);
      } else {
        RunNarrow(g, x, y, begin, end);
      }
    });
  }

 private:
  void RunNarrow(const void* g, const void* x, void* y, int64_t begin, int64_t end) const {
    float g_tile[kTileElements];
    float x_tile[kTileElements];
    for (int64_t at = begin; at < end; at += kTileElements) {
      const int64_t n = std::min(kTileElements, end - at);
      format_->widen(g, at, n, g_tile);
      format_->widen(x, at, n, x_tile);
      loop_(g_tile, x_tile, alpha_, g_tile, 0, n);
      format_->narrow(g_tile, n, y, at);
    }
  }

  LeakyLoop loop_ = nullptr;
  const NarrowFormat* format_ = nullptr;
  uint32_t features_ = 0;
  float alpha_ = 0;
};

ms::KernelOptions Options() { return ms::KernelOptions().Types("T", TypesIn(kFloatTypes)); }

const ms::Registered leaky_relu =
    ms::Register<LeakyReluKernel>("LeakyRelu", Options().InPlace(0, 0));
const ms::Registered leaky_relu_grad =
    ms::Register<LeakyReluKernel>("LeakyReluGrad", Options().InPlace(0, 0).InPlace(0, 1));

}  // namespace
}  // namespace millstream::kernels
