// Implicit QR steps of G. Golub and W. Kahan (G. Golub, C. Van Loan: Matrix Computations, 4th
// edition, section 8.6).
#include "kernels/linalg/bidiagonal_steps.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "kernels/linalg/reflector.h"
#include "kernels/linalg/row_arithmetic.h"

namespace millstream::kernels {
namespace {

constexpr double kEpsilon = std::numeric_limits<double>::epsilon();

// As Hypotenuse, in less time where squares are in range.
double Length(double x, double y) {
  const double square = x * x + y * y;
  return square > 1e-200 && square < 1e200 ? std::sqrt(square) : Hypotenuse(x, y);
}

// The matrix and the vectors that are rotated along, if there are any.
class Iteration {
 public:
  Iteration(const BidiagonalRows& matrix, const VectorRows& u, const VectorRows& v, Stop* stop)
      : n_(matrix.n), d_(matrix.d), e_(matrix.e), u_(u), v_(v), stop_(*stop) {
    if (!matrix.has_more_columns) e_[n_ - 1] = 0;
    for (int64_t i = 0; i < n_; ++i) {
      norm_ = std::max({norm_, std::fabs(d_[i]), std::fabs(e_[i])});
    }
    // A part of a matrix may be small beside the rest.
    exponent_ = norm_ > 0 ? std::ilogb(norm_) : 0;
    Scale(-exponent_);
    if (matrix.has_more_columns) ClearLastColumn(0, n_);
    norm_ = 0;
    for (int64_t i = 0; i < n_; ++i) {
      norm_ = std::max(norm_, std::fabs(d_[i]) + std::fabs(e_[i]));
    }
  }

  // False if it takes too many steps.
  bool Run() {
    // Of all values together: beside a large one, one of many small ones may take long, and the
    // others are near then.
    int64_t steps = 60 * n_;
    int64_t last = n_ - 1;
    while (last > 0) {
      if (n_ >= kStoppableSize && stop_()) return false;
      if (IsNegligible(last - 1)) {
        e_[last - 1] = 0;
        --last;
        continue;
      }
      int64_t first = last - 1;
      while (first > 0 && !IsNegligible(first - 1)) --first;
      if (first > 0) e_[first - 1] = 0;
      if (RemoveZeros(first, last)) continue;
      if (--steps < 0) return false;
      Step(first, last);
    }
    Scale(exponent_);
    for (int64_t i = 0; i < n_; ++i) {
      if (std::signbit(d_[i])) Negate(i);
    }
    return true;
  }

 private:
  static constexpr double kTiny = 1e-290;

  void Scale(int exponent) {
    if (exponent == 0) return;
    for (int64_t i = 0; i < n_; ++i) {
      d_[i] = std::ldexp(d_[i], exponent);
      e_[i] = std::ldexp(e_[i], exponent);
    }
  }

  bool IsNegligible(int64_t i) const {
    return std::fabs(e_[i]) <= kEpsilon * (std::fabs(d_[i]) + std::fabs(d_[i + 1])) + kTiny;
  }

  static void RotateRows(int64_t i, int64_t j, double c, double s, const VectorRows& rows) {
    if (rows.elements == nullptr) return;
    Rotate(rows.size, c, s, rows.elements + i * rows.stride, rows.elements + j * rows.stride);
  }
  void RotateU(int64_t i, int64_t j, double c, double s) const { RotateRows(i, j, c, s, u_); }
  void RotateV(int64_t i, int64_t j, double c, double s) const { RotateRows(i, j, c, s, v_); }

  void Negate(int64_t i) {
    d_[i] = -d_[i];
    if (v_.elements == nullptr) return;
    double* const row = v_.elements + i * v_.stride;
    for (int64_t j = 0; j < v_.size; ++j) row[j] = -row[j];
  }

  // Where the diagonal has a zero, rotations remove the element beside it, and the matrix falls
  // apart. False if there is none.
  bool RemoveZeros(int64_t first, int64_t last) {
    for (int64_t i = last; i >= first; --i) {
      if (!(std::fabs(d_[i]) <= kEpsilon * norm_)) continue;  // a NaN is no zero
      d_[i] = 0;
      if (i == last) {
        ClearLastColumn(first, last);
      } else {
        ClearRow(i, last);
      }
      return true;
    }
    return false;
  }

  void ClearRow(int64_t i, int64_t last) {
    double f = e_[i];
    e_[i] = 0;
    for (int64_t j = i + 1; j <= last && f != 0; ++j) {
      const double r = Hypotenuse(d_[j], f);
      const double c = d_[j] / r;
      const double s = f / r;
      d_[j] = r;
      if (j < last) {
        f = -s * e_[j];
        e_[j] *= c;
      }
      RotateU(j, i, c, s);
    }
  }

  void ClearLastColumn(int64_t first, int64_t last) {
    double f = e_[last - 1];
    e_[last - 1] = 0;
    for (int64_t j = last - 1; j >= first && f != 0; --j) {
      const double r = Hypotenuse(d_[j], f);
      const double c = d_[j] / r;
      const double s = f / r;
      d_[j] = r;
      if (j > first) {
        f = -s * e_[j - 1];
        e_[j - 1] *= c;
      }
      RotateV(j, last, c, s);
    }
  }

  // The eigenvalue of the last 2 x 2 matrix of B^T B that is nearer to its last element.
  double Shift(int64_t first, int64_t last) const {
    const double before = last - 1 > first ? e_[last - 2] : 0;
    const double a = d_[last - 1] * d_[last - 1] + before * before;
    const double b = d_[last - 1] * e_[last - 1];
    const double c = d_[last] * d_[last] + e_[last - 1] * e_[last - 1];
    const double half = (a - c) / 2;
    const double denominator = half + std::copysign(Hypotenuse(half, b), half);
    return denominator == 0 ? c : c - b / denominator * b;
  }

  void Step(int64_t first, int64_t last) {
    // The first column of B^T B - shift, divided by d[first], which is no zero.
    double y = d_[first] - Shift(first, last) / d_[first];
    double z = e_[first];
    for (int64_t k = first; k < last; ++k) {
      double r = Length(y, z);
      double c = r == 0 ? 1 : y / r;
      double s = r == 0 ? 0 : z / r;
      if (k > first) e_[k - 1] = r;
      y = c * d_[k] + s * e_[k];
      e_[k] = c * e_[k] - s * d_[k];
      z = s * d_[k + 1];
      d_[k + 1] *= c;
      RotateV(k, k + 1, c, s);
      r = Length(y, z);
      c = r == 0 ? 1 : y / r;
      s = r == 0 ? 0 : z / r;
      d_[k] = r;
      y = c * e_[k] + s * d_[k + 1];
      d_[k + 1] = c * d_[k + 1] - s * e_[k];
      RotateU(k, k + 1, c, s);
      if (k + 1 < last) {
        z = s * e_[k + 1];
        e_[k + 1] *= c;
      }
    }
    e_[last - 1] = y;
  }

  const int64_t n_;
  double* const d_;
  double* const e_;
  const VectorRows u_;
  const VectorRows v_;
  Stop& stop_;
  int exponent_ = 0;  // of the power of two that the matrix was divided by
  double norm_ = 0;
};

}  // namespace

bool DiagonalizeBidiagonal(const BidiagonalRows& matrix, const VectorRows& u, const VectorRows& v,
                           Stop* stop) {
  return Iteration(matrix, u, v, stop).Run();
}

}  // namespace millstream::kernels
