// Small matrices become diagonal by QR steps. Large ones are cut at rows into such parts, whose
// decompositions are merged by two (bidiagonal_merge.h).
#include "kernels/linalg/bidiagonal_singular.h"

#include <algorithm>
#include <atomic>
#include <functional>

#include "kernels/linalg/alone.h"
#include "kernels/linalg/bidiagonal_merge.h"
#include "kernels/linalg/bidiagonal_steps.h"

namespace millstream::kernels {
namespace {

constexpr int64_t kSmallMatrix = 32;

BidiagonalWork WorkIn(int64_t n, double* d, double* e, double* memory) {
  double* const arrays = memory + 6 * n * n;
  auto* const indices = reinterpret_cast<int64_t*>(arrays + 4 * n);
  return {n,
          d,
          e,
          memory,
          memory + n * n,
          memory + 2 * n * n,
          memory + 3 * n * n,
          memory + 4 * n * n,
          memory + 5 * n * n,
          arrays,
          arrays + n,
          arrays + 2 * n,
          arrays + 3 * n,
          indices,
          indices + n,
          indices + 2 * n};
}

// The matrix in `count` parts, a power of two, of about the same size. The last row of a part, but
// for the last one, belongs to none.
class Parts {
 public:
  explicit Parts(const BidiagonalWork& work) : work_(work) {
    while (work.n / count_ > kSmallMatrix) count_ *= 2;
  }

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

  // All merges of a size at the same time, but the last with all threads.
  void Merge(Stop* stop) {
    for (int64_t step = 1; step < count_; step *= 2) {
      if ((*stop)()) return;
      const int64_t merges = count_ / (2 * step);
      const auto merge = [&](int64_t i, Stop* of_merge) {
        const int64_t middle = (2 * i + 1) * step;
        MergeRows({BeginOf(2 * i * step), EndOf(middle - 1), EndOf((2 * i + 2) * step - 1)}, work_,
                  of_merge);
      };
      if (merges == 1) {
        merge(0, stop);
        return;
      }
      const auto size = static_cast<double>(work_.n) / static_cast<double>(merges);
      stop->Share(merges, 80 * size * size, [&](int64_t begin, int64_t end) {
        Alone alone;
        for (int64_t i = begin; i < end; ++i) merge(i, &alone);
      });
    }
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
  int64_t count_ = 1;
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
  for (int64_t i = 0; i < n; ++i) work.order[i] = i;
  std::sort(work.order, work.order + n,
            [&](int64_t i, int64_t j) { return d[i] != d[j] ? d[i] > d[j] : i < j; });
  std::sort(d, d + n, std::greater<double>());
  *vectors = {work.u, work.v, work.order};
  return true;
}

}  // namespace millstream::kernels
