#include "kernels/linalg/secular_equation.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "kernels/simd/vector.h"

namespace millstream::kernels {
namespace {

constexpr double kEpsilon = std::numeric_limits<double>::epsilon();

// Eight lanes in every instruction set, so that the bits are the same.
using Lanes = Vector<double, 64>;
constexpr int64_t kLaneCount = 8;

double SumOf(const Lanes& lanes) {
  return ((lanes[0] + lanes[1]) + (lanes[2] + lanes[3])) +
         ((lanes[4] + lanes[5]) + (lanes[6] + lanes[7]));
}

struct Terms {
  double value;
  double slope;
};

// The sum of z^2 / (d - mu), and its derivative.
void AddTerms(int64_t n, const double* z, const double* d, double mu, Terms* terms) {
  Lanes values = {};
  Lanes slopes = {};
  int64_t i = 0;
  for (; i + kLaneCount <= n; i += kLaneCount) {
    const Lanes numbers = Load<64>(z + i);
    const Lanes ratios = numbers / (Load<64>(d + i) - mu);
    values += numbers * ratios;
    slopes += ratios * ratios;
  }
  *terms = {SumOf(values), SumOf(slopes)};
  for (; i < n; ++i) {
    const double ratio = z[i] / (d[i] - mu);
    terms->value += z[i] * ratio;
    terms->slope += ratio * ratio;
  }
}

void SubtractNumber(int64_t n, const double* x, double number, double* y) {
  for (int64_t i = 0; i < n; ++i) y[i] = x[i] - number;
}

// x^2 - number^2, with a small relative error.
void SubtractSquare(int64_t n, const double* x, double number, double* y) {
  for (int64_t i = 0; i < n; ++i) y[i] = (x[i] - number) * (x[i] + number);
}

void MultiplyRatios(int64_t n, const double* distances, const double* d, double from,
                    double* products) {
  for (int64_t i = 0; i < n; ++i) products[i] *= distances[i] / (d[i] - from);
}

void MultiplyRatiosOfSquares(int64_t n, const double* distances, const double* d, double from,
                             double* products) {
  for (int64_t i = 0; i < n; ++i) products[i] *= distances[i] / ((d[i] - from) * (d[i] + from));
}

void DivideNumbers(int64_t n, const double* z, double* distances, double* sum) {
  Lanes sums = {};
  int64_t i = 0;
  for (; i + kLaneCount <= n; i += kLaneCount) {
    const Lanes ratios = Load<64>(z + i) / Load<64>(distances + i);
    Store(ratios, distances + i);
    sums += ratios * ratios;
  }
  *sum = SumOf(sums);
  for (; i < n; ++i) {
    distances[i] = z[i] / distances[i];
    *sum += distances[i] * distances[i];
  }
}

// A number between both, neither of which is beyond zero from the other, by its magnitude.
double Middle(double low, double high) {
  constexpr double kFar = 16;
  const double sign = low + high < 0 ? -1 : 1;
  const double less = std::min(std::fabs(low), std::fabs(high));
  const double more = std::max(std::fabs(low), std::fabs(high));
  if (less == 0) return sign * more / kFar;
  if (more / less > kFar) return sign * std::sqrt(less) * std::sqrt(more);
  return sign * (less + more) / 2;
}

// The search for one zero, as its distance mu from a pole, which is the nearer one.
class Search {
 public:
  Search(const SecularEquation& equation, int64_t j, double* distances)
      : all_(equation), j_(j), is_last_(j + 1 == equation.count), distances_(distances) {}

  double Run() {
    constexpr int kMostSteps = 200;
    constexpr int kRarely = 8;  // how often the bounds must come nearer
    Start();
    for (int step = 1; step < kMostSteps && !IsNear(); ++step) {
      (Total() < 0 ? low_ : high_) = mu_;
      if (high_ - low_ <= kEpsilon * std::max(std::fabs(low_), std::fabs(high_))) break;
      const double change = Change();
      const double next = mu_ + change;
      const bool is_good = next > low_ && next < high_ && step % kRarely != 0;
      mu_ = is_good ? next : Middle(low_, high_);
      if (!(mu_ > low_ && mu_ < high_)) break;  // no number is between them
      Evaluate();
    }
    RunLoop<&SubtractNumber>(all_.count, distances_, mu_, distances_);
    const double pole = all_.d[origin_];
    if (!all_.squared) return pole + mu_;
    return pole + mu_ / (pole + std::sqrt(std::max(pole * pole + mu_, 0.0)));
  }

