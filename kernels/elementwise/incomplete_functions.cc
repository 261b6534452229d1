// Igamma, Igammac, IgammaGradA and Betainc: the regularized incomplete gamma and beta functions.
// RandomGammaGrad: how a number of the gamma distribution changes with its parameter.
// BesselI0e, BesselI1e: modified Bessel functions, scaled by exp(-|x|). All are computed in
// float64.
#include <algorithm>
#include <cmath>
#include <limits>

#include "kernels/common/parallel.h"
#include "kernels/elementwise/binary.h"
#include "kernels/elementwise/unary.h"

namespace millstream::kernels {
namespace {

constexpr double kPi = 3.1415926535897932384626433832795;
constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();
constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kEpsilon = std::numeric_limits<double>::epsilon();
// Sums and fractions end after so many terms.
constexpr int kMostTerms = 100000;

double LogGamma(double x) {
  int sign;
  return lgamma_r(x, &sign);
}

// ---- The incomplete gamma function and its derivative by a ----

// A number and its derivative by a.
struct Dual {
  double value;
  double slope;
};
Dual operator+(Dual x, Dual y) { return {x.value + y.value, x.slope + y.slope}; }
Dual operator*(Dual x, Dual y) {
  return {x.value * y.value, x.slope * y.value + x.value * y.slope};
}
Dual operator/(Dual x, Dual y) {
  const double ratio = x.value / y.value;
  return {ratio, (x.slope - ratio * y.slope) / y.value};
}

// The derivative of the logarithm of the gamma function, at x > 0: the recurrence and the
// asymptotic series (Abramowitz and Stegun, 6.3.5 and 6.3.18).
double LogGammaSlope(double x) {
  double below = 0;
  for (; x < 10; ++x) below += 1 / x;
  const double s = 1 / (x * x);
  double series = 1.0 / 132 - s * 691.0 / 32760;
  series = 1.0 / 240 - s * series;
  series = 1.0 / 252 - s * series;
  series = 1.0 / 120 - s * series;
  series = 1.0 / 12 - s * series;
  return std::log(x) - 0.5 / x - s * series - below;
}

// x^a e^-x / gamma(a).
Dual Weight(double a, double x) {
  const double value = std::exp(a * std::log(x) - x - LogGamma(a));
  return {value, value * (std::log(x) - LogGammaSlope(a))};
}

// The lower function, but for its weight, by its series (Abramowitz and Stegun, 6.5.29), for x
// below a + 1.
Dual LowerSum(double a, double x) {
  Dual term = Dual{1, 0} / Dual{a, 1};
  Dual sum = term;
  for (int n = 1; n < kMostTerms; ++n) {
    term = term * (Dual{x, 0} / Dual{a + n, 1});
    sum = sum + term;
    if (!(std::fabs(term.value) > sum.value * kEpsilon) &&
        !(std::fabs(term.slope) > std::fabs(sum.slope) * kEpsilon)) {
      break;
    }
  }
  return sum;
}
Dual LowerGamma(double a, double x) { return Weight(a, x) * LowerSum(a, x); }

// The upper function, but for its weight, by its continued fraction (6.5.31) in its contracted
// form, evaluated from the front (Lentz, 1976), for x from a + 1 on.
Dual UpperFraction(double a, double x) {
  constexpr double kTiny = 1e-300;
  Dual b = {x + 1 - a, -1};
  Dual c = {1 / kTiny, 0};
  Dual d = Dual{1, 0} / b;
  Dual fraction = d;
  for (int n = 1; n < kMostTerms; ++n) {
    const Dual numerator = {n * (a - n), static_cast<double>(n)};
    b.value += 2;
    d = numerator * d + b;
    if (std::fabs(d.value) < kTiny) d.value = kTiny;
    c = b + numerator / c;
    if (std::fabs(c.value) < kTiny) c.value = kTiny;
    d = Dual{1, 0} / d;
    const Dual change = d * c;
    fraction = fraction * change;
    if (std::fabs(change.value - 1) <= kEpsilon && std::fabs(change.slope) <= kEpsilon) break;
  }
  return fraction;
}
Dual UpperGamma(double a, double x) { return Weight(a, x) * UpperFraction(a, x); }

// ---- Large parameters ----

// From here on the normal distribution and its first corrections are exact to the last digits,
// while the sums take ever more terms, and the exponent of the weight loses its digits.
constexpr double kLargeA = 1e6;

bool IsLarge(double a, double x) { return a >= kLargeA && std::fabs(x - a) <= 0.1 * a; }

// Temme's uniform expansion (NIST Handbook, 8.12) at a parameter and a place near it.
class LargeGamma {
 public:
  LargeGamma(double a, double x) : a_(a), x_(x), root_(std::sqrt(a)) {
    // eta^2 / 2 = m - log(1 + m), for m = x / a - 1, is m^2 times the sum of (-m)^k / (k + 2).
    const double m = (x - a) / a;
    double sum = 0;
    for (int k = 20; k >= 2; --k) sum = 1.0 / k - m * sum;
    const double eta_by_m = std::sqrt(2 * sum);
    eta_ = m * eta_by_m;
    const double log_by_eta = (m == 0 ? 1 : std::log1p(m) / m) / eta_by_m;
    t_slope_ = -log_by_eta / root_;
  }

