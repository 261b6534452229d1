// Small matrices become diagonal by QR steps. Large ones are cut at rows into such parts, whose
// decompositions are merged by two (bidiagonal_merge.h).
#include "kernels/linalg/bidiagonal_singular.h"

#include <algorithm>
#include <atomic>
#include <functional>
#include <numeric>

#include "kernels/linalg/alone.h"
#include "kernels/linalg/bidiagonal_merge.h"
#include "kernels/linalg/bidiagonal_steps.h"
#include "kernels/linalg/part_merge.h"

namespace millstream::kernels {
namespace {

BidiagonalWork WorkIn(int64_t n, double* d, double* e, double* memory) {
  const int64_t size = n * n;
  return {n,
          d,
          e,
          memory,
          memory + size,
          memory + 2 * size,
          memory + 3 * size,
          memory + 4 * size,
          memory + 5 * size,
          MergeArraysIn(n, memory + 6 * size)};
}

// The matrix in `count` parts, a power of two, of about the same size. The last row of a part, but
// for the last one, belongs to none.
class Parts {
 public:
  explicit Parts(const BidiagonalWork& work) : work_(work), count_(PartsOf(work.n)) {}

  bool Diagonalize(Stop* stop) {
    constexpr double kNanoseconds = 100000;
    std::atomic<bool> ended{true};
    stop->Share(count_, kNanoseconds, [&](int64_t first, int64_t last) {
      for (int64_t i = first; i < last; ++i) {
        if (!DiagonalizePart(BeginOf(i), EndOf(i))) ended.store(false);
      }
    });
    return ended.load();
  }

  void Merge(Stop* stop) {
    const auto merge = [&](int64_t first, int64_t middle, int64_t last, Stop* of_merge) {
      MergeRows({BeginOf(first), EndOf(middle - 1), EndOf(last - 1)}, work_, of_merge);
    };
    MergeByTwo(work_.n, count_, /*nanoseconds=*/80, merge, stop);
  }

 private:
  int64_t BeginOf(int64_t part) const { return work_.n * part / count_; }
  int64_t EndOf(int64_t part) const { return part + 1 == count_ ? work_.n : BeginOf(part + 1) - 1; }

  bool DiagonalizePart(int64_t begin, int64_t end) const {
    const bool is_last = end == work_.n;
    const int64_t size = end - begin;
    const int64_t columns = is_last ? size : size + 1;
    const int64_t step = work_.n + 1;
    double* const u = work_.u + begin * step;
    double* const v = work_.v + begin * step;
    for (int64_t k = 0; k < size; ++k) u[k * step] = 1;
    for (int64_t k = 0; k < columns; ++k) v[k * step] = 1;
    Alone alone;
    return DiagonalizeBidiagonal({size, !is_last, work_.d + begin, work_.e + begin},
                                 {u, size, work_.n}, {v, columns, work_.n}, &alone);
  }

  const BidiagonalWork& work_;
  const int64_t count_;
};

}  // namespace

bool DecomposeBidiagonal(int64_t n, double* d, double* e, double* memory,
                         BidiagonalVectors* vectors, Stop* stop) {
  if (n == 0) return true;
  if (vectors == nullptr) {
    if (!DiagonalizeBidiagonal({n, false, d, e}, {}, {}, stop)) return false;
    std::sort(d, d + n, std::greater<double>());
    return true;
  }
  const BidiagonalWork work = WorkIn(n, d, e, memory);
  std::fill(work.u, work.u + 2 * n * n, 0.0);
  Parts parts(work);
  if (!parts.Diagonalize(stop)) return false;
  parts.Merge(stop);
  if ((*stop)()) return false;  // what is not done is in no order
  int64_t* const order = work.arrays.order;
  std::iota(order, order + n, 0);
  std::sort(order, order + n,
            [&](int64_t i, int64_t j) { return d[i] != d[j] ? d[i] > d[j] : i < j; });
  std::sort(d, d + n, std::greater<double>());
  *vectors = {work.u, work.v, order};
  return true;
}

}  // namespace millstream::kernels
