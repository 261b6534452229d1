// Products of rows that may lie anywhere and a matrix that was arranged before: the loops of
// convolutions, of products of few rows or with weights that are kept, and of attention. What
// follows a product, a bias and an activation, is done while the sums are in registers.
#ifndef MILLSTREAM_KERNELS_MATMUL_WINDOW_PRODUCT_H_
#define MILLSTREAM_KERNELS_MATMUL_WINDOW_PRODUCT_H_

#include <cstdint>
#include <limits>

namespace millstream::kernels {

// An arranged matrix is a row of strips. A strip has this many columns of the matrix, one row after
// the other. Zeros fill the last one.
inline constexpr int64_t kStripColumns = 16;

inline int64_t StripsOf(int64_t columns) { return (columns + kStripColumns - 1) / kStripColumns; }

// The elements of an arranged matrix.
inline int64_t StripsSize(int64_t depth, int64_t columns) {
  return StripsOf(columns) * depth * kStripColumns;
}

// A matrix in memory, row-major or transposed: its first element, and the distances in elements.
struct StridedMatrix {
  const float* data;
  int64_t row_step;
  int64_t column_step;
};

// Arranges the strips [begin, end) of a matrix of `depth` rows. `strips` is where the first strip
// of the matrix lies, and has room for StripsSize elements.
void ArrangeStrips(const StridedMatrix& matrix, int64_t depth, int64_t columns, int64_t begin,
                   int64_t end, float* strips);

// What becomes of a sum: the bias of its column and then the element of `added` at its place are
// added, and the result is kept within [least, most]. A NaN stays one. The bits are those of
// separate operations.
struct ProductEpilogue {
  const float* bias = nullptr;   // none if null
  const float* added = nullptr;  // as the output; none if null
  float least = -std::numeric_limits<float>::infinity();
  float most = std::numeric_limits<float>::infinity();

  bool has_limits() const {
    constexpr float kInfinity = std::numeric_limits<float>::infinity();
    return least != -kInfinity || most != kInfinity;
  }
};

// One product. A row of the left operand is in pieces: the numbers from start + offsets[0] on, then
// those from start + offsets[1] on, and so on, `length` of each.
struct WindowProduct {
  const float* strips;
  int64_t columns;
  const int64_t* offsets;
  int64_t pieces;
  int64_t length;
  int64_t output_step;  // elements from row to row of the result, and of epilogue.added
  ProductEpilogue epilogue;

  int64_t depth() const { return pieces * length; }
};

// Computes the strips [first, last) of some rows. `starts` has the start of each, `output` is the
// first of them in the result, and epilogue.added is at the same place. An element is summed from
// the first number to the last, one multiplication and addition after the other, fused where the
// processor can: its bits depend on its row and its column alone, and work may be cut anywhere.
void MultiplyWindows(const WindowProduct& product, const float* const* starts, int64_t rows,
                     int64_t first, int64_t last, float* output);

// The product of rows at equal distances, each in one piece, and all strips of a matrix.
struct StripProduct {
  const float* rows;  // the first of them
  int64_t row_step;
  int64_t num_rows;
  const float* strips;
  int64_t depth;
  int64_t columns;
  float* output;
  int64_t output_step;
};

// Writes the product as MultiplyWindows does. Zeros where the depth is 0.
void MultiplyStrips(const StripProduct& product);

}  // namespace millstream::kernels

#endif  // MILLSTREAM_KERNELS_MATMUL_WINDOW_PRODUCT_H_
