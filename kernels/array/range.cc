// Range.
#include <cmath>
#include <cstdint>
#include <string_view>
#include <type_traits>

#include "framework/plugin/plugin.hpp"
#include "kernels/common/narrow_float.h"
#include "kernels/common/wrapping.h"

namespace millstream::kernels {
namespace {

// How many steps of `delta` begin before `limit`. REQUIRES: delta leads from start towards limit.
template <typename T>
ms::Status CountSteps(T start, T limit, T delta, int64_t* count) {
  if constexpr (std::is_integral_v<T>) {
    // Distances between two int64 fit into uint64 only.
    const uint64_t from = static_cast<uint64_t>(start);
    const uint64_t to = static_cast<uint64_t>(limit);
    const uint64_t distance = delta > 0 ? to - from : from - to;
    const uint64_t step =
        delta > 0 ? static_cast<uint64_t>(delta) : uint64_t{0} - static_cast<uint64_t>(delta);
    const uint64_t steps = distance / step + (distance % step != 0 ? 1 : 0);
    if (steps <= INT64_MAX) {
      *count = static_cast<int64_t>(steps);
      return ms::Status();
    }
  } else {
    // The division is done in T: this decides how many steps there are when the last one ends on
    // the limit but for rounding.
    const T steps = std::ceil(std::abs((limit - start) / delta));
    if (steps < static_cast<T>(INT64_MAX)) {
      *count = static_cast<int64_t>(steps);
      return ms::Status();
    }
  }
  return ms::InvalidArgument("start = ", start, ", limit = ", limit, " and delta = ", delta,
                             " make no range of a size that 64 bits hold");
}

// Inputs: start, limit, delta, all scalars.
template <typename T>
class Range {
  // 16-bit numbers are made as float and rounded once.
  using Number = ComputeTypeOf<T>;

 public:
  ms::Status Compute(ms::Frame& frame) const {
    Number start{};
    Number limit{};
    Number delta{};
    MS_TRY(ReadScalar(frame.input(0), "start", &start));
    MS_TRY(ReadScalar(frame.input(1), "limit", &limit));
    MS_TRY(ReadScalar(frame.input(2), "delta", &delta));
    if (delta == Number{0}) return ms::InvalidArgument("delta must not be zero");
    if (delta > Number{0} ? start > limit : start < limit) {
      return ms::InvalidArgument("delta = ", delta, " leads away from limit = ", limit,
                                 ": start is ", start);
    }
    int64_t count = 0;
    MS_TRY(CountSteps(start, limit, delta, &count));
    ms::View output;
    MS_TRY(frame.Output(0, ms::Shape{count}, &output));
    T* values = output.data<T>();
    for (int64_t i = 0; i < count; ++i) {
      values[i] = T(WrappingSum(start, WrappingProduct(static_cast<Number>(i), delta)));
    }
    return ms::Status();
  }

 private:
  static ms::Status ReadScalar(const ms::View& view, std::string_view name, Number* value) {
    if (view.rank() != 0) {
      return ms::InvalidArgument(name, " must be a scalar, but has shape ",
                                 view.shape().ToString());
    }
    *value = *view.data<T>();
    return ms::Status();
  }
};

const ms::Registered range = ms::RegisterForTypes<Range, float, double, BFloat16, int32_t, int64_t>(
    "Range", "Tidx", ms::KernelOptions().HostArg("start").HostArg("limit").HostArg("delta"));

}  // namespace
}  // namespace millstream::kernels
