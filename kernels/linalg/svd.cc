// The matrix becomes bidiagonal by reflectors, and that diagonal by implicit QR steps of Golub and
// Kahan (G. Golub, C. Van Loan: Matrix Computations, 4th edition, section 8.6).
#include "kernels/linalg/svd.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "kernels/linalg/block_product.h"
#include "kernels/linalg/block_reflector.h"
#include "kernels/linalg/reflector.h"
#include "kernels/linalg/rotations.h"

namespace millstream::kernels {
namespace {

constexpr double kEpsilon = std::numeric_limits<double>::epsilon();

// A = Q B P^H, where the diagonal of B is d and the one above is e, real numbers. The reflectors of
// Q and P are left in `left` and `right`, one a row.
template <typename T>
struct Bidiagonal {
  double* d;
  double* e;
  T* left;
  T* right;
  T* left_taus;
  T* right_taus;
};

// Where reflector k of panels begins: its panel's first, whose places before the reflector's one
// are zeros.
constexpr int64_t PanelOf(int64_t k) { return k / kMostReflectors * kMostReflectors; }

constexpr int64_t kRowsAtOnce = 32;

template <typename T>
class Reduction {
 public:
  // `memory` has 2 * n elements.
  Reduction(int64_t m, int64_t n, T* a, const Bidiagonal<T>& b, T* memory)
      : m_(m), n_(n), a_(a), b_(b), sums_(memory), adjoint_(memory + n) {}

  void Run(Stop* stop) {
    for (int64_t k = 0; k < n_; ++k) {
      if (m_ >= kStoppableSize && (*stop)()) return;
      Step(k, stop);
    }
  }

 private:
  void Step(int64_t k, Stop* stop) {
    T* const v = b_.left + k * m_;
    std::fill(v + PanelOf(k), v + k, T(0));
    for (int64_t i = k; i < m_; ++i) v[i] = a_[i * n_ + k];
    const Reflection<T> of_column = MakeReflector(m_ - k, v + k);
    b_.d[k] = of_column.beta;
    b_.left_taus[k] = of_column.tau;
    b_.e[k] = 0;
    b_.right_taus[k] = T(0);
    const int64_t size = n_ - k - 1;
    if (size == 0) return;
    SumColumns(k, v + k, stop);
    T* const row = a_ + k * n_ + k + 1;
    const T factor = Conjugate(of_column.tau);
    SubtractMultiple(size, factor, sums_, row);
    T* const w = b_.right + k * n_ + k + 1;
    std::fill(b_.right + k * n_ + PanelOf(k), w, T(0));
    for (int64_t j = 0; j < size; ++j) w[j] = Conjugate(row[j]);
    const Reflection<T> of_row = MakeReflector(size, w);
    b_.e[k] = of_row.beta;
    b_.right_taus[k] = of_row.tau;
    for (int64_t j = 0; j < size; ++j) adjoint_[j] = Conjugate(w[j]);
    const int64_t below = m_ - k - 1;
    stop->Share((below + kRowsAtOnce - 1) / kRowsAtOnce,
                static_cast<double>(kRowsAtOnce * size) / 4, [&](int64_t begin, int64_t end) {
                  const int64_t last = std::min(below, end * kRowsAtOnce);
                  for (int64_t i = begin * kRowsAtOnce; i < last; ++i) {
                    ReflectRow(size, Product(factor, v[k + 1 + i]), w, of_row.tau,
                               row + (i + 1) * n_);
                  }
                });
  }

  // What the reflector of column k subtracts from the others, but for its factors.
  void SumColumns(int64_t k, const T* v, Stop* stop) {
    const int64_t size = n_ - k - 1;
    const T* const block = a_ + k * n_ + k + 1;
    std::fill(sums_, sums_ + size, T(0));
    const int64_t units = (size + kProductColumns - 1) / kProductColumns;
    const double nanoseconds = static_cast<double>((m_ - k) * kProductColumns) / 8;
    stop->Share(units, nanoseconds, [&](int64_t begin, int64_t end) {
      const int64_t column = begin * kProductColumns;
      AddRows(m_ - k, std::min(size, end * kProductColumns) - column, n_, v, block + column,
              sums_ + column);
    });
  }