  double Lower() const { return std::erfc(-t() * std::sqrt(0.5)) / 2 - Density() * Rest(); }
  double Upper() const { return std::erfc(t() * std::sqrt(0.5)) / 2 + Density() * Rest(); }
  double LowerSlope() const { return Density() * SlopeByDensity(); }
  // Of a number x whose lower function stays the same.
  double NumberSlope() const { return -SlopeByDensity() * x_ / root_ * (1 + 1 / (12 * a_)); }

 private:
  // The normal distribution's variable, and its density.
  double t() const { return eta_ * root_; }
  double Density() const { return std::exp(-t() * t() / 2) / std::sqrt(2 * kPi); }

  // The coefficient of order 0 in powers of eta (8.12.11), and that of order 1 where eta is 0.
  double Coefficient() const {
    return -1.0 / 3 + eta_ * (1.0 / 12 + eta_ * (-2.0 / 135 + eta_ * (1.0 / 864 + eta_ / 2835)));
  }
  double CoefficientSlope() const {
    return 1.0 / 12 + eta_ * (-4.0 / 135 + eta_ * (3.0 / 864 + eta_ * 4 / 2835));
  }
  // What the upper function has more than the normal distribution, but for the density.
  double Rest() const { return (Coefficient() - 1 / (540 * a_)) / root_; }

  // The derivative of the lower function by a, but for the density.
  double SlopeByDensity() const {
    const double eta_slope = t_slope_ / root_ - eta_ / (2 * a_);
    return t_slope_ * (1 + t() * Coefficient() / root_) - CoefficientSlope() * eta_slope / root_ +
           Coefficient() / (2 * a_ * root_);
  }

