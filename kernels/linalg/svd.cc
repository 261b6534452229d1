// The matrix becomes bidiagonal by reflectors (G. Golub, C. Van Loan: Matrix Computations, 4th
// edition, section 5.4), a panel of which changes what lies behind it at once (J. Dongarra,
// S. Hammarling, D. Sorensen: Block reduction of matrices to condensed forms for eigenvalue
// computations, 1989).
#include "kernels/linalg/svd.h"

#include <algorithm>
#include <cmath>
#include <type_traits>

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

// Of a large matrix: half of the work is products of matrices then. A small one stays in the first
// cache, where what a panel adds to each column costs more than to pass over all of the matrix.
constexpr int64_t PanelColumns(int64_t n) { return n < 64 ? 8 : kMostReflectors; }

template <typename T>
class Reduction {
 public:
  // `memory` has kMostReflectors * (m + n) elements.
  Reduction(int64_t m, int64_t n, T* a, const Bidiagonal<T>& b, T* memory)
      : m_(m), n_(n), a_(a), b_(b), x_(memory), y_(memory + kMostReflectors * m) {}

  void Run(Stop* stop) {
    if (!std::is_same_v<T, double>) {
      for (int64_t i = 0; i < m_ * n_; ++i) a_[i] = Conjugate(a_[i]);
    }
    for (int64_t first = 0; first < n_; first += PanelColumns(n_)) {
      const int64_t last = std::min(first + PanelColumns(n_), n_);
      for (int64_t k = first; k < last; ++k) {
        if (m_ >= kStoppableSize && (*stop)()) return;
        ReduceColumn(first, k, stop);
        if (k + 1 < n_) ReduceRow(first, k, stop);
      }
      ReduceBlock(first, last, stop);
    }
  }

 private:
  T* left(int64_t k) const { return b_.left + k * m_; }
  T* right(int64_t k) const { return b_.right + k * n_; }

  // Column k, which earlier reflectors of the panel from `first` on have not changed yet.
  void ReduceColumn(int64_t first, int64_t k, Stop* stop) {
    T* const v = left(k);
    std::fill(v + PanelOf(k), v + k, T(0));
    for (int64_t i = k; i < m_; ++i) v[i] = Conjugate(a_[i * n_ + k]);
    const int64_t count = k - first;
    T of_v[kMostReflectors];
    T of_x[kMostReflectors];
    for (int64_t p = 0; p < count; ++p) {
      of_v[p] = -y_[p * n_ + k];
      of_x[p] = -right(first + p)[k];
    }
    AddRows(count, m_ - k, m_, of_v, left(first) + k, v + k);
    AddRows(count, m_ - k, m_, of_x, x_ + k, v + k);
    const Reflection<T> made = MakeReflector(m_ - k, v + k);
    b_.d[k] = made.beta;
    b_.left_taus[k] = made.tau;
    b_.e[k] = 0;
    b_.right_taus[k] = T(0);
    const int64_t next = k + 1;
    const int64_t size = n_ - next;
    if (size == 0) return;
    // y = tau A^H v.
    T* const y = y_ + count * n_ + next;
    T* const factors = x_ + count * m_;
    for (int64_t i = k; i < m_; ++i) factors[i] = Conjugate(v[i]);
    std::fill(y, y + size, T(0));
    const int64_t units = (size + kProductColumns - 1) / kProductColumns;
    const double nanoseconds = static_cast<double>((m_ - k) * kProductColumns) / 8;
    stop->Share(units, nanoseconds, [&](int64_t begin, int64_t end) {
      const int64_t column = begin * kProductColumns;
      AddRows(m_ - k, std::min(size, end * kProductColumns) - column, n_, factors + k,
              a_ + k * n_ + next + column, y + column);
    });
    RowProducts(count, m_ - k, m_, left(first) + k, v + k, of_v);
    RowProducts(count, m_ - k, m_, x_ + k, v + k, of_x);
    SubtractRows(count, size, of_v, y_ + next, n_, y);
    SubtractRows(count, size, of_x, right(first) + next, n_, y);
    for (int64_t j = 0; j < size; ++j) y[j] = Product(made.tau, y[j]);
  }

  // Row k, likewise, beside its diagonal.
  void ReduceRow(int64_t first, int64_t k, Stop* stop) {
    const int64_t next = k + 1;
    const int64_t size = n_ - next;
    const int64_t count = k - first;
    T* const w = right(k) + next;
    std::fill(right(k) + PanelOf(k), w, T(0));
    std::copy(a_ + k * n_ + next, a_ + (k + 1) * n_, w);
    T of_y[kMostReflectors];
    T of_w[kMostReflectors];
    for (int64_t p = 0; p <= count; ++p) of_y[p] = -left(first + p)[k];
    for (int64_t p = 0; p < count; ++p) of_w[p] = -x_[p * m_ + k];
    AddRows(count + 1, size, n_, of_y, y_ + next, w);
    AddRows(count, size, n_, of_w, right(first) + next, w);
    const Reflection<T> made = MakeReflector(size, w);
    b_.e[k] = made.beta;
    b_.right_taus[k] = made.tau;
    // x = tau A w.
    const int64_t below = m_ - next;
    T* const x = x_ + count * m_ + next;
    constexpr int64_t kRows = 32;
    stop->Share((below + kRows - 1) / kRows, static_cast<double>(kRows * size) / 8,
                [&](int64_t begin, int64_t end) {
                  const int64_t row = begin * kRows;
                  RowProducts(std::min(below, end * kRows) - row, size, n_,
                              a_ + (next + row) * n_ + next, w, x + row);
                });
    RowProducts(count + 1, size, n_, y_ + next, w, of_y);
    RowProducts(count, size, n_, right(first) + next, w, of_w);
    SubtractRows(count + 1, below, of_y, left(first) + next, m_, x);
    SubtractRows(count, below, of_w, x_ + next, m_, x);
    for (int64_t i = 0; i < below; ++i) x[i] = Product(made.tau, x[i]);
  }

  // y -= the sum of factors[p] * row p. Changes the factors.
  static void SubtractRows(int64_t count, int64_t size, T* factors, const T* rows, int64_t stride,
                           T* y) {
    for (int64_t p = 0; p < count; ++p) factors[p] = -Conjugate(factors[p]);
    AddRows(count, size, stride, factors, rows, y);
  }

  // Subtracts V Y^H + X W^H of the reflectors [first, last) from the block behind them.
  void ReduceBlock(int64_t first, int64_t last, Stop* stop) {
    const int64_t size = n_ - last;
    const int64_t units = (size + kProductColumns - 1) / kProductColumns;
    const double nanoseconds =
        static_cast<double>((m_ - last) * (last - first) * kProductColumns) / 8;
    stop->Share(units, nanoseconds, [&](int64_t begin, int64_t end) {
      const int64_t from = begin * kProductColumns;
      const int64_t to = std::min(size, end * kProductColumns);
      BlockProduct<T> product = {m_ - last, size,      last - first, left(first) + last,    1,
                                 m_,        y_ + last, n_,           a_ + last * n_ + last, n_};
      product.conjugate_a = true;
      SubtractProduct(product, from, to);
      product.a = x_ + last;
      product.b = right(first) + last;
      SubtractProduct(product, from, to);
    });
  }

  const int64_t m_;
  const int64_t n_;
  T* const a_;  // conj(A)
  const Bidiagonal<T>& b_;
  // Of a panel's reflectors v and w, one a row: x and y, by which A - v y^H - x w^H is reflected.
  T* const x_;
  T* const y_;
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
  auto* const d = reinterpret_cast<double*>(more + kMostReflectors * (m + n));
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