  // Both reflectors at once, while the row is in the first cache.
  void ReflectRow(int64_t size, T factor, const T* w, T tau, T* row) const {
    SubtractMultiple(size, factor, sums_, row);
    SubtractMultiple(size, Product(tau, SumOfProducts(size, row, w)), adjoint_, row);
  }

  const int64_t m_;
  const int64_t n_;
  T* const a_;
  const Bidiagonal<T>& b_;
  T* const sums_;
  T* const adjoint_;  // conj(w) of the last reflector of a row
};

// The reflectors H_0 H_1 ..., of which number k acts on elements k + `offset` and up, of `size` in
// all, and is row k of `vectors`.
template <typename T>
struct Reflectors {
  int64_t count;
  int64_t offset;
  int64_t size;
  const T* vectors;
  const T* taus;
};

// The first `count` columns of their product, as rows. `memory` has as many elements.
template <typename T>
void MakeVectors(const Reflectors<T>& all, int64_t count, T* memory, T* result, Stop* stop) {
  const int64_t size = all.size;
  std::fill(memory, memory + count * size, T(0));
  for (int64_t i = 0; i < count; ++i) memory[i * count + i] = T(1);
  T triangle[TriangleNumbers(kMostReflectors)];
  for (int64_t first = PanelOf(all.count - 1); all.count > 0 && first >= 0;
       first -= kMostReflectors) {
    if (size >= kStoppableSize && (*stop)()) return;
    const int64_t begin = first + all.offset;
    const ReflectorPanel<T> panel = {std::min(kMostReflectors, all.count - first), size - begin,
                                     all.vectors + first * size + begin, size};
    MakeTriangle(panel, all.taus + first, triangle);
    ReflectBlock(panel, triangle, /*adjoint=*/false,
                 {size - begin, count - begin, count, memory + begin * count + begin}, stop);
  }
  constexpr int64_t kTile = 8;  // whose lines stay in the first cache
  for (int64_t row = 0; row < size; row += kTile) {
    for (int64_t i = 0; i < count; ++i) {
      const int64_t last = std::min(row + kTile, size);
      for (int64_t j = row; j < last; ++j) result[i * size + j] = memory[j * count + i];
    }
  }
}

// As Hypotenuse, in less time where squares are in range.
double Length(double x, double y) {
  const double square = x * x + y * y;
  return square > 1e-200 && square < 1e200 ? std::sqrt(square) : Hypotenuse(x, y);
}

// The bidiagonal matrix and the vectors that are rotated along, if there are any.
template <typename T>
class Iteration {
 public:
  Iteration(int64_t n, double* d, double* e, const Rotations<T>& u, const Rotations<T>& v,
            Stop* stop)
      : n_(n), d_(d), e_(e), u_(u), v_(v), stop_(*stop) {
    for (int64_t i = 0; i < n_; ++i) {
      norm_ = std::max(norm_, std::fabs(d_[i]) + std::fabs(e_[i]));
    }
  }

  // False if it takes too many steps.
  bool Run() {
    constexpr int kMostSteps = 60;
    int steps = 0;
    int64_t last = n_ - 1;
    while (last > 0) {
      if (n_ >= kStoppableSize && stop_()) return false;
      if (IsNegligible(last - 1)) {
        e_[last - 1] = 0;
        --last;
        steps = 0;
        continue;
      }
      int64_t first = last - 1;
      while (first > 0 && !IsNegligible(first - 1)) --first;
      if (first > 0) e_[first - 1] = 0;
      if (RemoveZeros(first, last)) continue;
      if (++steps > kMostSteps) return false;
      Step(first, last);
    }
    u_.Finish(&stop_);
    v_.Finish(&stop_);
    return true;
  }

