// The conversion of one number to another type, as Cast does it.
#ifndef MILLSTREAM_KERNELS_ELEMENTWISE_CONVERT_H_
#define MILLSTREAM_KERNELS_ELEMENTWISE_CONVERT_H_

#include <cstdint>
#include <limits>
#include <type_traits>

namespace millstream::kernels {

// x cut towards zero, or the smallest Integer where that does not fit.
template <typename Integer, typename Real>
Integer Truncate(Real x) {
  constexpr Real kEnd = -static_cast<Real>(std::numeric_limits<Integer>::min());
  const bool fits = x >= -kEnd && x < kEnd;
  return fits ? static_cast<Integer>(x) : std::numeric_limits<Integer>::min();
}

template <typename From, typename To>
To Convert(From x) {
  if constexpr (std::is_same_v<To, bool>) {
    return x != From(0);
  } else if constexpr (std::is_floating_point_v<From> && std::is_integral_v<To>) {
    if constexpr (std::is_same_v<To, uint64_t>) {
      // The upper half of uint64 is out of the reach of int64.
      constexpr From kHalf = 9223372036854775808.0;
      if (x >= kHalf && x < 2 * kHalf) return static_cast<uint64_t>(x);
    }
    using Middle =
        std::conditional_t<(sizeof(To) < 4 || std::is_same_v<To, int32_t>), int32_t, int64_t>;
    return static_cast<To>(Truncate<Middle>(x));
  } else {
    return static_cast<To>(x);
  }
}

}  // namespace millstream::kernels

#endif  // MILLSTREAM_KERNELS_ELEMENTWISE_CONVERT_H_
