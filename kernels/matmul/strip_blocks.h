// How a product with strips (kernels/matmul/window_product.h) is cut into blocks, which threads
// share out. The bits of the product do not depend on it.
#ifndef MILLSTREAM_KERNELS_MATMUL_STRIP_BLOCKS_H_
#define MILLSTREAM_KERNELS_MATMUL_STRIP_BLOCKS_H_

#include <cstdint>

#include "framework/plugin/plugin.hpp"
#include "kernels/common/parallel.h"

namespace millstream::kernels {

// Rows and columns of the result. A block begins with a strip.
struct StripBlock {
  int64_t row;
  int64_t rows;
  int64_t column;
  int64_t columns;
};

// The blocks of the product of `rows` rows and a matrix [depth, columns]. They cover the result,
// and are not empty. There are none if the result is.
//
// Many rows are cut into blocks that are large enough for a thread and small enough for a cache.
// A product of few rows waits for the strips to be read: there is one block for each thread where
// there is enough to read, which the thread reads in one go and, from step to step, mostly the same
// one. Its own cache holds a part of the strips where it would not hold all.
class StripBlocks {
 public:
  StripBlocks(int64_t rows, int64_t depth, int64_t columns, int64_t threads);

  int64_t count() const { return down_ * across_; }
  StripBlock block(int64_t i) const;
  // What a block costs, for ParallelFor.
  uint64_t nanoseconds() const { return nanoseconds_; }

 private:
  int64_t FirstColumn(int64_t i) const;

  int64_t rows_;
  int64_t columns_;
  int64_t down_ = 0;
  int64_t across_ = 0;
  uint64_t nanoseconds_ = 1;
};

// Calls fn(block) for each of the blocks, as StoppableFor does.
template <typename Fn>
ms::Status ForEachStripBlock(ms::Frame& frame, int64_t rows, int64_t depth, int64_t columns,
                             Fn&& fn) {
  const StripBlocks blocks(rows, depth, columns, static_cast<int64_t>(frame.num_threads()));
  return StoppableFor(frame, static_cast<uint64_t>(blocks.count()), blocks.nanoseconds(),
                      [&](int64_t begin, int64_t end) {
                        for (int64_t i = begin; i < end; ++i) fn(blocks.block(i));
                      });
}

}  // namespace millstream::kernels

#endif  // MILLSTREAM_KERNELS_MATMUL_STRIP_BLOCKS_H_