 private:
  static constexpr double kTiny = 1e-290;

  bool IsNegligible(int64_t i) const {
    return std::fabs(e_[i]) <= kEpsilon * (std::fabs(d_[i]) + std::fabs(d_[i + 1])) + kTiny;
  }

  void RotateU(int64_t i, int64_t j, double c, double s) { u_.Add({c, s, i, j}, &stop_); }
  void RotateV(int64_t i, int64_t j, double c, double s) { v_.Add({c, s, i, j}, &stop_); }

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
  Rotations<T> u_;
  Rotations<T> v_;
  Stop& stop_;
  double norm_ = 0;
};

template <typename T>
void MakePositiveAndSort(const SvdSizes& sizes, double* d, T* u, T* v) {
  const int64_t m = sizes.rows;
  const int64_t n = sizes.columns;
  for (int64_t i = 0; i < n; ++i) {
    if (!std::signbit(d[i])) continue;
    d[i] = -d[i];
    for (int64_t j = 0; v != nullptr && j < n; ++j) v[i * n + j] = -v[i * n + j];
  }
  for (int64_t i = 0; i + 1 < n; ++i) {
    const int64_t most = std::max_element(d + i, d + n) - d;
    if (most == i) continue;
    std::swap(d[i], d[most]);
    if (v == nullptr) continue;
    std::swap_ranges(v + i * n, v + (i + 1) * n, v + most * n);
    std::swap_ranges(u + i * m, u + (i + 1) * m, u + most * m);
  }
}

}  // namespace

template <typename T>
bool DecomposeSingular(const SvdSizes& sizes, T* matrix, T* memory, SvdResult<T>* result,
                       Stop* stop) {
  const int64_t m = sizes.rows;
  const int64_t n = sizes.columns;
  int exponent = 0;
  if (!ScaleToOne(m * n, matrix, &exponent)) return false;
  const bool vectors = sizes.of_u > 0;
  T* const u = memory;
  T* const v = u + sizes.of_u * m;
  T* const right = v + n * n;
  T* const left = right + Rotations<T>::PackedNumbers(n, n);
  T* const taus = left + Rotations<T>::PackedNumbers(n, m);
  auto* const d = reinterpret_cast<double*>(taus + 2 * n);
  T* const more = taus + 4 * n;
  const Bidiagonal<T> b = {d, d + n, left, right, taus, taus + n};
  Reduction<T>(m, n, matrix, b, more).Run(stop);
  auto* const memory_u = reinterpret_cast<Rotation*>(more + 2 * n);
  Rotation* const memory_v = memory_u + MostRotations(n);
  if (vectors) {
    T* const of_all = reinterpret_cast<T*>(memory_v + MostRotations(n));
    MakeVectors<T>({n, 0, m, left, taus}, sizes.of_u, sizes.of_u > n ? of_all : matrix, u, stop);
    MakeVectors<T>({n - 1, 1, n, right, taus + n}, n, matrix, v, stop);
  }
  *result = {d, vectors ? u : nullptr, vectors ? v : nullptr};
  // The reflectors have been used up.
  const Rotations<T> of_u(n, m, result->u, left, memory_u);
  const Rotations<T> of_v(n, n, result->v, right, memory_v);
  if (!Iteration<T>(n, d, d + n, of_u, of_v, stop).Run()) return false;
  MakePositiveAndSort(sizes, d, result->u, result->v);
  const double scale = std::ldexp(1.0, exponent);
  for (int64_t i = 0; i < n; ++i) d[i] *= scale;
  return true;
}

template bool DecomposeSingular<double>(const SvdSizes& sizes, double* matrix, double* memory,
                                        SvdResult<double>* result, Stop* stop);
template bool DecomposeSingular<Complex>(const SvdSizes& sizes, Complex* matrix, Complex* memory,
                                         SvdResult<Complex>* result, Stop* stop);

}  // namespace millstream::kernels
