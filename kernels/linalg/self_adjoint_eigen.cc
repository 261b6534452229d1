// The matrix becomes tridiagonal by reflectors, and that diagonal by implicit QL steps with
// Wilkinson's shift (G. Golub, C. Van Loan: Matrix Computations, 4th edition, section 8.3).
#include "kernels/linalg/self_adjoint_eigen.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "kernels/linalg/reflector.h"

namespace millstream::kernels {
namespace {

constexpr double kEpsilon = std::numeric_limits<double>::epsilon();

// What is no more beside elements of the diagonal. The matrix is scaled.
double Negligible(double x, double y) {
  constexpr double kTiny = 1e-290;
  return kEpsilon * (std::fabs(x) + std::fabs(y)) + kTiny;
}

// A = Q T Q^H, where the diagonal of T is d and the other ones are e, real numbers. The reflectors
// of Q are left in `vectors`, one a row.
template <typename T>
void MakeTridiagonal(int64_t n, T* a, double* d, double* e, T* vectors, T* taus, T* p, Stop* stop) {
  for (int64_t k = 0; k + 1 < n; ++k) {
    if (n >= kStoppableSize && (*stop)()) return;
    const int64_t size = n - k - 1;
    T* const v = vectors + k * n;
    for (int64_t i = 0; i < size; ++i) v[i] = a[(k + 1 + i) * n + k];
    const Reflection<T> made = MakeReflector(size, v);
    d[k] = RealPart(a[k * n + k]);
    e[k] = made.beta;
    taus[k] = made.tau;
    if (made.tau == T(0)) continue;
    T* const block = a + (k + 1) * n + k + 1;
    // p = conj(tau A v), by rows, as A is its own adjoint.
    std::fill(p, p + size, T(0));
    for (int64_t i = 0; i < size; ++i) {
      SubtractMultiple(size, -Conjugate(made.tau * v[i]), block + i * n, p);
    }
    // w = p - tau (p^H v) v / 2, so that the block becomes A - v w^H - w v^H. `p` is conj(w) then.
    const T product = SumOfProducts(size, p, v);
    const T half = made.tau * product * 0.5;
    for (int64_t i = 0; i < size; ++i) p[i] -= Conjugate(half * v[i]);
    for (int64_t i = 0; i < size; ++i) v[i] = Conjugate(v[i]);
    for (int64_t i = 0; i < size; ++i) {  // both while the row is in the first cache
      SubtractMultiple(size, Conjugate(v[i]), p, block + i * n);
      SubtractMultiple(size, Conjugate(p[i]), v, block + i * n);
    }
    for (int64_t i = 0; i < size; ++i) v[i] = Conjugate(v[i]);
  }
  d[n - 1] = RealPart(a[n * n - 1]);
}

// Replaces `q` by Q^T, whose rows are the columns of Q.
template <typename T>
void MakeVectors(int64_t n, const T* vectors, const T* taus, T* q, T* memory, Stop* stop) {
  std::fill(q, q + n * n, T(0));
  for (int64_t i = 0; i < n; ++i) q[i * n + i] = T(1);
  for (int64_t k = n - 2; k >= 0; --k) {
    if (n >= kStoppableSize && (*stop)()) return;
    const int64_t size = n - k - 1;
    ReflectFromLeft(vectors + k * n, taus[k], {size, size, n, q + (k + 1) * n + k + 1}, memory);
  }
  for (int64_t i = 0; i < n; ++i) {
    for (int64_t j = 0; j < i; ++j) std::swap(q[i * n + j], q[j * n + i]);
  }
}

// One QL step on rows [l, m] of the tridiagonal matrix. Row i of `rows` is a vector that is rotated
// along; null for none.
template <typename T>
void StepQl(int64_t l, int64_t m, int64_t n, double* d, double* e, T* rows) {
  double g = (d[l + 1] - d[l]) / (2 * e[l]);
  double r = Hypotenuse(g, 1.0);
  g = d[m] - d[l] + e[l] / (g + std::copysign(r, g));
  double s = 1;
  double c = 1;
  double p = 0;
  for (int64_t i = m - 1; i >= l; --i) {
    const double f = s * e[i];
    const double b = c * e[i];
    r = Hypotenuse(f, g);
    e[i + 1] = r;
    if (r == 0) {  // the matrix falls apart here
      d[i + 1] -= p;
      e[m] = 0;
      return;
    }
    s = f / r;
    c = g / r;
    g = d[i + 1] - p;
    r = (d[i] - g) * s + 2 * c * b;
    p = s * r;
    d[i + 1] = g + p;
    g = c * r - b;
    if (rows != nullptr) Rotate(n, c, s, rows + (i + 1) * n, rows + i * n);
  }
  d[l] -= p;
  e[l] = g;
  e[m] = 0;
}

template <typename T>
bool Diagonalize(int64_t n, double* d, double* e, T* rows, Stop* stop) {
  constexpr int kMostSteps = 60;
  e[n - 1] = 0;
  for (int64_t l = 0; l < n; ++l) {
    if (n >= kStoppableSize && (*stop)()) return false;
    for (int step = 0;; ++step) {
      int64_t m = l;
      while (m + 1 < n && std::fabs(e[m]) > Negligible(d[m], d[m + 1])) ++m;
      if (m == l) break;
      if (step == kMostSteps) return false;
      StepQl(l, m, n, d, e, rows);
    }
  }
  return true;
}

template <typename T>
void Sort(int64_t n, double* values, T* rows) {
  for (int64_t i = 0; i + 1 < n; ++i) {
    const int64_t least = std::min_element(values + i, values + n) - values;
    if (least == i) continue;
    std::swap(values[i], values[least]);
    if (rows != nullptr) std::swap_ranges(rows + i * n, rows + (i + 1) * n, rows + least * n);
  }
}

}  // namespace

template <typename T>
bool DecomposeSelfAdjoint(int64_t n, bool vectors, T* matrix, double* values, T* memory,
                          Stop* stop) {
  for (int64_t i = 0; i < n; ++i) {
    matrix[i * n + i] = T(RealPart(matrix[i * n + i]));
    for (int64_t j = 0; j < i; ++j) matrix[j * n + i] = Conjugate(matrix[i * n + j]);
  }
  int exponent = 0;
  if (!ScaleToOne(n * n, matrix, &exponent)) return false;
  T* const reflectors = memory;
  T* const taus = reflectors + n * n;
  T* const more = taus + n;
  auto* const e = reinterpret_cast<double*>(more + n);
  MakeTridiagonal(n, matrix, values, e, reflectors, taus, more, stop);
  T* const rows = vectors ? matrix : nullptr;
  if (vectors) MakeVectors(n, reflectors, taus, matrix, more, stop);
  if (!Diagonalize(n, values, e, rows, stop)) return false;
  Sort(n, values, rows);
  const double scale = std::ldexp(1.0, exponent);
  for (int64_t i = 0; i < n; ++i) values[i] *= scale;
  if (vectors) {
    for (int64_t i = 0; i < n; ++i) {
      for (int64_t j = 0; j < i; ++j) std::swap(matrix[i * n + j], matrix[j * n + i]);
    }
  }
  return true;
}

template bool DecomposeSelfAdjoint<double>(int64_t n, bool vectors, double* matrix, double* values,
                                           double* memory, Stop* stop);
template bool DecomposeSelfAdjoint<Complex>(int64_t n, bool vectors, Complex* matrix,
                                            double* values, Complex* memory, Stop* stop);

}  // namespace millstream::kernels
