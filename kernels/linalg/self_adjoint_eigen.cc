// The matrix becomes tridiagonal by reflectors (G. Golub, C. Van Loan: Matrix Computations, 4th
// edition, section 8.3), a panel of which changes what lies behind it at once (J. Dongarra,
// S. Hammarling, D. Sorensen: Block reduction of matrices to condensed forms for eigenvalue
// computations, 1989).
#include "kernels/linalg/self_adjoint_eigen.h"

#include <algorithm>
#include <cmath>

#include "kernels/linalg/block_product.h"
#include "kernels/linalg/reflector.h"
#include "kernels/linalg/self_adjoint_product.h"

namespace millstream::kernels {
namespace {

constexpr int64_t kSharedSize = 512;  // of a matrix with which several threads multiply a vector

// A = Q T Q^H, where the diagonal of T is d and the other ones are e, real numbers.
template <typename T>
struct Reduction {
  int64_t n;
  T* a;  // the upper triangle of conj(A), whose row k is column k of A
  double* d;
  double* e;
  T* vectors;  // the reflectors of Q: row k from place k + 1 on, with zeros before a one
  T* taus;
  T* sums;      // of parts of a product
  T* partners;  // of a panel's reflectors v, one a row: w, by which A - v w^H - w v^H is reflected
};

// y -= V (W^H x) + W (V^H x) for the reflectors [first, k) and their partners, of which elements
// before `begin` are left out.
template <typename T>
void SubtractPairs(const Reduction<T>& all, int64_t first, int64_t k, int64_t begin, const T* x,
                   T* y) {
  const int64_t size = all.n - begin;
  const int64_t count = k - first;
  const T* const v = all.vectors + first * all.n + begin;
  const T* const w = all.partners + begin;
  T of_v[kMostReflectors];
  T of_w[kMostReflectors];
  RowProducts(count, size, all.n, w, x, of_v);
  RowProducts(count, size, all.n, v, x, of_w);
  for (int64_t p = 0; p < count; ++p) {
    of_v[p] = -Conjugate(of_v[p]);
    of_w[p] = -Conjugate(of_w[p]);
  }
  AddRows(count, size, all.n, of_v, v, y);
  AddRows(count, size, all.n, of_w, w, y);
}

// w = A v for the rows and columns from `begin` on, of both triangles of which the upper one of
// conj(A) is there. Parts of a large matrix, of about the same size, have a sum each: their number
// depends on the size alone, and so do the bits of w.
template <typename T>
void MultiplyByBlock(const Reduction<T>& all, int64_t begin, const T* v, T* w, Stop* stop) {
  const int64_t n = all.n;
  const int64_t size = n - begin;
  const T* const block = all.a + begin * n + begin;
  std::fill(w, w + size, T(0));
  if (size < kSharedSize) {
    AddSelfAdjointProduct(UpperRows<T>{0, size, size, n, block}, v, w);
    return;
  }
  const auto begin_of = [&](int64_t part) {
    const double rest = 1 - static_cast<double>(part) / static_cast<double>(kProductParts);
    const double place = static_cast<double>(size) * (1 - std::sqrt(rest));
    return part == kProductParts ? size : static_cast<int64_t>(place) / kProductRows * kProductRows;
  };
  std::fill(all.sums, all.sums + kProductParts * n, T(0));
  const double nanoseconds = static_cast<double>(size * size) / (12 * kProductParts);
  stop->Share(kProductParts, nanoseconds, [&](int64_t first, int64_t last) {
    for (int64_t part = first; part < last; ++part) {
      AddSelfAdjointProduct(UpperRows<T>{begin_of(part), begin_of(part + 1), size, n, block}, v,
                            all.sums + part * n);
    }
  });
  for (int64_t part = 0; part < kProductParts; ++part) {
    for (int64_t i = begin_of(part); i < size; ++i) w[i] += all.sums[part * n + i];
  }
}

// Column k, which earlier reflectors of the panel from `first` on have not changed yet.
template <typename T>
void ReduceColumn(const Reduction<T>& all, int64_t first, int64_t k, Stop* stop) {
  const int64_t n = all.n;
  T* const v = all.vectors + k * n;
  T* const w = all.partners + (k - first) * n;
  std::copy(all.a + k * n + k, all.a + (k + 1) * n, v + k);
  T of_v[kMostReflectors];
  T of_w[kMostReflectors];
  for (int64_t p = first; p < k; ++p) {
    of_v[p - first] = -all.partners[(p - first) * n + k];
    of_w[p - first] = -all.vectors[p * n + k];
  }
  AddRows(k - first, n - k, n, of_v, all.vectors + first * n + k, v + k);
  AddRows(k - first, n - k, n, of_w, all.partners + k, v + k);
  all.d[k] = RealPart(v[k]);
  std::fill(v + first, v + k + 1, T(0));
  std::fill(w + first, w + n, T(0));
  const int64_t next = k + 1;
  const int64_t size = n - next;
  const Reflection<T> made = MakeReflector(size, v + next);
  all.e[k] = made.beta;
  all.taus[k] = made.tau;
  if (made.tau == T(0)) return;
  // From a place on where the vectors are aligned as the matrix is; v is zero before its one.
  const int64_t begin = next / kProductRows * kProductRows;
  MultiplyByBlock(all, begin, v + begin, w + begin, stop);
  std::fill(w + begin, w + next, T(0));
  SubtractPairs(all, first, k, next, v + next, w + next);
  // w = p - tau (p^H v) v / 2 with p = tau A v.
  for (int64_t i = next; i < n; ++i) w[i] = Product(made.tau, w[i]);
  const T half = Product(made.tau, SumOfConjugateProducts(size, w + next, v + next)) * 0.5;
  SubtractMultiple(size, half, v + next, w + next);
}

// Subtracts V W^H + W V^H of the reflectors [first, last) from the block behind them. The last of
// units, which are long ones, come first.
template <typename T>
void ReduceBlock(const Reduction<T>& all, int64_t first, int64_t last, Stop* stop) {
  const int64_t n = all.n;
  const int64_t size = n - last;
  const T* const v = all.vectors + first * n + last;
  const T* const w = all.partners + last;
  T* const block = all.a + last * n + last;
  const int64_t units = (size + kProductColumns - 1) / kProductColumns;
  const double nanoseconds = static_cast<double>(size * (last - first) * kProductColumns) / 8;
  stop->Share(units, nanoseconds, [&](int64_t begin, int64_t end) {
    for (int64_t unit = begin; unit < end; ++unit) {
      const int64_t from = (units - 1 - unit) * kProductColumns;
      const int64_t to = std::min(size, from + kProductColumns);
      // Of the rows that reach these columns in the upper triangle.
      BlockProduct<T> product = {to, size, last - first, v, 1, n, w, n, block, n};
      product.conjugate_a = true;
      SubtractProduct(product, from, to);
      product.a = w;
      product.b = v;
      SubtractProduct(product, from, to);
    }
  });
}

template <typename T>
void MakeTridiagonal(const Reduction<T>& all, Stop* stop) {
  const int64_t n = all.n;
  for (int64_t first = 0; first + 1 < n; first += kMostReflectors) {
    const int64_t last = std::min(first + kMostReflectors, n - 1);
    for (int64_t k = first; k < last; ++k) {
      if (n >= kStoppableSize && (*stop)()) return;
      ReduceColumn(all, first, k, stop);
    }
    ReduceBlock(all, first, last, stop);
  }
  all.d[n - 1] = RealPart(all.a[n * n - 1]);
  all.e[n - 1] = 0;
}

// matrix = Q matrix.
template <typename T>
void MultiplyByQ(const Reduction<T>& all, T* triangle, T* matrix, Stop* stop) {
  const int64_t n = all.n;
  const int64_t panels = (n - 1 + kMostReflectors - 1) / kMostReflectors;
  for (int64_t first = (panels - 1) * kMostReflectors; first >= 0; first -= kMostReflectors) {
    if (n >= kStoppableSize && (*stop)()) return;
    const int64_t next = first + 1;
    const ReflectorPanel<T> panel = {std::min(kMostReflectors, n - next), n - next,
                                     all.vectors + first * n + next, n};
    MakeTriangle(panel, all.taus + first, triangle);
    ReflectBlock(panel, triangle, /*adjoint=*/false, {n - next, n, n, matrix + next * n}, stop);
  }
}

constexpr int64_t kTile = 8;  // whose lines stay in the first cache

// The matrix becomes conj(A), of which the lower triangle of A is given.
template <typename T>
void TakeLowerTriangle(int64_t n, T* matrix) {
  for (int64_t row = 0; row < n; row += kTile) {
    const int64_t last = std::min(row + kTile, n);
    for (int64_t column = 0; column <= row; column += kTile) {
      for (int64_t j = column; j < std::min(column + kTile, n); ++j) {
        for (int64_t i = std::max(row, j + 1); i < last; ++i) {
          matrix[j * n + i] = matrix[i * n + j];
          matrix[i * n + j] = Conjugate(matrix[i * n + j]);
        }
      }
    }
    for (int64_t i = row; i < last; ++i) matrix[i * n + i] = T(RealPart(matrix[i * n + i]));
  }
}

// Column j becomes row order[j] of `rows`.
template <typename T>
void SetColumns(int64_t n, const double* rows, const int64_t* order, T* matrix) {
  for (int64_t row = 0; row < n; row += kTile) {
    const int64_t last = std::min(row + kTile, n);
    for (int64_t j = 0; j < n; ++j) {
      const double* const from = rows + order[j] * n;
      for (int64_t i = row; i < last; ++i) matrix[i * n + j] = T(from[i]);
    }
  }
}

}  // namespace

template <typename T>
bool DecomposeSelfAdjoint(int64_t n, bool vectors, T* matrix, double* values, T* memory,
                          Stop* stop) {
  TakeLowerTriangle(n, matrix);
  int exponent = 0;
  if (!ScaleToOne(n * n, matrix, &exponent)) return false;
  T* const taus = memory + n * n;
  T* const sums = taus + n;
  T* const partners = sums + kProductParts * n;
  T* const triangle = partners + kMostReflectors * n;
  auto* const e = reinterpret_cast<double*>(triangle + TriangleNumbers(kMostReflectors));
  const Reduction<T> reduction = {n, matrix, values, e, memory, taus, sums, partners};
  MakeTridiagonal(reduction, stop);
  TridiagonalVectors rows = {};
  if (!DecomposeTridiagonal(n, values, e, e + n, vectors ? &rows : nullptr, stop)) return false;
  const double scale = std::ldexp(1.0, exponent);
  for (int64_t i = 0; i < n; ++i) values[i] *= scale;
  if (vectors) {
    SetColumns(n, rows.rows, rows.order, matrix);
    MultiplyByQ(reduction, triangle, matrix, stop);
  }
  return true;
}

template bool DecomposeSelfAdjoint<double>(int64_t n, bool vectors, double* matrix, double* values,
                                           double* memory, Stop* stop);
template bool DecomposeSelfAdjoint<Complex>(int64_t n, bool vectors, Complex* matrix,
                                            double* values, Complex* memory, Stop* stop);

}  // namespace millstream::kernels
