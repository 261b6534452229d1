#include "kernels/linalg/triangle.h"

#include <algorithm>

#include "kernels/linalg/block_product.h"
#include "kernels/linalg/row_arithmetic.h"

namespace millstream::kernels {
namespace {

constexpr int64_t kBlock = 32;           // of rows that are solved one after the other
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
  const bool is_lower = system.triangle.is_lower;
  for (int64_t step = first; step < last; ++step) {
    const int64_t i = is_lower ? step : first + last - 1 - step;
    T* const row = system.y + i * system.columns;
    const T* const factors = system.matrix + i * system.n;
    for (int64_t j = is_lower ? first : i + 1; j < (is_lower ? i : last); ++j) {
      SubtractMultiple(end - begin, factors[j], system.y + j * system.columns + begin, row + begin);
    }
    if (system.triangle.has_unit_diagonal) continue;
    for (int64_t k = begin; k < end; ++k) row[k] /= factors[i];
  }
}

template <typename T>
void SolveColumns(const System<T>& system, int64_t begin, int64_t end, Stop* stop) {
  const bool is_lower = system.triangle.is_lower;
  const int64_t blocks = (system.n + kBlock - 1) / kBlock;
  for (int64_t step = 0; step < blocks; ++step) {
    if (stop != nullptr && system.n >= kStoppableRows && (*stop)()) return;
    const int64_t first = (is_lower ? step : blocks - 1 - step) * kBlock;
    const int64_t last = std::min(first + kBlock, system.n);
    const int64_t solved = is_lower ? 0 : last;  // the first of the rows that are solved
    const BlockProduct<T> product = {last - first,
                                     system.columns,
                                     is_lower ? first : system.n - last,
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
    SolveColumns(system, begin * kProductColumns, std::min(columns, end * kProductColumns),
                 nullptr);
  });
}

template void SolveTriangle<double>(int64_t n, int64_t columns, const double* matrix,
                                    Triangle triangle, double* y, Stop* stop);
template void SolveTriangle<Complex>(int64_t n, int64_t columns, const Complex* matrix,
                                     Triangle triangle, Complex* y, Stop* stop);

}  // namespace millstream::kernels