  double a_;
  double x_;
  double root_;
  double eta_;
  double t_slope_;  // of t by a
};

// Where the parameter is large and the place is not near it, the functions are at their ends.
double LargeLower(double a, double x) {
  return IsLarge(a, x) ? LargeGamma(a, x).Lower() : x > a ? 1 : 0;
}
double LargeUpper(double a, double x) {
  return IsLarge(a, x) ? LargeGamma(a, x).Upper() : x > a ? 0 : 1;
}

bool IsOutside(double a, double x) { return !(a > 0) || !(x >= 0); }

double Igamma(double a, double x) {
  if (x == 0 && !std::isnan(a)) return 0;
  if (IsOutside(a, x)) return kNaN;
  if (x == kInfinity) return a == kInfinity ? kNaN : 1;
  if (a == kInfinity) return 0;
  if (a >= kLargeA) return LargeLower(a, x);
  return x < a + 1 ? LowerGamma(a, x).value : 1 - UpperGamma(a, x).value;
}

double Igammac(double a, double x) {
  if (IsOutside(a, x)) return kNaN;
  if (x == kInfinity) return a == kInfinity ? kNaN : 0;
  if (x == 0 || a == kInfinity) return 1;
  if (a >= kLargeA) return LargeUpper(a, x);
  return x < a + 1 ? 1 - LowerGamma(a, x).value : UpperGamma(a, x).value;
}

double IgammaGradA(double a, double x) {
  if (x == 0 && !std::isnan(a)) return 0;
  if (IsOutside(a, x)) return kNaN;
  if (x == kInfinity || a == kInfinity) return x == a ? kNaN : 0;
  if (a >= kLargeA) return IsLarge(a, x) ? LargeGamma(a, x).LowerSlope() : 0;
  return x < a + 1 ? LowerGamma(a, x).slope : -UpperGamma(a, x).slope;
}

// A number x with P(a, x) = u changes with a by -(dP/da) / (dP/dx), where dP/dx = weight / x. The
// weight cancels, so that its underflow does not matter.
double GammaNumberSlope(double a, double x) {
  if (x == 0 && !std::isnan(a)) return 0;
  if (IsOutside(a, x) || std::isinf(a) || std::isinf(x)) return kNaN;
  if (IsLarge(a, x)) return LargeGamma(a, x).NumberSlope();
  const Dual weight = {1, std::log(x) - LogGammaSlope(a)};
  return x < a + 1 ? -x * (weight * LowerSum(a, x)).slope
                   : x * (weight * UpperFraction(a, x)).slope;
}

// ---- The incomplete beta function ----

// The continued fraction (Abramowitz and Stegun, 26.5.8), evaluated from the front.
double BetaFraction(double a, double b, double x) {
  constexpr double kTiny = 1e-300;
  const auto away_from_zero = [](double y) { return std::fabs(y) < kTiny ? kTiny : y; };
  double c = 1;
  double d = 1 / away_from_zero(1 - (a + b) * x / (a + 1));
  double fraction = d;
  for (int m = 1; m < kMostTerms; ++m) {
    const double even = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m));
    d = 1 / away_from_zero(1 + even * d);
    c = away_from_zero(1 + even / c);
    fraction *= d * c;
    const double odd = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1));
    d = 1 / away_from_zero(1 + odd * d);
    c = away_from_zero(1 + odd / c);
    fraction *= d * c;
    if (!(std::fabs(d * c - 1) > kEpsilon)) break;
  }
  return fraction;
}

double Betainc(double a, double b, double x) {
  if (!(a > 0) || !(b > 0) || !(x >= 0) || !(x <= 1)) return kNaN;
  if (x == 0 || x == 1) return x;
  if (std::isinf(a) || std::isinf(b)) return kNaN;
  const double weight =
      std::exp(LogGamma(a + b) - LogGamma(a) - LogGamma(b) + a * std::log(x) + b * std::log1p(-x));
  // On the other side the fraction of the complement converges.
  if (x < (a + 1) / (a + b + 2)) return weight * BetaFraction(a, b, x) / a;
  return 1 - weight * BetaFraction(b, a, 1 - x) / b;
}

// ---- Modified Bessel functions of order 0 and 1 ----

// e^-x times the function, for x >= 0: by the series of Abramowitz and Stegun, 9.6.10, and further
// out by the asymptotic expansion 9.7.1, which from 30 on is exact to the last digit.
double ScaledBessel(int order, double x) {
  if (std::isnan(x)) return x;
  if (x < 30) {
    double term = order == 0 ? 1 : x / 2;
    double sum = term;
    for (int k = 1; term > sum * kEpsilon; ++k) {
      term *= x * x / (4.0 * k * (k + order));
      sum += term;
    }
    return sum * std::exp(-x);
  }
  double term = 1;
  double sum = 1;
  for (int k = 1; k < 60 && std::fabs(term) > kEpsilon; ++k) {
    const double odd = 2 * k - 1;
    term *= -(4.0 * order - odd * odd) / (8.0 * k * x);
    sum += term;
  }
  return sum / (std::sqrt(2 * kPi) * std::sqrt(x));
}

