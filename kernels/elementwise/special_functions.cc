// Lgamma, Digamma, Polygamma, Zeta: the gamma function's logarithm, the derivatives of that, and
// the Hurwitz zeta function. Those of float32 are computed in float64.
#include <cmath>
#include <limits>

#include "kernels/elementwise/binary.h"
#include "kernels/elementwise/unary.h"

namespace millstream::kernels {
namespace {

constexpr double kPi = 3.1415926535897932384626433832795;
constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();
constexpr double kEpsilon = std::numeric_limits<double>::epsilon();

// The library's std::lgamma would write the sign of the gamma function to a variable that threads
// share.
float LogOfGamma(float x) {
  int sign;
  return lgammaf_r(x, &sign);
}
double LogOfGamma(double x) {
  int sign;
  return lgamma_r(x, &sign);
}

// By the asymptotic series (Abramowitz and Stegun, 6.3.18), which from 10 on is exact to the last
// digit, the recurrence 6.3.5 and, below zero, the reflection 6.3.7. Infinite at the poles.
double Digamma(double x) {
  if (x <= 0) {
    if (x == std::floor(x)) return kInfinity;
    return Digamma(1 - x) - kPi / std::tan(kPi * (x - std::floor(x + 0.5)));
  }
  double below = 0;
  for (; x < 10; ++x) below += 1 / x;
  const double s = 1 / (x * x);
  double series = 691.0 / 32760 - s / 12;
  series = 1.0 / 132 - s * series;
  series = 1.0 / 240 - s * series;
  series = 1.0 / 252 - s * series;
  series = 1.0 / 120 - s * series;
  series = 1.0 / 12 - s * series;
  return std::log(x) - 0.5 / x - s * series - below;
}

// The sum of (q + k)^-x over k = 0, 1, ..., for x > 1 and q > 0.
double ZetaOfPositive(double x, double q) {
  // Terms one by one, until they no longer count or the rest can be summed at once.
  double sum = 0;
  double a = q;
  for (int k = 1; a < x + 10; a = q + k++) {
    const double term = std::pow(a, -x);
    sum += term;
    if (!(term > sum * kEpsilon)) return sum;
  }
  // The Euler-Maclaurin formula: B(2j) / (2j)! for j = 1, 2, ... beside the derivatives of a^-x.
  // From a = x + 10 on each term is at most a tenth of the one before.
  static constexpr double kCoefficients[] = {
      1.0 / 12,
      -1.0 / 720,
      1.0 / 30240,
      -1.0 / 1209600,
      1.0 / 47900160,
      -691.0 / 1307674368000,
      1.0 / 74724249600,
      -3617.0 / 10670622842880000,
      43867.0 / 5109094217170944000,
      -174611.0 / 802857662698291200000.0,
      77683.0 / 14101100039391805440000.0,
      -236364091.0 / 1693824136731743669452800000.0,
  };
  const double term = std::pow(a, -x);
  sum += std::pow(a, 1 - x) / (x - 1) + 0.5 * term;
  if (term == 0) return sum;
  double derivative = x * term / a;
  double order = x;
  for (const double coefficient : kCoefficients) {
    const double part = coefficient * derivative;
    sum += part;
    if (!(std::fabs(part) > sum * kEpsilon)) break;
    derivative *= (order + 1) * (order + 2) / (a * a);
    order += 2;
  }
  return sum;
}

// The sum of (q + k)^-x over k = 0, 1, ... Where q is negative and no integer, x has to be an
// integer; the terms before zero are then a difference of two such sums, with the sign of (-1)^x.
double Zeta(double x, double q) {
  if (std::isnan(q)) return q;
  if (!(x > 1)) return x == 1 ? kInfinity : kNaN;
  if (q > 0) return ZetaOfPositive(x, q);
  if (q == std::floor(q)) return kInfinity;
  if (x != std::floor(x)) return kNaN;
  // How far the last term before zero is from it. The difference is exact.
  const double last = -q - std::floor(-q);
  const double before_zero = ZetaOfPositive(x, last) - ZetaOfPositive(x, 1 - q);
  const double sign = std::fmod(x, 2) == 0 ? 1 : -1;
  return sign * before_zero + ZetaOfPositive(x, 1 - last);
}

// Abramowitz and Stegun, 6.4.10. NaN for orders that are no integers from 0 on; the factorial of
// one above 170 is infinite.
double Polygamma(double order, double x) {
  if (!(order >= 0) || order != std::floor(order)) return kNaN;
  if (order == 0) return Digamma(x);
  const double sign = std::fmod(order, 2) == 0 ? -1 : 1;
  return sign * std::tgamma(order + 1) * Zeta(order + 1, x);
}

struct LgammaOp {
  static constexpr int64_t kPicoseconds = 25000;
  static constexpr bool kInLibrary = true;
  template <typename T>
  static T Apply(T x) {
    return LogOfGamma(x);
  }
};

struct DigammaOp {
  static constexpr int64_t kPicoseconds = 40000;
  static constexpr bool kInLibrary = true;
  template <typename T>
  static T Apply(T x) {
    return static_cast<T>(Digamma(x));
  }
};

struct PolygammaOp {
  static constexpr int64_t kPicoseconds = 400000;
  static constexpr bool kInLibrary = true;
  template <typename T>
  static T Apply(T order, T x) {
    return static_cast<T>(Polygamma(order, x));
  }
};

struct ZetaOp {
  static constexpr int64_t kPicoseconds = 400000;
  static constexpr bool kInLibrary = true;
  template <typename T>
  static T Apply(T x, T q) {
    return static_cast<T>(Zeta(x, q));
  }
};

const ms::Registered lgamma_kernels = RegisterUnary<LgammaOp, float, double>("Lgamma", kFloatTypes);
const ms::Registered digamma = RegisterUnary<DigammaOp, float, double>("Digamma", kFloatTypes);
const ms::Registered polygamma =
    RegisterBinary<PolygammaOp, float, double>("Polygamma", kFloatTypes);
const ms::Registered zeta = RegisterBinary<ZetaOp, float, double>("Zeta", kFloatTypes);

}  // namespace
}  // namespace millstream::kernels
