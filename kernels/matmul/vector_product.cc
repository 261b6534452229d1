#include "kernels/matmul/vector_product.h"

#include <algorithm>

#include "kernels/simd/vector.h"

namespace millstream::kernels {
namespace {

using Lane = Vector<float>;

// Results that are summed up at a time: they stay in the first-level cache.
constexpr int64_t kColumnsAtOnce = 2048;
// Rows that are read side by side, as many streams as a processor's prefetcher follows.
constexpr int kRowsAtOnce = 8;

// Adds kRows rows, `stride` apart, times their factors to y.
template <int kRows>
void AddRows(const float* x, const float* matrix, int64_t stride, int64_t columns, float* y) {
  int64_t j = 0;
  for (; j + kLanes<float> <= columns; j += kLanes<float>) {
    Lane sum = Load(y + j);
#pragma GCC unroll 8
    for (int i = 0; i < kRows; ++i) sum += Broadcast(x[i]) * Load(matrix + i * stride + j);
    Store(sum, y + j);
  }
  for (; j < columns; ++j) {
    for (int i = 0; i < kRows; ++i) y[j] += x[i] * matrix[i * stride + j];
  }
}

void AddAllRows(const float* x, const float* matrix, int64_t rows, int64_t stride, int64_t columns,
                float* y) {
  std::fill_n(y, columns, 0.0f);
  int64_t i = 0;
  for (; i + kRowsAtOnce <= rows; i += kRowsAtOnce) {
    AddRows<kRowsAtOnce>(x + i, matrix + i * stride, stride, columns, y);
  }
  for (; i < rows; ++i) AddRows<1>(x + i, matrix + i * stride, stride, columns, y);
}

// The products of kRows rows with x, each in two vectors of lanes.
template <int kRows>
void MultiplyRows(const float* matrix, const float* x, int64_t columns, float* y) {
  constexpr int64_t kStep = 2 * kLanes<float>;
  Lane sums[kRows][2];
#pragma GCC unroll 4
  for (int i = 0; i < kRows; ++i) sums[i][0] = sums[i][1] = Lane{};
  int64_t j = 0;
  for (; j + kStep <= columns; j += kStep) {
    const Lane first = Load(x + j);
    const Lane second = Load(x + j + kLanes<float>);
#pragma GCC unroll 4
    for (int i = 0; i < kRows; ++i) {
      sums[i][0] += first * Load(matrix + i * columns + j);
      sums[i][1] += second * Load(matrix + i * columns + j + kLanes<float>);
    }
  }
  for (int i = 0; i < kRows; ++i) {
    float lanes[kLanes<float>];
    Store(sums[i][0] + sums[i][1], lanes);
    for (int64_t step = kLanes<float> / 2; step > 0; step /= 2) {
      for (int64_t lane = 0; lane < step; ++lane) lanes[lane] += lanes[lane + step];
    }
    float sum = lanes[0];
    for (int64_t rest = j; rest < columns; ++rest) sum += matrix[i * columns + rest] * x[rest];
    y[i] = sum;
  }
}

void MultiplyAllRows(const float* matrix, const float* x, int64_t rows, int64_t columns, float* y) {
  constexpr int kRowsOfX = 4;  // that share what is read of x
  int64_t i = 0;
  for (; i + kRowsOfX <= rows; i += kRowsOfX) {
    MultiplyRows<kRowsOfX>(matrix + i * columns, x, columns, y + i);
  }
  for (; i < rows; ++i) MultiplyRows<1>(matrix + i * columns, x, columns, y + i);
}

}  // namespace

void RowTimesMatrix(const float* x, const float* matrix, int64_t rows, int64_t columns, int threads,
                    float* y) {
  // Pieces of whole cache lines, at least one a thread where there are as many columns.
  constexpr int64_t kLine = 16;
  const int64_t each = (columns + threads - 1) / threads;
  const int64_t piece = std::min(kColumnsAtOnce, (each + kLine - 1) / kLine * kLine);
  const int64_t pieces = (columns + piece - 1) / piece;
#ifdef _OPENMP
#pragma omp parallel for schedule(static) num_threads(threads) if (threads > 1)
#endif
  for (int64_t p = 0; p < pieces; ++p) {
    const int64_t begin = p * piece;
    AddAllRows(x, matrix + begin, rows, columns, std::min(piece, columns - begin), y + begin);
  }
}

void MatrixTimesColumn(const float* matrix, const float* x, int64_t rows, int64_t columns,
                       int threads, float* y) {
  constexpr int64_t kLine = 16;
  const int64_t each = (rows + threads - 1) / threads;
  const int64_t piece = (each + kLine - 1) / kLine * kLine;
  const int64_t pieces = (rows + piece - 1) / piece;
#ifdef _OPENMP
#pragma omp parallel for schedule(static) num_threads(threads) if (threads > 1)
#endif
  for (int64_t p = 0; p < pieces; ++p) {
    const int64_t begin = p * piece;
    MultiplyAllRows(matrix + begin * columns, x, std::min(piece, rows - begin), columns, y + begin);
  }
}

}  // namespace millstream::kernels
