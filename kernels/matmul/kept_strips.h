// Weights in strips (kernels/matmul/window_product.h) that several plans keep: a plan for each set
// of feed shapes has the same weights, of which there is one copy as long as one of them lives.
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

// How threads share out a product of few rows, which waits for the strips to be read: each reads a
// part of them in one go and, from step to step, mostly the same one. Its own cache holds a part
// where it would not hold all strips.
class StripParts {
 public:
  // Of `rows` times a matrix [depth, columns].
  StripParts(int64_t rows, int64_t depth, int64_t columns, int64_t threads);

  int64_t count() const { return count_; }
  // The first column of a part; of part count(), the number of columns.
  int64_t first_column(int64_t part) const;

  // What a part is said to cost, in nanoseconds: enough for it to be handed to a thread.
  static constexpr uint64_t kPartNanoseconds = 20000;

 private:
  int64_t columns_;
  int64_t count_;
};

}  // namespace millstream::kernels

#endif  // MILLSTREAM_KERNELS_MATMUL_KEPT_STRIPS_H_
