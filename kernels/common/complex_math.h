// Complex numbers beside real ones: the functions of vector_math.h for them, by the C library, and
// what lets one template serve both.
#ifndef MILLSTREAM_KERNELS_COMMON_COMPLEX_MATH_H_
#define MILLSTREAM_KERNELS_COMMON_COMPLEX_MATH_H_

#include <complex>
#include <type_traits>

namespace millstream::kernels {

template <typename T>
struct IsComplexType : std::false_type {};
template <typename Real>
struct IsComplexType<std::complex<Real>> : std::true_type {};
template <typename T>
inline constexpr bool kIsComplex = IsComplexType<T>::value;

// A real number is its own conjugate.
template <typename T>
inline T Conjugate(T x) {
  return x;
}
template <typename Real>
inline std::complex<Real> Conjugate(std::complex<Real> x) {
  return {x.real(), -x.imag()};
}

template <typename Real>
inline std::complex<Real> Exp(std::complex<Real> x) {
  return std::exp(x);
}
template <typename Real>
inline std::complex<Real> Log(std::complex<Real> x) {
  return std::log(x);
}
template <typename Real>
inline std::complex<Real> Tanh(std::complex<Real> x) {
  return std::tanh(x);
}

// By the exponential of that of x and -x whose real part is negative, which cannot overflow.
template <typename Real>
inline std::complex<Real> Sigmoid(std::complex<Real> x) {
  const std::complex<Real> one(1);
  const std::complex<Real> e = std::exp(x.real() < 0 ? x : -x);
  return (x.real() < 0 ? e : one) / (one + e);
}

}  // namespace millstream::kernels

#endif  // MILLSTREAM_KERNELS_COMMON_COMPLEX_MATH_H_
