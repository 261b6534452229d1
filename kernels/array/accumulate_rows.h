// Adds rows to rows of a table that a list of indices names: segment sums and scattered updates.
#ifndef MILLSTREAM_KERNELS_ARRAY_ACCUMULATE_ROWS_H_
#define MILLSTREAM_KERNELS_ARRAY_ACCUMULATE_ROWS_H_

#include <algorithm>
#include <cstdint>

#include "framework/plugin/plugin.hpp"
#include "kernels/common/wrapping.h"
#include "kernels/simd/instruction_set.h"

namespace millstream::kernels {

// Calls fn(first, last) on ranges that cover columns [0, width), where fn goes through `rows` rows
// of T in `streams` arrays. Threads share columns, not rows: each sees every row, and none waits
// for one that is named often.
template <typename T, typename Fn>
void ForColumns(ms::Frame& frame, int64_t rows, int64_t width, int64_t streams, const Fn& fn) {
  constexpr int64_t kColumnBlock = 128 / static_cast<int64_t>(sizeof(T));
  const int64_t blocks = (width + kColumnBlock - 1) / kColumnBlock;
  const uint64_t cost_ns = static_cast<uint64_t>(rows * streams) * 8;
  if (blocks <= 1 || static_cast<uint64_t>(blocks) * cost_ns < 20000) return fn(0, width);
  frame.ParallelFor(static_cast<uint64_t>(blocks), cost_ns, [&](uint64_t begin, uint64_t end) {
    fn(static_cast<int64_t>(begin) * kColumnBlock,
       std::min(width, static_cast<int64_t>(end) * kColumnBlock));
  });
}

// Adds `width` elements, or one value to each of them.
template <typename T, typename Update>
void AddToRow(const Update* update, int64_t width, T* row) {
  for (int64_t c = 0; c < width; ++c) row[c] = WrappingSum<T>(row[c], update[c]);
}
template <typename T>
void AddToAll(T update, int64_t width, T* row) {
  for (int64_t c = 0; c < width; ++c) row[c] = WrappingSum(row[c], update);
}

// table[ids[k]] += updates[k] for k = 0 to n - 1, in this order for every element of the table, so
// that the sums have the same bits for any number of threads. Rows have `width` elements; negative
// ids are passed over. With `is_scalar`, every element of every row is the one value *updates.
// The table may be of the wider type that sums of Update are computed in.
// REQUIRES: ids are smaller than the number of rows.
template <typename T, typename Update, typename Index>
void AccumulateRows(ms::Frame& frame, const Index* ids, int64_t n, const Update* updates,
                    bool is_scalar, int64_t width, T* table) {
  ForColumns<T>(frame, n, width, 2, [=](int64_t first, int64_t last) {
    for (int64_t k = 0; k < n; ++k) {
      if (ids[k] < 0) continue;
      T* const row = table + static_cast<int64_t>(ids[k]) * width + first;
      if (is_scalar) {
        AddToAll<T>(*updates, last - first, row);
      } else {
        RunLoopOn<T, &AddToRow<T, Update>>(updates + k * width + first, last - first, row);
      }
    }
  });
}

}  // namespace millstream::kernels

#endif  // MILLSTREAM_KERNELS_ARRAY_ACCUMULATE_ROWS_H_
