// Weights in panels (kernels/matmul/window_product.h) that several plans keep: a plan for each set
// of feed shapes has the same weights, of which there is one copy as long as one of them lives.
#ifndef MILLSTREAM_KERNELS_NN_KEPT_PANELS_H_
#define MILLSTREAM_KERNELS_NN_KEPT_PANELS_H_

#include <cstdint>
#include <memory>
#include <vector>

#include "kernels/matmul/window_product.h"

namespace millstream::kernels {

struct alignas(64) PanelRow {
  float values[kStripColumns];
};

// Row after row of the first panel, then of the next. Never changes.
using KeptPanels = std::shared_ptr<const std::vector<PanelRow>>;

// A matrix of floats without gaps: row-major, or the transpose of such a matrix.
struct Weights {
  const float* data;
  int64_t depth;
  int64_t columns;
  bool is_transposed;
};

// The panels of the weights: those that somebody keeps of equal bits, or new ones. Thread-safe.
KeptPanels KeepPanels(const Weights& weights);

}  // namespace millstream::kernels

#endif  // MILLSTREAM_KERNELS_NN_KEPT_PANELS_H_
