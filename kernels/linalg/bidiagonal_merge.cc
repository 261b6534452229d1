// With the vectors of both parts, the matrix becomes one whose diagonal is their singular values,
// with a zero for the row between them, and whose only other row is z, which that row becomes.
// Values that z does not reach, or that nearly equal another, stay as they are (M. Gu,
// S. Eisenstat: A divide-and-conquer algorithm for the bidiagonal SVD, SIAM J. Matrix Anal. Appl.
// 16, 1995).
#include "kernels/linalg/bidiagonal_merge.h"

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
  Merge(const BidiagonalPart& part, const BidiagonalWork& work)
      : n_(work.n),
        size_(part.end - part.begin),
        columns_(part.end < work.n ? size_ + 1 : size_),
        middle_(part.middle - part.begin),
        alpha_(work.d[part.middle]),
        beta_(work.e[part.middle]),
        d_(work.d + part.begin),
        u_(work.u + part.begin * (work.n + 1)),
        v_(work.v + part.begin * (work.n + 1)),
        packed_u_(work.packed_u + part.begin * (work.n + 1)),
        packed_v_(work.packed_v + part.begin * (work.n + 1)),
        weights_u_(work.weights_u + part.begin * (work.n + 1)),
        weights_v_(work.weights_v + part.begin * (work.n + 1)),
        z_(work.z + part.begin),
        kept_d_(work.kept_d + part.begin),
        kept_z_(work.kept_z + part.begin),
        roots_(work.roots + part.begin),
        order_(work.order + part.begin),
        source_(work.source + part.begin),
        places_(work.places + part.begin) {}

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
    Pack();
    FindRoots(stop);
    RefineZ();
    MakeWeights(stop);
    Multiply(stop);
    for (int64_t i = 0; i < size_; ++i) {
      d_[i] = std::ldexp(i < kept_ ? roots_[i] : kept_d_[i], exponent);
    }
    for (int64_t i = kept_; i < size_; ++i) {
      std::copy(packed_u_ + i * n_, packed_u_ + i * n_ + size_, u_ + i * n_);
      std::copy(packed_v_ + i * n_, packed_v_ + i * n_ + columns_, v_ + i * n_);
    }
  }

 private:
  // Which columns of a vector may have elements that are not zero. A rotation joins them.
  enum Reach : int64_t { kLeft, kBoth, kRight };

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
    int64_t count = 0;
    for (int64_t i = 0; i < size_; ++i) {
      if (i != middle_) order_[count++] = i;
    }
    std::sort(order_, order_ + count,
              [&](int64_t i, int64_t j) { return d_[i] != d_[j] ? d_[i] < d_[j] : i < j; });
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
    if (places_[i] != places_[j]) places_[j] = kBoth;
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
      const int64_t from = source_[i] * n_;
      std::copy(u_ + from, u_ + from + size_, packed_u_ + place * n_);
      std::copy(v_ + from, v_ + from + columns_, packed_v_ + place * n_);
      order_[i] = place;
    }
    std::copy(order_, order_ + kept_, places_);
  }

  SecularEquation Equation() const { return {kept_, 1.0, kept_d_, kept_z_, /*squared=*/true}; }

  // Row j of v_ has the distances from root j from now on.
  void FindRoots(Stop* stop) {
    constexpr double kNanoseconds = 16;  // of a term in all steps
    stop->Share(kept_, kNanoseconds * static_cast<double>(kept_), [&](int64_t begin, int64_t end) {
      for (int64_t j = begin; j < end; ++j) roots_[j] = SecularRoot(Equation(), j, v_ + j * n_);
    });
  }

  // The vectors are those of the z that the roots belong to exactly, and so are orthogonal.
  void RefineZ() {
    std::fill(z_, z_ + kept_, 1.0);
    for (int64_t j = 0; j < kept_; ++j) MultiplyByRatios(Equation(), j, v_ + j * n_, z_);
    for (int64_t i = 0; i < kept_; ++i) {
      z_[i] = std::copysign(std::sqrt(std::fabs(z_[i])), kept_z_[i]);
    }
  }

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
    const int64_t left_units = (cut + kProductColumns - 1) / kProductColumns;
    const int64_t right_units = (columns_ - cut + kProductColumns - 1) / kProductColumns;
    const int64_t units = left_units + right_units;
    const double nanoseconds = static_cast<double>(kept_ * kept_ * kProductColumns) / 32;
    stop->Share(2 * units, nanoseconds, [&](int64_t begin, int64_t end) {
      for (int64_t unit = begin; unit < end; ++unit) {
        const bool of_u = unit < units;
        const double* const weights = of_u ? weights_u_ : weights_v_;
        const double* const packed = of_u ? packed_u_ : packed_v_;
        const int64_t place = of_u ? unit : unit - units;
        if (place < left_units) {
          MultiplyColumns(weights, packed, 0, before_right_, place * kProductColumns, cut,
                          of_u ? u_ : v_);
        } else {
          MultiplyColumns(weights, packed, before_both_, kept_,
                          cut + (place - left_units) * kProductColumns, of_u ? size_ : columns_,
                          of_u ? u_ : v_);
        }
      }
    });
  }

  // Columns from `column` on, up to `end`, of the product with packed vectors [first, last).
  void MultiplyColumns(const double* weights, const double* packed, int64_t first, int64_t last,
                       int64_t column, int64_t end, double* rows) const {
    const int64_t width = std::min(kProductColumns, end - column);
    if (width <= 0) return;
    for (int64_t j = 0; j < kept_; ++j) {
      std::fill(rows + j * n_ + column, rows + j * n_ + column + width, 0.0);
    }
    const BlockProduct<double> product = {kept_,
                                          width,
                                          last - first,
                                          weights + first,
                                          n_,
                                          1,
                                          packed + first * n_ + column,
                                          n_,
                                          rows + column,
                                          n_};
    SubtractProduct(product, 0, width);
  }

  const int64_t n_;
  const int64_t size_;
  const int64_t columns_;
  const int64_t middle_;
  const double alpha_;
  const double beta_;
  double* const d_;
  double* const u_;
  double* const v_;
  double* const packed_u_;
  double* const packed_v_;
  double* const weights_u_;
  double* const weights_v_;
  double* const z_;
  double* const kept_d_;
  double* const kept_z_;
  double* const roots_;
  int64_t* const order_;
  int64_t* const source_;
  int64_t* const places_;  // at first, reaches
  double tolerance_ = 0;
  int64_t kept_ = 0;
  int64_t dropped_ = 0;
  int64_t before_both_ = 0;
  int64_t before_right_ = 0;
};

}  // namespace

void MergeRows(const BidiagonalPart& part, const BidiagonalWork& work, Stop* stop) {
  Merge(part, work).Run(stop);
}

}  // namespace millstream::kernels
