// The matrix becomes bidiagonal by reflectors, and that diagonal by implicit QR steps of Golub and
// Kahan (G. Golub, C. Van Loan: Matrix Computations, 4th edition, section 8.6).
#include "kernels/linalg/svd.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "kernels/linalg/reflector.h"

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

template <typename T>
void MakeBidiagonal(int64_t m, int64_t n, T* a, const Bidiagonal<T>& b, T* memory, Stop* stop) {
  for (int64_t k = 0; k < n; ++k) {
    if (m >= kStoppableSize && (*stop)()) return;
    T* const v = b.left + k * m;
    for (int64_t i = k; i < m; ++i) v[i - k] = a[i * n + k];
    const Reflection<T> of_column = MakeReflector(m - k, v);
    b.d[k] = of_column.beta;
    b.left_taus[k] = of_column.tau;
    T* const row = a + k * n + k + 1;
    const int64_t size = n - k - 1;
    ReflectFromLeft(v, Conjugate(of_column.tau), {m - k, size, n, row}, memory);
    b.e[k] = 0;
    b.right_taus[k] = T(0);
    if (size == 0) continue;
    T* const w = b.right + k * n;
    for (int64_t j = 0; j < size; ++j) w[j] = Conjugate(row[j]);
    const Reflection<T> of_row = MakeReflector(size, w);
    b.e[k] = of_row.beta;
    b.right_taus[k] = of_row.tau;
    ReflectFromRight(w, of_row.tau, {m - k - 1, size, n, row + n});
  }
}

// The first `count` columns of a product of reflectors H_0 H_1 ..., as rows. Reflector k acts on
// elements k + `offset` and up, of `size` in all.
template <typename T>
void MakeVectors(int64_t reflectors, int64_t offset, int64_t size, int64_t count, const T* vectors,
                 const T* taus, T* result, Stop* stop) {
  std::fill(result, result + count * size, T(0));
  for (int64_t i = 0; i < count; ++i) result[i * size + i] = T(1);
  for (int64_t k = reflectors - 1; k >= 0; --k) {
    if (size >= kStoppableSize && (*stop)()) return;
    const int64_t first = k + offset;
    if (first >= size) continue;
    // H x of a column x, which is a row here: x - tau v (v^H x).
    const T* const v = vectors + k * size;
    for (int64_t i = first; i < count; ++i) {
      T* const x = result + i * size + first;
      const T sum = SumOfConjugateProducts(size - first, v, x);
      SubtractMultiple(size - first, taus[k] * sum, v, x);
    }
  }
}

// The bidiagonal matrix and the vectors that are rotated along; null for none.
template <typename T>
class Iteration {
 public:
  Iteration(const SvdSizes& sizes, double* d, double* e, T* u, T* v)
      : m_(sizes.rows), n_(sizes.columns), d_(d), e_(e), u_(u), v_(v) {
    for (int64_t i = 0; i < n_; ++i) {
      norm_ = std::max(norm_, std::fabs(d_[i]) + std::fabs(e_[i]));
    }
  }

  // False if it takes too many steps.
  bool Run(Stop* stop) {
    constexpr int kMostSteps = 60;
    int steps = 0;
    int64_t last = n_ - 1;
    while (last > 0) {
      if (n_ >= kStoppableSize && (*stop)()) return false;
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
    return true;
  }

 private:
  static constexpr double kTiny = 1e-290;

  bool IsNegligible(int64_t i) const {
    return std::fabs(e_[i]) <= kEpsilon * (std::fabs(d_[i]) + std::fabs(d_[i + 1])) + kTiny;
  }

  void RotateU(int64_t i, int64_t j, double c, double s) {
    if (u_ != nullptr) Rotate(m_, c, s, u_ + i * m_, u_ + j * m_);
  }
  void RotateV(int64_t i, int64_t j, double c, double s) {
    if (v_ != nullptr) Rotate(n_, c, s, v_ + i * n_, v_ + j * n_);
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
      double r = Hypotenuse(y, z);
      double c = r == 0 ? 1 : y / r;
      double s = r == 0 ? 0 : z / r;
      if (k > first) e_[k - 1] = r;
      y = c * d_[k] + s * e_[k];
      e_[k] = c * e_[k] - s * d_[k];
      z = s * d_[k + 1];
      d_[k + 1] *= c;
      RotateV(k, k + 1, c, s);
      r = Hypotenuse(y, z);
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

  const int64_t m_;
  const int64_t n_;
  double* const d_;
  double* const e_;
  T* const u_;
  T* const v_;
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
  T* const left = right + n * n;
  T* const taus = left + m * n;
  auto* const d = reinterpret_cast<double*>(taus + 2 * n);
  T* const more = taus + 4 * n;
  const Bidiagonal<T> b = {d, d + n, left, right, taus, taus + n};
  MakeBidiagonal(m, n, matrix, b, more, stop);
  if (vectors) {
    MakeVectors(n, 0, m, sizes.of_u, left, taus, u, stop);
    MakeVectors(n, 1, n, n, right, taus + n, v, stop);
  }
  *result = {d, vectors ? u : nullptr, vectors ? v : nullptr};
  if (!Iteration<T>(sizes, d, d + n, result->u, result->v).Run(stop)) return false;
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
