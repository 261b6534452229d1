// ApproximateEqual: whether |x - y| is at most the attribute tolerance. Both have one shape.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <iterator>
#include <limits>
#include <type_traits>

#include "framework/plugin/plugin.hpp"
#include "kernels/common/parallel.h"
#include "kernels/common/type_table.h"

namespace millstream::kernels {
namespace {

constexpr int64_t kPicoseconds = 500;

using ToleranceLoop = void (*)(const void* x, const void* y, float tolerance, bool* out,
                               int64_t begin, int64_t end);

struct ToleranceFunctions {
  MS_DType dtype;
  ToleranceLoop loop;
};

// The difference of integers may be twice as large as the largest of their type.
template <typename T>
bool IsNear(T x, T y, float tolerance) {
  if constexpr (std::is_integral_v<T>) {
    using Unsigned = std::make_unsigned_t<T>;
    const auto larger = static_cast<Unsigned>(std::max(x, y));
    const auto smaller = static_cast<Unsigned>(std::min(x, y));
    return static_cast<double>(static_cast<Unsigned>(larger - smaller)) <= tolerance;
  } else {
    return std::fabs(x - y) <= static_cast<T>(tolerance);
  }
}

template <typename T>
void CompareElements(const void* x_base, const void* y_base, float tolerance, bool* out,
                     int64_t begin, int64_t end) {
  const T* x = static_cast<const T*>(x_base);
  const T* y = static_cast<const T*>(y_base);
  for (int64_t i = begin; i < end; ++i) out[i] = IsNear(x[i], y[i], tolerance);
}

template <typename... Ts>
constexpr ToleranceFunctions kLoops[] = {{ms::DTypeOf<Ts>(), &CompareElements<Ts>}...};
template <typename... Ts>
constexpr TypeTable<ToleranceFunctions> kTable = {kLoops<Ts...>, sizeof...(Ts)};
constexpr const TypeTable<ToleranceFunctions>& kOrdered =
    kTable<float, double, int8_t, int16_t, int32_t, int64_t, uint8_t, uint16_t, uint32_t, uint64_t>;

class ApproximateEqualKernel {
 public:
  ms::Status Init(const ms::KernelInfo& info) {
    const MS_DType dtype = info.input_dtype(0);
    const ToleranceFunctions* functions = kOrdered.Find(dtype);
    if (functions == nullptr) return NoLoopFor(dtype);
    loop_ = functions->loop;
    format_ = NarrowFormatOf(dtype);
    return info.Attr("tolerance", &tolerance_);
  }

  ms::Status Compute(ms::Frame& frame) const {
    const ms::View x = frame.input(0);
    const ms::View y = frame.input(1);
    const ms::Shape shape = x.shape();
    if (shape != y.shape()) {
      return ms::InvalidArgument("ApproximateEqual: inputs x and y must have the same shape, got ",
                                 shape.ToString(), " and ", y.shape().ToString());
    }
    ms::View out;
    MS_TRY(frame.Output(0, shape, &out));
    const void* const x_data = x.raw();
    const void* const y_data = y.raw();
    bool* const is_near = out.data<bool>();
    return ParallelElements(frame, out.size(), kPicoseconds, [&](int64_t begin, int64_t end) {
      if (format_ == nullptr) {
        loop_(x_data, y_data, tolerance_, is_near, begin, end);
      } else {
        RunNarrow(x_data, y_data, is_near, begin, end);
      }
    });
  }

 private:
  void RunNarrow(const void* x, const void* y, bool* out, int64_t begin, int64_t end) const {
    float x_tile[kTileElements];
    float y_tile[kTileElements];
    for (int64_t at = begin; at < end; at += kTileElements) {
      const int64_t n = std::min(kTileElements, end - at);
      format_->widen(x, at, n, x_tile);
      format_->widen(y, at, n, y_tile);
      loop_(x_tile, y_tile, tolerance_, out + at, 0, n);
    }
  }

  ToleranceLoop loop_ = nullptr;
  const NarrowFormat* format_ = nullptr;
  float tolerance_ = 0;
};

const ms::Registered approximate_equal = ms::Register<ApproximateEqualKernel>(
    "ApproximateEqual", ms::KernelOptions().Types("T", TypesIn(kOrderedTypes)));

}  // namespace
}  // namespace millstream::kernels
