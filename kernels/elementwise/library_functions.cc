// Sin, Cos, Tan, Asin, Acos, Atan, Sinh, Cosh, Asinh, Acosh, Atanh, Log1p, Expm1 on real and
// complex numbers, Erfc on real ones: functions that the C library computes.
#include <cmath>
#include <complex>

#include "kernels/common/complex_math.h"
#include "kernels/elementwise/unary.h"

namespace millstream::kernels {
namespace {

// log(1 + x).
template <typename Real>
Real LogOfOnePlus(Real x) {
  return std::log1p(x);
}

// Near 0, where 1 + x loses the digits of x, the real part is log(|1 + x|^2) / 2.
template <typename Real>
std::complex<Real> LogOfOnePlus(std::complex<Real> x) {
  const Real a = x.real();
  const Real b = x.imag();
  const bool is_near = std::fabs(a) < Real(0.5) && std::fabs(b) < Real(0.5);
  // The sign of an imaginary part of zero, which an addition of complex numbers would lose, says on
  // which side of the branch cut x is.
  if (!is_near) return std::log(std::complex<Real>(1 + a, b));
  return {Real(0.5) * std::log1p(a * (2 + a) + b * b), std::atan2(b, 1 + a)};
}

// e^x - 1.
template <typename Real>
Real ExpLessOne(Real x) {
  return std::expm1(x);
}

// With x = a + bi the real part is (e^a - 1) cos b - (1 - cos b), without cancellation near 0.
template <typename Real>
std::complex<Real> ExpLessOne(std::complex<Real> x) {
  const Real a = x.real();
  const Real b = x.imag();
  // Further out the 1 is below the last digit of e^x, or the other way round. The library has the
  // rules for infinities, NaN and a product of 0 and an overflowing e^a.
  constexpr Real kFar = 40;
  if (!(std::fabs(a) < kFar && std::isfinite(b))) return std::exp(x) - Real(1);
  const Real sine_of_half = std::sin(b / 2);
  return {std::expm1(a) * std::cos(b) - 2 * sine_of_half * sine_of_half, std::exp(a) * std::sin(b)};
}

template <int64_t picoseconds>
struct InLibrary {
  static constexpr int64_t kPicoseconds = picoseconds;
  static constexpr bool kInLibrary = true;
};

struct SinOp : InLibrary<8000> {
  template <typename T>
  static T Apply(T x) {
    return std::sin(x);
  }
};

struct CosOp : InLibrary<8000> {
  template <typename T>
  static T Apply(T x) {
    return std::cos(x);
  }
};

struct TanOp : InLibrary<12000> {
  template <typename T>
  static T Apply(T x) {
    return std::tan(x);
  }
};

struct AsinOp : InLibrary<10000> {
  template <typename T>
  static T Apply(T x) {
    return std::asin(x);
  }
};

struct AcosOp : InLibrary<10000> {
  template <typename T>
  static T Apply(T x) {
    return std::acos(x);
  }
};

struct AtanOp : InLibrary<10000> {
  template <typename T>
  static T Apply(T x) {
    return std::atan(x);
  }
};

struct SinhOp : InLibrary<12000> {
  template <typename T>
  static T Apply(T x) {
    return std::sinh(x);
  }
};

struct CoshOp : InLibrary<12000> {
  template <typename T>
  static T Apply(T x) {
    return std::cosh(x);
  }
};

struct AsinhOp : InLibrary<15000> {
  template <typename T>
  static T Apply(T x) {
    return std::asinh(x);
  }
};

struct AcoshOp : InLibrary<12000> {
  template <typename T>
  static T Apply(T x) {
    return std::acosh(x);
  }
};

struct AtanhOp : InLibrary<12000> {
  template <typename T>
  static T Apply(T x) {
    return std::atanh(x);
  }
};

struct Log1pOp : InLibrary<10000> {
  template <typename T>
  static T Apply(T x) {
    return LogOfOnePlus(x);
  }
};

struct Expm1Op : InLibrary<10000> {
  template <typename T>
  static T Apply(T x) {
    return ExpLessOne(x);
  }
};

struct ErfcOp : InLibrary<15000> {
  template <typename T>
  static T Apply(T x) {
    return std::erfc(x);
  }
};

template <typename Op>
ms::Registered RegisterNumbers(const char* op) {
  return RegisterUnary<Op, float, double, std::complex<float>, std::complex<double>>(
      op, kFloatTypes | kComplexTypes);
}

const ms::Registered sin_kernels = RegisterNumbers<SinOp>("Sin");
const ms::Registered cos_kernels = RegisterNumbers<CosOp>("Cos");
const ms::Registered tan_kernels = RegisterNumbers<TanOp>("Tan");
const ms::Registered asin_kernels = RegisterNumbers<AsinOp>("Asin");
const ms::Registered acos_kernels = RegisterNumbers<AcosOp>("Acos");
const ms::Registered atan_kernels = RegisterNumbers<AtanOp>("Atan");
const ms::Registered sinh_kernels = RegisterNumbers<SinhOp>("Sinh");
const ms::Registered cosh_kernels = RegisterNumbers<CoshOp>("Cosh");
const ms::Registered asinh_kernels = RegisterNumbers<AsinhOp>("Asinh");
const ms::Registered acosh_kernels = RegisterNumbers<AcoshOp>("Acosh");
const ms::Registered atanh_kernels = RegisterNumbers<AtanhOp>("Atanh");
const ms::Registered log1p_kernels = RegisterNumbers<Log1pOp>("Log1p");
const ms::Registered expm1_kernels = RegisterNumbers<Expm1Op>("Expm1");
const ms::Registered erfc_kernels = RegisterUnary<ErfcOp, float, double>("Erfc", kFloatTypes);

}  // namespace
}  // namespace millstream::kernels
