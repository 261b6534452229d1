// Adds rows to rows of a table that a list of indices names: segment sums and scattered updates.
#ifndef MILLSTREAM_KERNELS_ARRAY_ACCUMULATE_ROWS_H_
#define MILLSTREAM_KERNELS_ARRAY_ACCUMULATE_ROWS_H_

#include <cstdint>

#include "framework/plugin/plugin.hpp"
#include "kernels/common/parallel.h"
#include "kernels/common/type_table.h"

namespace millstream::kernels {

// Calls fn(first, last) on ranges that cover columns [0, width), where fn goes through `rows` rows
// of elements of `bytes` in `streams` arrays. Threads share columns, not rows: each sees every row,
// and none waits for one that is named often.
template <typename Fn>
void ForColumns(ms::Frame& frame, int64_t rows, int64_t width, int64_t bytes, int64_t streams,
                const Fn& fn);

// Loops over rows of a large table that indices name ask for the row that comes so many rows later:
// the processor finds out by itself where a row goes on, and not where the next one begins.
inline constexpr int64_t kRowsAhead = 8;

// Asks for the memory of a row that will be read and written; of a long one for the first 512
// bytes.
inline void PrefetchRow(const void* row, int64_t bytes) {
  for (int64_t at = 0; at < bytes && at < 512; at += 64) {
    __builtin_prefetch(static_cast<const char*>(row) + at, 1);
  }
}

// The loop on one type that is computed in: for k = 0 to n - 1, in this order, adds `width`
// elements from updates + k * update_step on to those from table + ids[k] * table_step on. Negative
// ids are passed over.
struct AccumulateLoop {
  MS_DType dtype;
  void (*add)(const int64_t* ids, int64_t n, const void* updates, int64_t update_step,
              int64_t width, void* table, int64_t table_step);
};

// How elements of a type are added up.
class RowAccumulator {
 public:
  // `wide_table`: tables of the 16-bit floating-point types are of float, so that sums are rounded
  // by who reads the table, not after each addition.
  ms::Status Init(MS_DType dtype, bool wide_table);

  // table[ids[k]] += updates[k] for k = 0 to n - 1, in this order for every element of the table,
  // so that the sums have the same bits for any number of threads. Rows have `width` elements;
  // negative ids are passed over. With `is_scalar`, every element of every row is the one value
  // *updates.
  // REQUIRES: ids are int32 or int64, and smaller than the number of rows.
  void Run(ms::Frame& frame, const ms::View& ids, const void* updates, bool is_scalar,
           int64_t width, void* table) const;

 private:
  struct Rows;
  void AddColumns(const Rows& rows, int64_t first, int64_t last) const;
  void AddNarrowRow(const Rows& rows, int64_t id, int64_t k, int64_t first, int64_t last) const;

  const AccumulateLoop* loop_ = nullptr;
  const NarrowFormat* format_ = nullptr;
  bool wide_table_ = false;
  int64_t bytes_ = 0;        // of an update
  int64_t table_bytes_ = 0;  // of an element of the table
};

// ---- Templates
// -----------------------------------------------------------------------------------

namespace internal {
void ForColumns(ms::Frame& frame, int64_t rows, int64_t width, int64_t bytes, int64_t streams,
                RangeFunction fn);
}  // namespace internal

template <typename Fn>
void ForColumns(ms::Frame& frame, int64_t rows, int64_t width, int64_t bytes, int64_t streams,
                const Fn& fn) {
  internal::ForColumns(frame, rows, width, bytes, streams, RangeFunction(fn));
}

}  // namespace millstream::kernels

#endif  // MILLSTREAM_KERNELS_ARRAY_ACCUMULATE_ROWS_H_
