#include "kernels/matmul/panel_product.h"

#include <algorithm>
#include <cstring>

#include "kernels/simd/vector.h"

namespace millstream::kernels {
namespace {

// The rows of a panel that stay in the first cache while rows of A pass by.
constexpr int64_t kMostDepth = 256;

// Sums that fill the registers, with room for a row of the panel.
template <int kBytes>
constexpr int kMostRows = kBytes == 16   ? 2
                          : kBytes == 32 ? 6
                                         : 8;

// Some rows of A times one panel. Adds to C if the sums go on from an earlier part of the depth.
// The sums stay in registers, which takes loops that are unrolled before the compiler looks at the
// array.
template <int kBytes, int kRows>
void MultiplyPanel(const float* a, int64_t a_step, const float* panel, int64_t depth, bool goes_on,
                   float* c, int64_t c_step) {
  constexpr int kVectors = static_cast<int>(kPanelColumns * sizeof(float)) / kBytes;
  constexpr int64_t kStep = kLanes<float, kBytes>;
  Vector<float, kBytes> sums[kRows][kVectors];
#pragma GCC unroll 8
  for (int i = 0; i < kRows; ++i) {
#pragma GCC unroll 4
    for (int j = 0; j < kVectors; ++j) {
      sums[i][j] = Vector<float, kBytes>{};
      if (goes_on) sums[i][j] = Load<kBytes>(c + i * c_step + j * kStep);
    }
  }
  for (int64_t k = 0; k < depth; ++k, panel += kPanelColumns) {
    Vector<float, kBytes> row[kVectors];
#pragma GCC unroll 4
    for (int j = 0; j < kVectors; ++j) row[j] = Load<kBytes>(panel + j * kStep);
#pragma GCC unroll 8
    for (int i = 0; i < kRows; ++i) {
      const float factor = a[i * a_step + k];
#pragma GCC unroll 4
      for (int j = 0; j < kVectors; ++j) sums[i][j] += factor * row[j];
    }
  }
#pragma GCC unroll 8
  for (int i = 0; i < kRows; ++i) {
#pragma GCC unroll 4
    for (int j = 0; j < kVectors; ++j) Store(sums[i][j], c + i * c_step + j * kStep);
  }
}

// A part of the depth of a product with one panel, of `columns` columns.
struct PanelPart {
  const float* a;
  int64_t a_step;
  const float* panel;
  int64_t depth;
  bool goes_on;
  int64_t columns;
  float* c;
  int64_t c_step;
};

// The rows from `row` on.
template <int kBytes, int kRows>
void MultiplyRows(const PanelPart& part, int64_t row) {
  const float* const a = part.a + row * part.a_step;
  float* const c = part.c + row * part.c_step;
  if (part.columns == kPanelColumns) {
    MultiplyPanel<kBytes, kRows>(a, part.a_step, part.panel, part.depth, part.goes_on, c,
                                 part.c_step);
    return;
  }
  // A narrow panel is computed in full beside the result.
  float whole[kRows * kPanelColumns] = {};
  for (int i = 0; i < kRows && part.goes_on; ++i) {
    for (int64_t j = 0; j < part.columns; ++j)
      whole[i * kPanelColumns + j] = c[i * part.c_step + j];
  }
  MultiplyPanel<kBytes, kRows>(a, part.a_step, part.panel, part.depth, part.goes_on, whole,
                               kPanelColumns);
  for (int i = 0; i < kRows; ++i) {
    for (int64_t j = 0; j < part.columns; ++j)
      c[i * part.c_step + j] = whole[i * kPanelColumns + j];
  }
}

template <int kBytes>
struct PanelLoop {
  static void RunPart(const PanelPart& part, int64_t rows) {
    constexpr int kMost = kMostRows<kBytes>;
    int64_t row = 0;
    for (; row + kMost <= rows; row += kMost) MultiplyRows<kBytes, kMost>(part, row);
    if constexpr (kMost > 4) {
      for (; row + 4 <= rows; row += 4) MultiplyRows<kBytes, 4>(part, row);
    }
    if constexpr (kMost > 2) {
      for (; row + 2 <= rows; row += 2) MultiplyRows<kBytes, 2>(part, row);
    }
    for (; row < rows; ++row) MultiplyRows<kBytes, 1>(part, row);
  }

  // Sums are cut so that a panel stays in the first cache. A sum goes on from where it was, so that
  // no bit depends on the cuts.
  static void Run(const PanelProduct& product) {
    int64_t first = 0;
    do {
      const int64_t depth = std::min(product.depth - first, kMostDepth);
      for (int64_t column = 0; column < product.columns; column += kPanelColumns) {
        PanelPart part;
        part.a = product.a + first;
        part.a_step = product.a_step;
        part.panel = product.panels + column * product.depth + first * kPanelColumns;
        part.depth = depth;
        part.goes_on = first > 0;
        part.columns = std::min(product.columns - column, kPanelColumns);
        part.c = product.c + column;
        part.c_step = product.c_step;
        RunPart(part, product.rows);
      }
      first += depth;
    } while (first < product.depth);
  }
};

}  // namespace

void MakePanels(const StridedMatrix& b, int64_t depth, int64_t columns, float* panels) {
  for (int64_t first = 0; first < columns; first += kPanelColumns) {
    float* const panel = panels + first * depth;
    const float* const from = b.data + first * b.column_step;
    const int64_t count = std::min(columns - first, kPanelColumns);
    if (count < kPanelColumns) {
      std::fill(panel, panel + depth * kPanelColumns, 0.0f);
    }
    if (b.column_step == 1) {
      for (int64_t k = 0; k < depth; ++k) {
        std::memcpy(panel + k * kPanelColumns, from + k * b.row_step,
                    static_cast<size_t>(count) * sizeof(float));
      }
      continue;
    }
    // A column after the other: each is read in one go where the matrix is transposed.
    for (int64_t j = 0; j < count; ++j) {
      for (int64_t k = 0; k < depth; ++k) {
        panel[k * kPanelColumns + j] = from[k * b.row_step + j * b.column_step];
      }
    }
  }
}

void MultiplyPanels(const PanelProduct& product) { RunVectorLoop<PanelLoop>(product); }

}  // namespace millstream::kernels