 private:
  void MoveOrigin(int64_t to) {
    origin_ = to;
    if (all_.squared) {
      RunLoop<&SubtractSquare>(all_.count, all_.d, all_.d[to], distances_);
    } else {
      RunLoop<&SubtractNumber>(all_.count, all_.d, all_.d[to], distances_);
    }
  }

  // The terms of poles up to j, which are negative, and the others.
  void Evaluate() {
    RunLoop<&AddTerms>(j_ + 1, all_.z, distances_, mu_, &below_);
    RunLoop<&AddTerms>(all_.count - j_ - 1, all_.z + j_ + 1, distances_ + j_ + 1, mu_, &above_);
  }

  double Total() const { return (1 / all_.rho + below_.value) + above_.value; }

  bool IsNear() const {
    const double size = 1 / all_.rho + std::fabs(below_.value) + std::fabs(above_.value);
    const double slope = below_.slope + above_.slope;
    return !(std::fabs(Total()) > kEpsilon * (8 * size + std::fabs(mu_) * slope));
  }

  void Start() {
    MoveOrigin(j_);
    double gap = 0;
    if (is_last_) {
      for (int64_t i = 0; i < all_.count; ++i) gap += all_.z[i] * all_.z[i];
      gap *= all_.rho * (1 + 64 * kEpsilon);
    } else {
      gap = distances_[j_ + 1];
    }
    mu_ = gap / 2;
    low_ = 0;
    high_ = gap;
    Evaluate();
    if (is_last_) return;
    const double first = all_.z[j_] * all_.z[j_];
    const double second = all_.z[j_ + 1] * all_.z[j_ + 1];
    // What the other poles and the constant are about.
    const double rest = Total() + (first - second) / mu_;
    if (Total() >= 0) {
      high_ = mu_;
      mu_ = SmallRoot(rest, rest * gap + first + second, first * gap);
    } else {
      low_ = mu_ - gap;
      high_ = 0;
      MoveOrigin(j_ + 1);
      mu_ = SmallRoot(rest, first + second - rest * gap, -second * gap);
    }
    if (!(mu_ > low_ && mu_ < high_)) mu_ = Middle(low_, high_);
    Evaluate();
  }

  // The zero of c x^2 - a x + b that lies between the poles.
  static double SmallRoot(double c, double a, double b) {
    const double root = std::sqrt(std::fabs(a * a - 4 * b * c));
    return a > 0 ? 2 * b / (a + root) : (a - root) / (2 * c);
  }

  // To the zero of a function with a pole for those below and one for those above, which has their
  // values and slopes here.
  double Change() const {
    const double total = Total();
    const double first = distances_[j_] - mu_;
    if (is_last_) {
      const double slope = below_.slope;
      return first + first * first * slope / (total - first * slope);
    }
    const double second = distances_[j_ + 1] - mu_;
    return SmallRoot(total - first * below_.slope - second * above_.slope,
                     (first + second) * total - first * second * (below_.slope + above_.slope),
                     first * second * total);
  }

  const SecularEquation& all_;
  const int64_t j_;
  const bool is_last_;
  double* const distances_;  // of the poles from the origin
  int64_t origin_ = 0;
  double mu_ = 0;
  double low_ = 0;  // the function is negative there
  double high_ = 0;
  Terms below_ = {};
  Terms above_ = {};
};

}  // namespace

double SecularRoot(const SecularEquation& equation, int64_t j, double* distances) {
  return Search(equation, j, distances).Run();
}

void MultiplyByRatios(const SecularEquation& equation, int64_t j, const double* distances,
                      double* products) {
  const double* const d = equation.d;
  const int64_t next = j + 1;
  const int64_t rest = equation.count - next;
  products[j] *= distances[j];
  if (equation.squared) {
    RunLoop<&MultiplyRatiosOfSquares>(j, distances, d, d[j], products);
    RunLoop<&MultiplyRatiosOfSquares>(rest, distances + next, d + next, d[j], products + next);
  } else {
    RunLoop<&MultiplyRatios>(j, distances, d, d[j], products);
    RunLoop<&MultiplyRatios>(rest, distances + next, d + next, d[j], products + next);
  }
}

double DivideByDistances(int64_t count, const double* z, double* distances) {
  double sum = 0;
  RunLoop<&DivideNumbers>(count, z, distances, &sum);
  return sum;
}

}  // namespace millstream::kernels
