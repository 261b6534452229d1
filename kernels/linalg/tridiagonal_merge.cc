// With D the eigenvalues of both parts, the matrix is similar to D + rho z z^T (J. Cuppen: A divide
// and conquer method for the symmetric tridiagonal eigenproblem, 1981). Eigenvalues that z does not
// reach, or that nearly equal another, stay as they are (M. Gu, S. Eisenstat: A divide-and-conquer
// algorithm for the symmetric tridiagonal eigenproblem, SIAM J. Matrix Anal. Appl. 16, 1995).
#include "kernels/linalg/tridiagonal_merge.h"

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
  Merge(const TridiagonalPart& part, const TridiagonalWork& work)
      : PartMerge(work.n, part.begin, part.end - part.begin, work.d, work.arrays),
        middle_(part.middle - part.begin),
        rho_(2 * std::fabs(part.coupling)),
        rows_(work.rows + part.begin * (work.n + 1)),
        packed_(work.packed + part.begin * (work.n + 1)),
        weights_(work.weights + part.begin * (work.n + 1)) {
    const double root = std::sqrt(0.5);
    const double sign = part.coupling < 0 ? -root : root;
    for (int64_t i = 0; i < size_; ++i) {
      z_[i] = i < middle_ ? root * rows_[i * n_ + middle_ - 1] : sign * rows_[i * n_ + middle_];
      order_[i] = i;
    }
  }

  void Run(Stop* stop) {
    ChooseKept();
    if (kept_ == 0) return;
    ChoosePlaces();
    Pack(rows_, size_, packed_);
    // Row j of rows_ has the distances from root j from now on.
    FindRoots(Equation(), rows_, stop);
    RefineZ(Equation(), rows_);
    MakeWeights(stop);
    stop->Share(Units(middle_, size_), UnitNanoseconds(), [&](int64_t begin, int64_t end) {
      for (int64_t unit = begin; unit < end; ++unit) {
        MultiplyUnit(unit, middle_, size_, weights_, packed_, rows_);
      }
    });
    std::copy(roots_, roots_ + kept_, d_);
    std::copy(kept_d_ + kept_, kept_d_ + size_, d_ + kept_);
    Unpack(packed_, size_, rows_);
  }

 private:
  void ChooseKept() {
    SortByValue(d_, order_, order_ + size_);
    double largest = 0;
    for (int64_t i = 0; i < size_; ++i) {
      largest = std::max({largest, std::fabs(d_[i]), std::fabs(z_[i])});
      places_[i] = i < middle_ ? kLeft : kRight;
    }
    const double tolerance = 8 * kEpsilon * largest;
    int64_t previous = -1;
    for (int64_t k = 0; k < size_; ++k) {
      const int64_t i = order_[k];
      if (rho_ * std::fabs(z_[i]) <= tolerance) {
        Drop(i);
        continue;
      }
      if (previous >= 0) {
        if (RotateAway(previous, i, tolerance)) {
          Drop(previous);
        } else {
          Keep(previous);
        }
      }
      previous = i;
    }
    if (previous >= 0) Keep(previous);
  }

  // Makes z[i] zero by a rotation with j, if what that puts beside the diagonal is negligible.
  bool RotateAway(int64_t i, int64_t j, double tolerance) {
    const double length = Hypotenuse(z_[i], z_[j]);
    const double c = z_[j] / length;
    const double s = -z_[i] / length;
    if (std::fabs((d_[j] - d_[i]) * c * s) > tolerance) return false;
    z_[j] = length;
    z_[i] = 0;
    Rotate(size_, c, s, rows_ + i * n_, rows_ + j * n_);
    JoinReaches(i, j);
    const double d = d_[i] * c * c + d_[j] * s * s;
    d_[j] = d_[i] * s * s + d_[j] * c * c;
    d_[i] = d;
    return true;
  }

  SecularEquation Equation() const { return {kept_, rho_, kept_d_, kept_z_}; }

  // Row j: the negative weights of the packed vectors in vector j.
  void MakeWeights(Stop* stop) {
    stop->Share(kept_, static_cast<double>(kept_) * 2, [&](int64_t begin, int64_t end) {
      for (int64_t j = begin; j < end; ++j) {
        double* const row = rows_ + j * n_;
        const double factor = -1 / std::sqrt(DivideByDistances(kept_, z_, row));
        for (int64_t i = 0; i < kept_; ++i) weights_[j * n_ + places_[i]] = row[i] * factor;
      }
    });
  }

  const int64_t middle_;
  const double rho_;
  double* const rows_;
  double* const packed_;
  double* const weights_;
};

}  // namespace

void MergeParts(const TridiagonalPart& part, const TridiagonalWork& work, Stop* stop) {
  Merge(part, work).Run(stop);
}

}  // namespace millstream::kernels
