// Sums, differences and products of elements of any numeric type: integers wrap around, where plain
// signed arithmetic would be undefined, 16-bit floating-point numbers are rounded, and complex
// numbers are multiplied by the plain formula.
#ifndef MILLSTREAM_KERNELS_COMMON_WRAPPING_H_
#define MILLSTREAM_KERNELS_COMMON_WRAPPING_H_

#include <complex>
#include <cstdint>
#include <type_traits>

namespace millstream::kernels {

// The type in which T is added and multiplied without undefined overflow: unsigned, and not
// narrower than int, for integers.
template <typename T, bool kInteger = std::is_integral_v<T>>
struct WrappingOf {
  using Type = T;
};
template <typename T>
struct WrappingOf<T, true> {
  using Type =
      std::conditional_t<(sizeof(T) < sizeof(uint32_t)), uint32_t, std::make_unsigned_t<T>>;
};
template <typename T>
using Wrapping = typename WrappingOf<T>::Type;

template <typename T>
T WrappingSum(T x, T y) {
  return static_cast<T>(static_cast<Wrapping<T>>(x) + static_cast<Wrapping<T>>(y));
}
template <typename T>
T WrappingDifference(T x, T y) {
  return static_cast<T>(static_cast<Wrapping<T>>(x) - static_cast<Wrapping<T>>(y));
}
template <typename T>
T WrappingProduct(T x, T y) {
  return static_cast<T>(static_cast<Wrapping<T>>(x) * static_cast<Wrapping<T>>(y));
}
// Without the repair of infinities that C's multiplication does, and the call that it takes.
template <typename Real>
std::complex<Real> WrappingProduct(std::complex<Real> x, std::complex<Real> y) {
  return {x.real() * y.real() - x.imag() * y.imag(), x.real() * y.imag() + x.imag() * y.real()};
}

}  // namespace millstream::kernels

#endif  // MILLSTREAM_KERNELS_COMMON_WRAPPING_H_
