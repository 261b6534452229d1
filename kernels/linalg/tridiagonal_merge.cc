// With D the eigenvalues of both parts, the matrix is similar to D + rho z z^T (J. Cuppen: A divide
// and conquer method for the symmetric tridiagonal eigenproblem, 1981). Eigenvalues that z does not
// reach, or that nearly equal another, stay as they are (M. Gu, S. Eisenstat: A divide-and-conquer
// algorithm for the symmetric tridiagonal eigenproblem, SIAM J. Matrix Anal. Appl. 16, 1995).
#include "kernels/linalg/tridiagonal_merge.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "kernels/linalg/block_product.h"
#include "kernels/linalg/reflector.h"
#include "kernels/linalg/secular_equation.h"

namespace millstream::kernels {
namespace {

constexpr double kEpsilon = std::numeric_limits<double>::epsilon();

// Arrays of the work begin at the part's first element here, and matrices at its first row and
// column.
class Merge {
 public:
  Merge(const TridiagonalPart& part, const TridiagonalWork& work)
      : n_(work.n),
        size_(part.end - part.begin),
        middle_(part.middle - part.begin),
        rho_(2 * std::fabs(part.coupling)),
        d_(work.d + part.begin),
        rows_(work.rows + part.begin * (work.n + 1)),
        packed_(work.packed + part.begin * (work.n + 1)),
        weights_(work.weights + part.begin * (work.n + 1)),
        z_(work.z + part.begin),
        kept_d_(work.kept_d + part.begin),
        kept_z_(work.kept_z + part.begin),
        roots_(work.roots + part.begin),
        order_(work.order + part.begin),
        source_(work.source + part.begin),
        places_(work.places + part.begin) {
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
    Pack();
    FindRoots(stop);
    RefineZ();
    MakeWeights(stop);
    Multiply(stop);
    std::copy(roots_, roots_ + kept_, d_);
    for (int64_t i = kept_; i < size_; ++i) {
      d_[i] = kept_d_[i];
      std::copy(packed_ + i * n_, packed_ + i * n_ + size_, rows_ + i * n_);
    }
  }

 private:
  // Which columns of a vector may have elements that are not zero. A rotation joins them.
  enum Reach : int64_t { kLeft, kBoth, kRight };

  // Those that stay as they are come last in source_, kept_d_.
  void Drop(int64_t i) {
    const int64_t place = size_ - 1 - dropped_++;
    source_[place] = i;
    kept_d_[place] = d_[i];
  }

  void Keep(int64_t i) {
    source_[kept_] = i;
    kept_d_[kept_] = d_[i];
    kept_z_[kept_++] = z_[i];
  }

  void ChooseKept() {
    std::sort(order_, order_ + size_,
              [&](int64_t i, int64_t j) { return d_[i] != d_[j] ? d_[i] < d_[j] : i < j; });
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
    if (places_[i] != places_[j]) places_[j] = kBoth;
    const double d = d_[i] * c * c + d_[j] * s * s;
    d_[j] = d_[i] * s * s + d_[j] * c * c;
    d_[i] = d;
    return true;
  }

  // Copies the vectors: those that are kept by reach, so that each half of the columns is a product
  // with rows that follow each other. Sets places_ to where the kept ones are.
  void Pack() {
    int64_t counts[3] = {};
    for (int64_t i = 0; i < kept_; ++i) ++counts[places_[source_[i]]];
    before_right_ = counts[kLeft] + counts[kBoth];
    before_both_ = counts[kLeft];
    int64_t next[3] = {0, before_both_, before_right_};
    for (int64_t i = 0; i < size_; ++i) {
      const int64_t place = i < kept_ ? next[places_[source_[i]]]++ : i;
      const double* const row = rows_ + source_[i] * n_;
      std::copy(row, row + size_, packed_ + place * n_);
      order_[i] = place;
    }
    std::copy(order_, order_ + kept_, places_);
  }

  SecularEquation Equation() const { return {kept_, rho_, kept_d_, kept_z_}; }

  // Row j of rows_ has the distances from root j from now on.
  void FindRoots(Stop* stop) {
    constexpr double kNanoseconds = 16;  // of a term in all steps
    stop->Share(kept_, kNanoseconds * static_cast<double>(kept_), [&](int64_t begin, int64_t end) {
      for (int64_t j = begin; j < end; ++j) {
        roots_[j] = SecularRoot(Equation(), j, rows_ + j * n_);
      }
    });
  }

  // The vectors are those of the z that the roots belong to exactly, and so are orthogonal.
  void RefineZ() {
    std::fill(z_, z_ + kept_, 1.0);
    for (int64_t j = 0; j < kept_; ++j) MultiplyByRatios(Equation(), j, rows_ + j * n_, z_);
    for (int64_t i = 0; i < kept_; ++i) {
      z_[i] = std::copysign(std::sqrt(std::fabs(z_[i])), kept_z_[i]);
    }
  }

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

  void Multiply(Stop* stop) {
    const int64_t left_units = (middle_ + kProductColumns - 1) / kProductColumns;
    const int64_t right_units = (size_ - middle_ + kProductColumns - 1) / kProductColumns;
    const double nanoseconds = static_cast<double>(kept_ * kept_ * kProductColumns) / 32;
    stop->Share(left_units + right_units, nanoseconds, [&](int64_t begin, int64_t end) {
      for (int64_t unit = begin; unit < end; ++unit) {
        if (unit < left_units) {
          MultiplyColumns(0, before_right_, unit * kProductColumns, middle_);
        } else {
          MultiplyColumns(before_both_, kept_, middle_ + (unit - left_units) * kProductColumns,
                          size_);
        }
      }
    });
  }

  // Columns from `column` on, up to `end`, of the product with packed vectors [first, last).
  void MultiplyColumns(int64_t first, int64_t last, int64_t column, int64_t end) {
    const int64_t width = std::min(kProductColumns, end - column);
    for (int64_t j = 0; j < kept_; ++j) {
      std::fill(rows_ + j * n_ + column, rows_ + j * n_ + column + width, 0.0);
    }
    const BlockProduct<double> product = {kept_,
                                          width,
                                          last - first,
                                          weights_ + first,
                                          n_,
                                          1,
                                          packed_ + first * n_ + column,
                                          n_,
                                          rows_ + column,
                                          n_};
    SubtractProduct(product, 0, width);
  }

  const int64_t n_;
  const int64_t size_;
  const int64_t middle_;
  const double rho_;
  double* const d_;
  double* const rows_;
  double* const packed_;
  double* const weights_;
  double* const z_;
  double* const kept_d_;
  double* const kept_z_;
  double* const roots_;
  int64_t* const order_;
  int64_t* const source_;
  int64_t* const places_;  // at first, reaches
  int64_t kept_ = 0;
  int64_t dropped_ = 0;
  int64_t before_both_ = 0;
  int64_t before_right_ = 0;
};

}  // namespace

void MergeParts(const TridiagonalPart& part, const TridiagonalWork& work, Stop* stop) {
  Merge(part, work).Run(stop);
}

}  // namespace millstream::kernels
