// The cells of a fractional pooling over images with the channels last, and loops over them.
#ifndef MILLSTREAM_KERNELS_NN_FRACTIONAL_CELLS_H_
#define MILLSTREAM_KERNELS_NN_FRACTIONAL_CELLS_H_

#include <algorithm>
#include <cstdint>

#include "framework/plugin/plugin.hpp"

namespace millstream::kernels {

struct FractionalCells {
  int64_t batch = 0;
  int64_t height = 0;
  int64_t width = 0;
  int64_t channels = 0;
  int64_t rows = 0;                        // of cells
  int64_t columns = 0;                     // of cells
  const int64_t* row_begins = nullptr;     // rows + 1 positions
  const int64_t* column_begins = nullptr;  // columns + 1 positions
  bool overlapping = false;  // each cell has the first row and column of the next ones too

  int64_t RowEnd(int64_t i) const {
    return std::min(row_begins[i + 1] + (overlapping ? 1 : 0), height);
  }
  int64_t ColumnEnd(int64_t i) const {
    return std::min(column_begins[i + 1] + (overlapping ? 1 : 0), width);
  }
  int64_t Pixel(int64_t n, int64_t y, int64_t x) const {
    return ((n * height + y) * width + x) * channels;
  }
  int64_t ImageSize() const { return height * width * channels; }
  int64_t CellsPerImage() const { return rows * columns * channels; }

  // Calls fn(pixel) with the offset of each of the pixels of a cell, in row-major order.
  template <typename Fn>
  void ForEachPixel(int64_t n, int64_t row, int64_t column, Fn&& fn) const {
    for (int64_t y = row_begins[row]; y < RowEnd(row); ++y) {
      for (int64_t x = column_begins[column]; x < ColumnEnd(column); ++x) fn(Pixel(n, y, x));
    }
  }
};

// The loops of one type.
struct FractionalLoops {
  MS_DType dtype;
  // Rows [begin, end) of cells, counted over all images.
  void (*pool_max)(const FractionalCells&, const void* x, void* y, int64_t begin, int64_t end);
  void (*pool_mean)(const FractionalCells&, const void* x, void* y, int64_t begin, int64_t end);
  // Images [begin, end): dx is zero before.
  void (*max_gradient)(const FractionalCells&, const void* x, const void* dy, void* dx,
                       int64_t begin, int64_t end);
  void (*mean_gradient)(const FractionalCells&, const void* dy, void* dx, int64_t begin,
                        int64_t end);
};
// Null for a type that is not pooled.
const FractionalLoops* FractionalLoopsOf(MS_DType dtype);

}  // namespace millstream::kernels

#endif  // MILLSTREAM_KERNELS_NN_FRACTIONAL_CELLS_H_