template <int64_t picoseconds>
struct InLibrary {
  static constexpr int64_t kPicoseconds = picoseconds;
  static constexpr bool kInLibrary = true;
};
struct IgammaOp : InLibrary<400000> {
  template <typename T>
  static T Apply(T a, T x) {
    return static_cast<T>(Igamma(a, x));
  }
};
struct IgammacOp : InLibrary<400000> {
  template <typename T>
  static T Apply(T a, T x) {
    return static_cast<T>(Igammac(a, x));
  }
};
struct IgammaGradAOp : InLibrary<800000> {
  template <typename T>
  static T Apply(T a, T x) {
    return static_cast<T>(IgammaGradA(a, x));
  }
};
struct RandomGammaGradOp : InLibrary<800000> {
  template <typename T>
  static T Apply(T alpha, T sample) {
    return static_cast<T>(GammaNumberSlope(alpha, sample));
  }
};
struct BesselI0eOp : InLibrary<100000> {
  template <typename T>
  static T Apply(T x) {
    return static_cast<T>(ScaledBessel(0, std::fabs(x)));
  }
};
struct BesselI1eOp : InLibrary<100000> {
  template <typename T>
  static T Apply(T x) {
    return static_cast<T>(std::copysign(ScaledBessel(1, std::fabs(x)), x));
  }
};

// Inputs: a, b, x, of one shape but for scalars, which go with every element.
template <typename T>
class BetaincKernel {
 public:
  ms::Status Compute(ms::Frame& frame) const {
    ms::Shape shape;
    for (uint32_t i = 0; i < kInputs; ++i) {
      const ms::Shape own = frame.input(i).shape();
      if (own.rank() == 0) continue;
      if (shape.rank() == 0) shape = own;
      if (own == shape) continue;
      return ms::InvalidArgument("a, b and x must be scalars or have one shape, but have ",
                                 frame.input(0).shape().ToString(), ", ",
                                 frame.input(1).shape().ToString(), " and ",
                                 frame.input(2).shape().ToString());
    }
    ms::View z;
    MS_TRY(frame.Output(0, shape, &z));
    const T* values[kInputs];
    int64_t steps[kInputs];
    for (uint32_t i = 0; i < kInputs; ++i) {
      values[i] = frame.input(i).data<T>();
      steps[i] = frame.input(i).rank() == 0 ? 0 : 1;
    }
    T* const out = z.data<T>();
    return ParallelElements(frame, z.size(), 500000, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        out[i] = static_cast<T>(
            Betainc(values[0][i * steps[0]], values[1][i * steps[1]], values[2][i * steps[2]]));
      }
    });
  }

 private:
  static constexpr uint32_t kInputs = 3;
};

const ms::Registered igamma = RegisterBinary<IgammaOp, float, double>("Igamma", kFloatTypes);
const ms::Registered igammac = RegisterBinary<IgammacOp, float, double>("Igammac", kFloatTypes);
const ms::Registered igamma_grad_a =
    RegisterBinary<IgammaGradAOp, float, double>("IgammaGradA", kFloatTypes);
const ms::Registered random_gamma_grad =
    RegisterBinary<RandomGammaGradOp, float, double>("RandomGammaGrad", kFloatTypes);
const ms::Registered betainc = ms::RegisterForTypes<BetaincKernel, float, double>("Betainc", "T");
const ms::Registered bessel_i0e =
    RegisterUnary<BesselI0eOp, float, double>("BesselI0e", kFloatTypes);
const ms::Registered bessel_i1e =
    RegisterUnary<BesselI1eOp, float, double>("BesselI1e", kFloatTypes);

}  // namespace
}  // namespace millstream::kernels
