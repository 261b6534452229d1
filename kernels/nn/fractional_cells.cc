#include "kernels/nn/fractional_cells.h"

#include <limits>
#include <type_traits>
#include <vector>

#include "kernels/common/wrapping.h"

namespace millstream::kernels {
namespace {

// Sums beyond the range of integers become its ends.
template <typename T>
T FromSum(double sum) {
  if constexpr (std::is_integral_v<T>) {
    using Limits = std::numeric_limits<T>;
    if (sum >= static_cast<double>(Limits::max())) return Limits::max();
    if (sum <= static_cast<double>(Limits::min())) return Limits::min();
  }
  return static_cast<T>(sum);
}

template <typename T>
void PoolMax(const FractionalCells& cells, const void* input, void* output, int64_t begin,
             int64_t end) {
  const T* const x = static_cast<const T*>(input);
  T* y = static_cast<T*>(output) + begin * cells.columns * cells.channels;
  for (int64_t row = begin; row < end; ++row) {
    for (int64_t column = 0; column < cells.columns; ++column, y += cells.channels) {
      bool first = true;
      cells.ForEachPixel(row / cells.rows, row % cells.rows, column, [&](int64_t pixel) {
        for (int64_t c = 0; c < cells.channels; ++c) {
          y[c] = first || x[pixel + c] > y[c] ? x[pixel + c] : y[c];
        }
        first = false;
      });
    }
  }
}

template <typename T>
void PoolMean(const FractionalCells& cells, const void* input, void* output, int64_t begin,
              int64_t end) {
  const T* const x = static_cast<const T*>(input);
  T* y = static_cast<T*>(output) + begin * cells.columns * cells.channels;
  for (int64_t row = begin; row < end; ++row) {
    for (int64_t column = 0; column < cells.columns; ++column, y += cells.channels) {
      int64_t count = 0;
      std::fill_n(y, cells.channels, T(0));
      cells.ForEachPixel(row / cells.rows, row % cells.rows, column, [&](int64_t pixel) {
        for (int64_t c = 0; c < cells.channels; ++c) y[c] = WrappingSum(y[c], x[pixel + c]);
        ++count;
      });
      for (int64_t c = 0; c < cells.channels && count > 0; ++c) y[c] /= static_cast<T>(count);
    }
  }
}

// To the first of the largest elements.
template <typename T>
void MaxGradient(const FractionalCells& cells, const void* input, const void* gradient,
                 void* result, int64_t begin, int64_t end) {
  const T* const x = static_cast<const T*>(input);
  const T* dy = static_cast<const T*>(gradient) + begin * cells.CellsPerImage();
  T* const dx = static_cast<T*>(result);
  for (int64_t row = begin * cells.rows; row < end * cells.rows; ++row) {
    for (int64_t column = 0; column < cells.columns; ++column) {
      for (int64_t c = 0; c < cells.channels; ++c, ++dy) {
        int64_t best = -1;
        cells.ForEachPixel(row / cells.rows, row % cells.rows, column, [&](int64_t pixel) {
          if (best < 0 || x[pixel + c] > x[best]) best = pixel + c;
        });
        if (best >= 0) dx[best] = WrappingSum(dx[best], *dy);
      }
    }
  }
}

// The sums are of double in every type.
template <typename T>
void MeanGradient(const FractionalCells& cells, const void* gradient, void* result, int64_t begin,
                  int64_t end) {
  const T* dy = static_cast<const T*>(gradient) + begin * cells.CellsPerImage();
  std::vector<double> sums(cells.ImageSize());
  for (int64_t n = begin; n < end; ++n) {
    std::fill(sums.begin(), sums.end(), 0);
    for (int64_t row = 0; row < cells.rows; ++row) {
      for (int64_t column = 0; column < cells.columns; ++column, dy += cells.channels) {
        const int64_t count = (cells.RowEnd(row) - cells.row_begins[row]) *
                              (cells.ColumnEnd(column) - cells.column_begins[column]);
        cells.ForEachPixel(0, row, column, [&](int64_t pixel) {
          for (int64_t c = 0; c < cells.channels; ++c) {
            sums[pixel + c] += static_cast<double>(dy[c]) / static_cast<double>(count);
          }
        });
      }
    }
    T* const dx = static_cast<T*>(result) + n * cells.ImageSize();
    for (int64_t i = 0; i < cells.ImageSize(); ++i) dx[i] = FromSum<T>(sums[i]);
  }
}

template <typename T>
constexpr FractionalLoops kLoops = {ms::DTypeOf<T>(), &PoolMax<T>, &PoolMean<T>, &MaxGradient<T>,
                                    &MeanGradient<T>};

}  // namespace

const FractionalLoops* FractionalLoopsOf(MS_DType dtype) {
  for (const FractionalLoops* loops :
       {&kLoops<float>, &kLoops<double>, &kLoops<int32_t>, &kLoops<int64_t>}) {
    if (loops->dtype == dtype) return loops;
  }
  return nullptr;
}

}  // namespace millstream::kernels
