// The matrix becomes bidiagonal by reflectors (G. Golub, C. Van Loan: Matrix Computations, 4th
// edition, section 5.4).
#include "kernels/linalg/svd.h"

#include <algorithm>
#include <cmath>

#include "kernels/linalg/block_product.h"
#include "kernels/linalg/block_reflector.h"
#include "kernels/linalg/reflector.h"

namespace millstream::kernels {
namespace {

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

// matrix = H_0 H_1 ... matrix.
template <typename T>
void MultiplyByReflectors(const Reflectors<T>& all, int64_t columns, T* matrix, Stop* stop) {
  const int64_t size = all.size;
  T triangle[TriangleNumbers(kMostReflectors)];
  for (int64_t first = PanelOf(all.count - 1); all.count > 0 && first >= 0;
       first -= kMostReflectors) {
    if (size >= kStoppableSize && (*stop)()) return;
    const int64_t begin = first + all.offset;
    const ReflectorPanel<T> panel = {std::min(kMostReflectors, all.count - first), size - begin,
                                     all.vectors + first * size + begin, size};
    MakeTriangle(panel, all.taus + first, triangle);
    ReflectBlock(panel, triangle, /*adjoint=*/false,
                 {size - begin, columns, columns, matrix + begin * columns}, stop);
  }
}

// Sets column j of the first n rows to row order[j] of `rows`, and what is besides to the identity.
template <typename T>
void SetColumns(int64_t n, const double* rows, const int64_t* order, const Block<T>& matrix) {
  constexpr int64_t kTile = 8;  // whose lines stay in the first cache
  for (int64_t row = 0; row < n; row += kTile) {
    const int64_t last = std::min(row + kTile, n);
    for (int64_t j = 0; j < n; ++j) {
      const double* const from = rows + order[j] * n;
      for (int64_t i = row; i < last; ++i) matrix.elements[i * matrix.stride + j] = T(from[i]);
    }
  }
  for (int64_t i = 0; i < matrix.rows; ++i) {
    T* const row = matrix.elements + i * matrix.stride;
    std::fill(row + (i < n ? n : 0), row + matrix.columns, T(0));
    if (i >= n && i < matrix.columns) row[i] = T(1);
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
  T* const v = u + (vectors ? sizes.of_u * m : 0);
  T* const left = v + (vectors ? n * n : 0);
  T* const right = left + m * n;
  T* const taus = right + n * n;
  T* const more = taus + 2 * n;
  auto* const d = reinterpret_cast<double*>(more + 2 * n);
  double* const e = d + n;
  const Bidiagonal<T> b = {d, e, left, right, taus, taus + n};
  Reduction<T>(m, n, matrix, b, more).Run(stop);
  BidiagonalVectors rows = {};
  if (!DecomposeBidiagonal(n, d, e, e + n, vectors ? &rows : nullptr, stop)) return false;
  const double scale = std::ldexp(1.0, exponent);
  for (int64_t i = 0; i < n; ++i) d[i] *= scale;
  *result = {d, vectors ? u : nullptr, vectors ? v : nullptr};
  if (!vectors) return true;
  SetColumns<T>(n, rows.u, rows.order, {m, sizes.of_u, sizes.of_u, u});
  SetColumns<T>(n, rows.v, rows.order, {n, n, n, v});
  MultiplyByReflectors<T>({n, 0, m, left, taus}, sizes.of_u, u, stop);
  MultiplyByReflectors<T>({n - 1, 1, n, right, taus + n}, n, v, stop);
  return true;
}

template bool DecomposeSingular<double>(const SvdSizes& sizes, double* matrix, double* memory,
                                        SvdResult<double>* result, Stop* stop);
template bool DecomposeSingular<Complex>(const SvdSizes& sizes, Complex* matrix, Complex* memory,
                                         SvdResult<Complex>* result, Stop* stop);

}  // namespace millstream::kernels
