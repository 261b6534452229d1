#include "kernels/linalg/triangle.h"

#include <algorithm>

#include "kernels/linalg/block_product.h"
#include "kernels/linalg/block_solve.h"

namespace millstream::kernels {
namespace {

constexpr int64_t kBlock = kMostSolvedRows;
constexpr int64_t kStoppableRows = 128;  // fewer take no time

template <typename T>
struct System {
  int64_t n;
  int64_t columns;
  const T* matrix;
  Triangle triangle;
  T* y;
};

// Rows [first, last) of columns [begin, end), when what the other rows contribute was subtracted.
template <typename T>
void SolveRows(const System<T>& system, int64_t first, int64_t last, int64_t begin, int64_t end) {
  const int64_t n = system.n;
  const int64_t columns = system.columns;
  const bool has_unit_diagonal = system.triangle.has_unit_diagonal;
  const int64_t start = system.triangle.is_lower ? first : last - 1;
  const int64_t sign = system.triangle.is_lower ? 1 : -1;
  SolveBlock(BlockSystem<T>{last - first, system.matrix + start * (n + 1), sign * n, sign,
                            has_unit_diagonal, system.y + start * columns, sign * columns},
             begin, end);
}

template <typename T>
void SolveColumns(const System<T>& system, int64_t begin, int64_t end, Stop* stop) {
  const bool is_lower = system.triangle.is_lower;
  const int64_t blocks = (system.n + kBlock - 1) / kBlock;
  // Before row `begin` these columns are zero, and so is their solution.
  const int64_t zero_blocks = system.triangle.has_lower_right_side ? begin / kBlock : 0;
  for (int64_t step = zero_blocks; step < blocks; ++step) {
    if (stop != nullptr && system.n >= kStoppableRows && (*stop)()) return;
    const int64_t first = (is_lower ? step : blocks - 1 - step) * kBlock;
    const int64_t last = std::min(first + kBlock, system.n);
    // The first of the rows that are solved, and are not zero.
    const int64_t solved = is_lower ? zero_blocks * kBlock : last;
    const BlockProduct<T> product = {last - first,
                                     system.columns,
                                     is_lower ? first - solved : system.n - last,
                                     system.matrix + first * system.n + solved,
                                     system.n,
                                     1,
                                     system.y + solved * system.columns,
                                     system.columns,
                                     system.y + first * system.columns,
                                     system.columns};
    if (product.k > 0) SubtractProduct(product, begin, end);
    SolveRows(system, first, last, begin, end);
  }
}

}  // namespace

template <typename T>
void SolveTriangle(int64_t n, int64_t columns, const T* matrix, Triangle triangle, T* y,
                   Stop* stop) {
  const System<T> system = {n, columns, matrix, triangle, y};
  const int64_t units = (columns + kProductColumns - 1) / kProductColumns;
  if (units <= 1) return SolveColumns(system, 0, columns, stop);
  const double size = static_cast<double>(n);
  stop->Share(units, size * size * 4, [&](int64_t begin, int64_t end) {
    for (int64_t unit = begin; unit < end; ++unit) {
      const int64_t column = unit * kProductColumns;
      SolveColumns(system, column, std::min(columns, column + kProductColumns), nullptr);
    }
  });
}

template void SolveTriangle<double>(int64_t n, int64_t columns, const double* matrix,
                                    Triangle triangle, double* y, Stop* stop);
template void SolveTriangle<Complex>(int64_t n, int64_t columns, const Complex* matrix,
                                     Triangle triangle, Complex* y, Stop* stop);

}  // namespace millstream::kernels
