// Weights in strips (kernels/matmul/window_product.h) that several plans keep: a plan for each set
// of feed shapes has the same weights, of which there is one copy as long as one of them lives. The
// strips may also be what a kernel makes of weights, as the transformed filter of a convolution.
#ifndef MILLSTREAM_KERNELS_MATMUL_KEPT_STRIPS_H_
#define MILLSTREAM_KERNELS_MATMUL_KEPT_STRIPS_H_

#include <cstdint>
#include <memory>
#include <vector>

#include "kernels/matmul/window_product.h"

namespace millstream::kernels {

struct alignas(64) StripRow {
  float values[kStripColumns];
};

// Row after row of the first strip, then of the next. Never changes.
using KeptStrips = std::shared_ptr<const std::vector<StripRow>>;

// A matrix of floats without gaps: row-major, or the transpose of such a matrix.
struct Weights {
  const float* data;
  int64_t depth;
  int64_t columns;
  bool is_transposed;
};

// The strips of the weights: those that somebody keeps of equal bits, or new ones. Thread-safe.
KeptStrips KeepStrips(const Weights& weights);

// Strips that were computed from weights in another way: those that somebody keeps of equal bits,
// or these. Thread-safe.
KeptStrips KeepComputedStrips(std::vector<StripRow> strips);

}  // namespace millstream::kernels

#endif  // MILLSTREAM_KERNELS_MATMUL_KEPT_STRIPS_H_
