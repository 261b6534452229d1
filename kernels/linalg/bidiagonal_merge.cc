// With the vectors of both parts, the matrix becomes one whose diagonal is their singular values,
// with a zero for the row between them, and whose only other row is z, which that row becomes.
// Values that z does not reach, or that nearly equal another, stay as they are (M. Gu,
// S. Eisenstat: A divide-and-conquer algorithm for the bidiagonal SVD, SIAM J. Matrix Anal. Appl.
// 16, 1995).
#include "kernels/linalg/bidiagonal_merge.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "kernels/linalg/reflector.h"
#include "kernels/linalg/secular_equation.h"

namespace millstream::kernels {
namespace {

constexpr double kEpsilon = std::numeric_limits<double>::epsilon();

// Matrices of the work begin at the part's first row and column here.
class Merge : private PartMerge {
 public:
  Merge(const BidiagonalPart& part, const BidiagonalWork& work)
      : PartMerge(work.n, part.begin, part.end - part.begin, work.d, work.arrays),
        columns_(part.end < work.n ? size_ + 1 : size_),
        middle_(part.middle - part.begin),
        alpha_(work.d[part.middle]),
        beta_(work.e[part.middle]),
        u_(work.u + part.begin * (work.n + 1)),
        v_(work.v + part.begin * (work.n + 1)),
        packed_u_(work.packed_u + part.begin * (work.n + 1)),
        packed_v_(work.packed_v + part.begin * (work.n + 1)),
        weights_u_(work.weights_u + part.begin * (work.n + 1)),
        weights_v_(work.weights_v + part.begin * (work.n + 1)) {}

  void Run(Stop* stop) {
    u_[middle_ * n_ + middle_] = 1;
    d_[middle_] = 0;
    const double largest =
        std::max({*std::max_element(d_, d_ + size_), std::fabs(alpha_), std::fabs(beta_)});
    if (largest == 0) return;
    // Squares of all numbers are in the range of double.
    const int exponent = std::ilogb(largest);
    for (int64_t i = 0; i < size_; ++i) d_[i] = std::ldexp(d_[i], -exponent);
    tolerance_ = 8 * kEpsilon * std::ldexp(largest, -exponent);
    MakeZ(std::ldexp(alpha_, -exponent), std::ldexp(beta_, -exponent));
    ChooseKept();
    ChoosePlaces();
    Pack(u_, size_, packed_u_);
    Pack(v_, columns_, packed_v_);
    // Row j of v_ has the distances from root j from now on.
    FindRoots(Equation(), v_, stop);
    RefineZ(Equation(), v_);
    MakeWeights(stop);
    Multiply(stop);
    for (int64_t i = 0; i < size_; ++i) {
      d_[i] = std::ldexp(i < kept_ ? roots_[i] : kept_d_[i], exponent);
    }
    Unpack(packed_u_, size_, u_);
    Unpack(packed_v_, columns_, v_);
  }

 private:
  // A rotation of what both parts make zero leaves one such vector, behind the others.
  void MakeZ(double alpha, double beta) {
    for (int64_t i = 0; i < size_; ++i) {
      z_[i] = i <= middle_ ? alpha * v_[i * n_ + middle_] : beta * v_[i * n_ + middle_ + 1];
      places_[i] = i < middle_ ? kLeft : i == middle_ ? kBoth : kRight;
    }
    if (columns_ > size_) {
      double* const last = v_ + size_ * n_;
      const double of_last = beta * last[middle_ + 1];
      const double length = Hypotenuse(z_[middle_], of_last);
      if (length > 0) {
        Rotate(columns_, z_[middle_] / length, of_last / length, v_ + middle_ * n_, last);
      }
      z_[middle_] = length;
    }
    if (std::fabs(z_[middle_]) <= tolerance_) z_[middle_] = tolerance_;
  }

  void ChooseKept() {
    int64_t count = 0;
    for (int64_t i = 0; i < size_; ++i) {
      if (i != middle_) order_[count++] = i;
    }
    SortByValue(d_, order_, order_ + count);
    Keep(middle_);
    int64_t previous = -1;
    for (int64_t k = 0; k < count; ++k) {
      const int64_t i = order_[k];
      if (std::fabs(z_[i]) <= tolerance_) {
        Drop(i);
        continue;
      }
      if (previous >= 0) {
        if (d_[i] - d_[previous] <= tolerance_) {
          RotateAway(previous, i);
          Drop(previous);
        } else {
          Keep(previous);
        }
      }
      previous = i;
    }
    if (previous >= 0) Keep(previous);
    // Not the zero of row `middle`, from which it would not differ.
    if (kept_ > 1) kept_d_[1] = std::max(kept_d_[1], tolerance_ / 2);
  }

  // Makes z[i] zero by rotations with j, which leave the nearly equal values of both.
  void RotateAway(int64_t i, int64_t j) {
    const double length = Hypotenuse(z_[i], z_[j]);
    const double c = z_[j] / length;
    const double s = -z_[i] / length;
    z_[j] = length;
    z_[i] = 0;
    Rotate(size_, c, s, u_ + i * n_, u_ + j * n_);
    Rotate(columns_, c, s, v_ + i * n_, v_ + j * n_);
    JoinReaches(i, j);
  }

  SecularEquation Equation() const { return {kept_, 1.0, kept_d_, kept_z_, /*squared=*/true}; }

  // Row j: the negative weights of the packed vectors in vectors j. That of v is z / distances, and
  // that of u the product of the matrix with it.
  void MakeWeights(Stop* stop) {
    stop->Share(kept_, static_cast<double>(kept_) * 4, [&](int64_t begin, int64_t end) {
      for (int64_t j = begin; j < end; ++j) {
        double* const row = v_ + j * n_;
        const double of_v = -1 / std::sqrt(DivideByDistances(kept_, z_, row));
        double squares = 1;
        for (int64_t i = 1; i < kept_; ++i) {
          const double product = kept_d_[i] * row[i];
          squares += product * product;
        }
        const double of_u = -1 / std::sqrt(squares);
        double* const weights_u = weights_u_ + j * n_;
        double* const weights_v = weights_v_ + j * n_;
        for (int64_t i = 0; i < kept_; ++i) {
          weights_u[places_[i]] = kept_d_[i] * row[i] * of_u;
          weights_v[places_[i]] = row[i] * of_v;
        }
        weights_u[places_[0]] = -of_u;
      }
    });
  }

  // The vectors of the left part have columns up to `middle`, those of the right one the others.
  void Multiply(Stop* stop) {
    const int64_t cut = middle_ + 1;
    const int64_t units = Units(cut, columns_);
    stop->Share(2 * units, UnitNanoseconds(), [&](int64_t begin, int64_t end) {
      for (int64_t unit = begin; unit < end; ++unit) {
        if (unit < units) {
          MultiplyUnit(unit, cut, size_, weights_u_, packed_u_, u_);
        } else {
          MultiplyUnit(unit - units, cut, columns_, weights_v_, packed_v_, v_);
        }
      }
    });
  }

  const int64_t columns_;
  const int64_t middle_;
  const double alpha_;
  const double beta_;
  double* const u_;
  double* const v_;
  double* const packed_u_;
  double* const packed_v_;
  double* const weights_u_;
  double* const weights_v_;
  double tolerance_ = 0;
};

}  // namespace

void MergeRows(const BidiagonalPart& part, const BidiagonalWork& work, Stop* stop) {
  Merge(part, work).Run(stop);
}

}  // namespace millstream::kernels
