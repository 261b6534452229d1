#include "kernels/linalg/block_solve.h"

#include <algorithm>
#include <complex>

#include "kernels/simd/vector.h"

namespace millstream::kernels {
namespace {

constexpr int kVectors = 2;  // of a strip of columns
template <int kBytes>
constexpr int64_t kWidth = kVectors* kLanes<double, kBytes>;
// Thirty-two registers hold eight rows of a strip, sixteen hold four. Both divide kMostSolvedRows.
template <int kBytes>
constexpr int64_t kGroup = kBytes == 64 ? 8 : 4;

// The rows of whole groups.
template <int kBytes>
int64_t RoundedRows(const BlockSystem<double>& system) {
  return (system.rows + kGroup<kBytes> - 1) / kGroup<kBytes> * kGroup<kBytes>;
}

// Rows of A in groups of kGroup<kBytes>: column d of group g is at a + (g * kMostSolvedRows + d) *
// kGroup<kBytes>. Rows that fill the last group have ones on the diagonal.
template <int kBytes>
void PackTriangle(const BlockSystem<double>& system, double* a) {
  constexpr int64_t kCount = kGroup<kBytes>;
  for (int64_t i = 0; i < RoundedRows<kBytes>(system); ++i) {
    double* const to = a + i / kCount * kCount * kMostSolvedRows + i % kCount;
    const bool is_there = i < system.rows;
    for (int64_t d = 0; d < i; ++d) {
      to[d * kCount] = is_there ? system.a[i * system.a_row_step + d * system.a_column_step] : 0.0;
    }
    to[i * kCount] = is_there && !system.has_unit_diagonal
                         ? system.a[i * (system.a_row_step + system.a_column_step)]
                         : 1.0;
  }
}

// Solves the rows of a group in registers, which takes loops that are unrolled before the compiler
// looks at the array. `x` has the strip, of which the `solved` rows before the group are done.
template <int kBytes>
void SolveGroup(const double* a, int64_t solved, bool has_unit_diagonal, double* x) {
  using Lane = Vector<double, kBytes>;
  constexpr int64_t kStep = kLanes<double, kBytes>;
  constexpr int kCount = static_cast<int>(kGroup<kBytes>);
  Lane rows[kCount][kVectors];
#pragma GCC unroll 8
  for (int i = 0; i < kCount; ++i) {
    rows[i][0] = Load<kBytes>(x + (solved + i) * kWidth<kBytes>);
    rows[i][1] = Load<kBytes>(x + (solved + i) * kWidth<kBytes> + kStep);
  }
  for (int64_t d = 0; d < solved; ++d, a += kCount) {
    const Lane first = Load<kBytes>(x + d * kWidth<kBytes>);
    const Lane second = Load<kBytes>(x + d * kWidth<kBytes> + kStep);
#pragma GCC unroll 8
    for (int i = 0; i < kCount; ++i) {
      const double factor = a[i];
      rows[i][0] -= factor * first;
      rows[i][1] -= factor * second;
    }
  }
#pragma GCC unroll 8
  for (int d = 0; d < kCount; ++d, a += kCount) {
    if (!has_unit_diagonal) {
      rows[d][0] /= a[d];
      rows[d][1] /= a[d];
    }
    Store(rows[d][0], x + (solved + d) * kWidth<kBytes>);
    Store(rows[d][1], x + (solved + d) * kWidth<kBytes> + kStep);
#pragma GCC unroll 8
    for (int i = d + 1; i < kCount; ++i) {
      const double factor = a[i];
      rows[i][0] -= factor * rows[d][0];
      rows[i][1] -= factor * rows[d][1];
    }
  }
}

// A strip is solved in a copy: rows of a matrix whose rows are a power of two long share a few
// places of the caches.
template <int kBytes>
struct Strips {
  static void Run(const BlockSystem<double>& system, int64_t begin, int64_t end) {
    constexpr int64_t kCount = kGroup<kBytes>;
    alignas(64) double a[kMostSolvedRows * kMostSolvedRows];
    alignas(64) double x[kMostSolvedRows * kWidth<kBytes>];
    PackTriangle<kBytes>(system, a);
    std::fill(x, x + RoundedRows<kBytes>(system) * kWidth<kBytes>, 0.0);
    for (int64_t column = begin; column < end; column += kWidth<kBytes>) {
      const int64_t width = std::min(kWidth<kBytes>, end - column);
      double* const c = system.c + column;
      for (int64_t i = 0; i < system.rows; ++i) {
        Copy<kBytes>(c + i * system.c_step, width, x + i * kWidth<kBytes>);
      }
      for (int64_t first = 0; first < system.rows; first += kCount) {
        SolveGroup<kBytes>(a + first * kMostSolvedRows, first, system.has_unit_diagonal, x);
      }
      for (int64_t i = 0; i < system.rows; ++i) {
        Copy<kBytes>(x + i * kWidth<kBytes>, width, c + i * system.c_step);
      }
    }
  }

 private:
  template <int kVectorBytes>
  static void Copy(const double* from, int64_t width, double* to) {
    constexpr int64_t kStep = kLanes<double, kVectorBytes>;
    if (width == kWidth<kVectorBytes>) {
      Store(Load<kVectorBytes>(from), to);
      Store(Load<kVectorBytes>(from + kStep), to + kStep);
      return;
    }
    for (int64_t j = 0; j < width; ++j) to[j] = from[j];
  }
};

}  // namespace

void SolveBlock(const BlockSystem<double>& system, int64_t begin, int64_t end) {
  RunVectorLoop<Strips>(system, begin, end);
}

void SolveBlock(const BlockSystem<Complex>& system, int64_t begin, int64_t end) {
  for (int64_t i = 0; i < system.rows; ++i) {
    Complex* const row = system.c + i * system.c_step;
    for (int64_t d = 0; d < i; ++d) {
      const Complex factor = system.a[i * system.a_row_step + d * system.a_column_step];
      // Not the inline loop for few numbers: contracted here, it would have other bits.
      internal::SubtractLongMultiple(end - begin, system.conjugate_a ? std::conj(factor) : factor,
                                     system.c + d * system.c_step + begin, row + begin);
    }
    if (system.has_unit_diagonal) continue;
    const Complex element = system.a[i * (system.a_row_step + system.a_column_step)];
    const Complex pivot = system.conjugate_a ? std::conj(element) : element;
    if (pivot.imag() == 0) {
      for (int64_t k = begin; k < end; ++k) row[k] /= pivot.real();
    } else {
      for (int64_t k = begin; k < end; ++k) row[k] /= pivot;
    }
  }
}

}  // namespace millstream::kernels
