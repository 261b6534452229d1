// Small matrices become diagonal by QL steps. Large ones are cut into such parts, whose
// decompositions are merged by two (tridiagonal_merge.h).
#include "kernels/linalg/tridiagonal_eigen.h"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <limits>
#include <numeric>

#include "kernels/linalg/alone.h"
#include "kernels/linalg/part_merge.h"
#include "kernels/linalg/reflector.h"
#include "kernels/linalg/tridiagonal_merge.h"

namespace millstream::kernels {
namespace {

constexpr double kEpsilon = std::numeric_limits<double>::epsilon();

// What is no more beside elements of the diagonal, or beside one, the size of the whole matrix:
// among numbers without a limit below, steps end late or never.
double Negligible(double x, double y) {
  constexpr double kTiny = 1e-60;
  return kEpsilon * (std::fabs(x) + std::fabs(y)) + kTiny;
}

// Vectors that are rotated along, one a row; null for none.
struct Rows {
  double* elements;
  int64_t size;
  int64_t stride;
};

// One implicit QL step with Wilkinson's shift on rows [l, m] of the tridiagonal matrix (G. Golub,
// C. Van Loan: Matrix Computations, 4th edition, section 8.3).
void StepQl(int64_t l, int64_t m, double* d, double* e, const Rows& rows) {
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
    if (rows.elements == nullptr) continue;
    double* const row = rows.elements + i * rows.stride;
    Rotate(rows.size, c, s, row + rows.stride, row);
  }
  d[l] -= p;
  e[l] = g;
  e[m] = 0;
}

bool DiagonalizeByQl(int64_t n, double* d, double* e, const Rows& rows, Stop* stop) {
  // Of all values together: beside a large one, the first of many small ones may take long, and the
  // others are near then.
  int64_t steps = 60 * n;
  e[n - 1] = 0;
  for (int64_t l = 0; l < n; ++l) {
    for (;; --steps) {
      if (n >= kStoppableSize && (*stop)()) return false;
      int64_t m = l;
      while (m + 1 < n && std::fabs(e[m]) > Negligible(d[m], d[m + 1])) ++m;
      if (m == l) break;
      if (steps == 0) return false;
      StepQl(l, m, d, e, rows);
    }
  }
  return true;
}

TridiagonalWork WorkIn(int64_t n, double* d, double* memory) {
  return {n, d, memory, memory + n * n, memory + 2 * n * n, MergeArraysIn(n, memory + 3 * n * n)};
}

// The matrix in `count` parts, a power of two, of about the same size.
class Parts {
 public:
  Parts(const TridiagonalWork& work, double* e, double* couplings)
      : work_(work), e_(e), couplings_(couplings), count_(PartsOf(work.n)) {}

  // Decomposes them, without what is between them.
  bool Diagonalize(Stop* stop) {
    for (int64_t i = 1; i < count_; ++i) {
      const int64_t begin = BeginOf(i);
      couplings_[i] = e_[begin - 1];
      work_.d[begin - 1] -= std::fabs(couplings_[i]);
      work_.d[begin] -= std::fabs(couplings_[i]);
    }
    constexpr double kNanoseconds = 100000;
    std::atomic<bool> ended{true};
    stop->Share(count_, kNanoseconds, [&](int64_t first, int64_t last) {
      Alone alone;
      for (int64_t i = first; i < last; ++i) {
        const int64_t begin = BeginOf(i);
        const int64_t size = BeginOf(i + 1) - begin;
        double* const rows = work_.rows + begin * (work_.n + 1);
        for (int64_t k = 0; k < size; ++k) rows[k * (work_.n + 1)] = 1;
        if (!DiagonalizeByQl(size, work_.d + begin, e_ + begin, {rows, size, work_.n}, &alone)) {
          ended.store(false);
        }
      }
    });
    return ended.load();
  }

  void Merge(Stop* stop) {
    const auto merge = [&](int64_t first, int64_t middle, int64_t last, Stop* of_merge) {
      MergeParts({BeginOf(first), BeginOf(middle), BeginOf(last), couplings_[middle]}, work_,
                 of_merge);
    };
    MergeByTwo(work_.n, count_, /*nanoseconds=*/40, merge, stop);
  }

 private:
  int64_t BeginOf(int64_t part) const { return work_.n * part / count_; }

  const TridiagonalWork& work_;
  double* const e_;
  double* const couplings_;
  const int64_t count_;
};

}  // namespace

bool DecomposeTridiagonal(int64_t n, double* d, double* e, double* memory,
                          TridiagonalVectors* vectors, Stop* stop) {
  if (vectors == nullptr) {
    if (!DiagonalizeByQl(n, d, e, {}, stop)) return false;
    std::sort(d, d + n);
    return true;
  }
  const TridiagonalWork work = WorkIn(n, d, memory);
  std::fill(work.rows, work.rows + n * n, 0.0);
  Parts parts(work, e, memory + 3 * n * n + MergeNumbers(n));
  if (!parts.Diagonalize(stop)) return false;
  parts.Merge(stop);
  if ((*stop)()) return false;  // what is not done is in no order
  int64_t* const order = work.arrays.order;
  std::iota(order, order + n, 0);
  SortByValue(d, order, order + n);
  *vectors = {work.rows, order};
  std::sort(d, d + n);
  return true;
}

}  // namespace millstream::kernels
