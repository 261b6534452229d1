// Arithmetic that wraps around for integers, where plain signed arithmetic would be undefined, and
// that rounds to T the sums that 16-bit floating-point types make as float.
#ifndef MILLSTREAM_KERNELS_ARRAY_WRAPPING_H_
#define MILLSTREAM_KERNELS_ARRAY_WRAPPING_H_

#include <type_traits>

namespace millstream::kernels {

template <typename T>
T WrappingAdd(T a, T b) {
  if constexpr (std::is_integral_v<T>) {
    using Unsigned = std::make_unsigned_t<T>;
    return static_cast<T>(static_cast<Unsigned>(a) + static_cast<Unsigned>(b));
  } else {
    return T(a + b);
  }
}

template <typename T>
T WrappingSubtract(T a, T b) {
  if constexpr (std::is_integral_v<T>) {
    using Unsigned = std::make_unsigned_t<T>;
    return static_cast<T>(static_cast<Unsigned>(a) - static_cast<Unsigned>(b));
  } else {
    return T(a - b);
  }
}

// Not for 16-bit types, whose product would be computed as a signed int.
template <typename T>
T WrappingMultiply(T a, T b) {
  if constexpr (std::is_integral_v<T>) {
    static_assert(sizeof(T) >= sizeof(int));
    using Unsigned = std::make_unsigned_t<T>;
    return static_cast<T>(static_cast<Unsigned>(a) * static_cast<Unsigned>(b));
  } else {
    return T(a * b);
  }
}

}  // namespace millstream::kernels

#endif  // MILLSTREAM_KERNELS_ARRAY_WRAPPING_H_
