#include "kernels/matmul/vector_product.h"

#include <algorithm>

#include "kernels/simd/vector.h"

namespace millstream::kernels {
namespace {

// Results that are summed up at a time: they stay in the first-level cache.
constexpr int64_t kColumnsAtOnce = 2048;
// Rows that are read side by side, as many streams as a processor's prefetcher follows.
constexpr int kRowsAtOnce = 8;

// Adds kRows rows, `stride` apart, times their factors to y.
template <int kBytes, int kRows>
void AddRows(const float* x, const float* matrix, int64_t stride, int64_t columns, float* y) {
  constexpr int64_t kStep = kLanes<float, kBytes>;
  int64_t j = 0;
  for (; j + kStep <= columns; j += kStep) {
    Vector<float, kBytes> sum = Load<kBytes>(y + j);
#pragma GCC unroll 8
    for (int i = 0; i < kRows; ++i) {
      sum += x[i] * Load<kBytes>(matrix + i * stride + j);
    }
    Store(sum, y + j);
  }
  for (; j < columns; ++j) {
    for (int i = 0; i < kRows; ++i) y[j] += x[i] * matrix[i * stride + j];
  }
}

template <int kBytes>
struct AddAllRows {
  static void Run(const float* x, const float* matrix, int64_t rows, int64_t stride,
                  int64_t columns, float* y) {
    std::fill_n(y, columns, 0.0f);
    int64_t i = 0;
    for (; i + kRowsAtOnce <= rows; i += kRowsAtOnce) {
      AddRows<kBytes, kRowsAtOnce>(x + i, matrix + i * stride, stride, columns, y);
    }
    for (; i < rows; ++i) AddRows<kBytes, 1>(x + i, matrix + i * stride, stride, columns, y);
  }
};

// The products of kRows rows with x, each in two vectors of lanes.
template <int kBytes, int kRows>
void MultiplyRows(const float* matrix, const float* x, int64_t columns, float* y) {
  using Lane = Vector<float, kBytes>;
  constexpr int64_t kHalf = kLanes<float, kBytes>;
  constexpr int64_t kStep = 2 * kHalf;
  Lane sums[kRows][2];
#pragma GCC unroll 4
  for (int i = 0; i < kRows; ++i) sums[i][0] = sums[i][1] = Lane{};
  int64_t j = 0;
  for (; j + kStep <= columns; j += kStep) {
    const Lane first = Load<kBytes>(x + j);
    const Lane second = Load<kBytes>(x + j + kHalf);
#pragma GCC unroll 4
    for (int i = 0; i < kRows; ++i) {
      sums[i][0] += first * Load<kBytes>(matrix + i * columns + j);
      sums[i][1] += second * Load<kBytes>(matrix + i * columns + j + kHalf);
    }
  }
  for (int i = 0; i < kRows; ++i) {
    float lanes[kHalf];
    Store(sums[i][0] + sums[i][1], lanes);
    for (int64_t step = kHalf / 2; step > 0; step /= 2) {
      for (int64_t lane = 0; lane < step; ++lane) lanes[lane] += lanes[lane + step];
    }
    float sum = lanes[0];
    for (int64_t rest = j; rest < columns; ++rest) sum += matrix[i * columns + rest] * x[rest];
    y[i] = sum;
  }
}

template <int kBytes>
struct MultiplyAllRows {
  static void Run(const float* matrix, const float* x, int64_t rows, int64_t columns, float* y) {
    constexpr int kRowsOfX = 4;  // that share what is read of x
    int64_t i = 0;
    for (; i + kRowsOfX <= rows; i += kRowsOfX) {
      MultiplyRows<kBytes, kRowsOfX>(matrix + i * columns, x, columns, y + i);
    }
    for (; i < rows; ++i) MultiplyRows<kBytes, 1>(matrix + i * columns, x, columns, y + i);
  }
};

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
    RunVectorLoop<AddAllRows>(x, matrix + begin, rows, columns, std::min(piece, columns - begin),
                              y + begin);
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
    RunVectorLoop<MultiplyAllRows>(matrix + begin * columns, x, std::min(piece, rows - begin),
                                   columns, y + begin);
  }
}

}  // namespace millstream::kernels
