// Products whose right operand lies in panels of columns, for kernels that multiply with one
// operand many times, or use up the product while it is in a cache.
//
// Each element is summed from the first column of A to the last, one multiplication and addition
// after the other, fused where the processor can. So its bits depend on its row of A and its column
// of B alone, and work may be cut anywhere.
#ifndef MILLSTREAM_KERNELS_MATMUL_PANEL_PRODUCT_H_
#define MILLSTREAM_KERNELS_MATMUL_PANEL_PRODUCT_H_

#include <cstdint>

namespace millstream::kernels {

// A panel has, row after row, this many columns of B. The last one is filled up with zeros.
inline constexpr int64_t kPanelColumns = 16;

inline int64_t NumPanels(int64_t columns) { return (columns + kPanelColumns - 1) / kPanelColumns; }

// The floats that the panels of a matrix take.
inline int64_t PanelFloats(int64_t depth, int64_t columns) {
  return NumPanels(columns) * depth * kPanelColumns;
}

// A matrix in memory, row-major or transposed: its first element, and the distances in elements.
struct StridedMatrix {
  const float* data;
  int64_t row_step;
  int64_t column_step;
};

// Writes the panels of B, which has `depth` rows. `panels` has PanelFloats elements.
void MakePanels(const StridedMatrix& b, int64_t depth, int64_t columns, float* panels);

// Some rows of A times some panels of B.
struct PanelProduct {
  const float* a;  // the first of the rows
  int64_t a_step;  // elements from row to row
  int64_t rows;
  const float* panels;  // the first of them
  int64_t depth;
  int64_t columns;  // of the panels, of which the last one may have fewer
  float* c;
  int64_t c_step;
};

// Writes the product to C. Zeros where the depth is 0.
void MultiplyPanels(const PanelProduct& product);

}  // namespace millstream::kernels

#endif  // MILLSTREAM_KERNELS_MATMUL_PANEL_PRODUCT_H_
