#include "kernels/array/accumulate_rows.h"

#include <algorithm>
#include <complex>
#include <cstring>
#include <iterator>

#include "kernels/array/indices.h"
#include "kernels/common/wrapping.h"
#include "kernels/simd/instruction_set.h"

namespace millstream::kernels {
namespace {

template <typename T>
void AddRows(const int64_t* ids, int64_t n, const T* updates, int64_t update_step, int64_t width,
             T* table, int64_t table_step) {
  for (int64_t k = 0; k < n; ++k, updates += update_step) {
    if (k + kRowsAhead < n && ids[k + kRowsAhead] >= 0) {
      PrefetchRow(table + ids[k + kRowsAhead] * table_step,
                  width * static_cast<int64_t>(sizeof(T)));
    }
    if (ids[k] < 0) continue;
    T* const __restrict row = table + ids[k] * table_step;
    const T* const __restrict update = updates;
    for (int64_t c = 0; c < width; ++c) row[c] = WrappingSum<T>(row[c], update[c]);
  }
}

template <typename T>
void RunAddRows(const int64_t* ids, int64_t n, const void* updates, int64_t update_step,
                int64_t width, void* table, int64_t table_step) {
  RunLoopOn<T, &AddRows<T>>(ids, n, static_cast<const T*>(updates), update_step, width,
                            static_cast<T*>(table), table_step);
}

template <typename T>
constexpr AccumulateLoop LoopOf() {
  return {ms::DTypeOf<T>(), &RunAddRows<T>};
}
constexpr AccumulateLoop kLoops[] = {LoopOf<float>(),
                                     LoopOf<double>(),
                                     LoopOf<std::complex<float>>(),
                                     LoopOf<std::complex<double>>(),
                                     LoopOf<uint8_t>(),
                                     LoopOf<uint16_t>(),
                                     LoopOf<uint32_t>(),
                                     LoopOf<uint64_t>()};
constexpr TypeTable<AccumulateLoop> kTable = {kLoops, std::size(kLoops)};

}  // namespace

namespace internal {

void ForColumns(ms::Frame& frame, int64_t rows, int64_t width, int64_t bytes, int64_t streams,
                RangeFunction fn) {
  const int64_t column_block = 128 / bytes;
  const int64_t blocks = (width + column_block - 1) / column_block;
  const uint64_t cost_ns = static_cast<uint64_t>(rows * streams) * 8;
  if (blocks <= 1 || static_cast<uint64_t>(blocks) * cost_ns < 20000) return fn(0, width);
  frame.ParallelFor(static_cast<uint64_t>(blocks), cost_ns, [&](uint64_t begin, uint64_t end) {
    fn(static_cast<int64_t>(begin) * column_block,
       std::min(width, static_cast<int64_t>(end) * column_block));
  });
}

}  // namespace internal

// The arguments of one call.
struct RowAccumulator::Rows {
  const ms::View& ids;
  const void* updates;
  bool is_scalar;
  int64_t width;
  void* table;
};

ms::Status RowAccumulator::Init(MS_DType dtype, bool wide_table) {
  loop_ = kTable.Find(dtype);
  if (loop_ == nullptr) return NoLoopFor(dtype);
  format_ = NarrowFormatOf(dtype);
  wide_table_ = wide_table;
  bytes_ = static_cast<int64_t>(ms::ElementSize(dtype));
  table_bytes_ = wide_table ? static_cast<int64_t>(ms::ElementSize(loop_->dtype)) : bytes_;
  return ms::Status();
}

void RowAccumulator::Run(ms::Frame& frame, const ms::View& ids, const void* updates, bool is_scalar,
                         int64_t width, void* table) const {
  const Rows rows{ids, updates, is_scalar, width, table};
  ForColumns(frame, ids.size(), width, table_bytes_, 2,
             [&](int64_t first, int64_t last) { AddColumns(rows, first, last); });
}

void RowAccumulator::AddColumns(const Rows& rows, int64_t first, int64_t last) const {
  constexpr int64_t kIds = 256;
  const auto bytes = static_cast<size_t>(bytes_);
  alignas(16) char repeated[kTileElements * sizeof(float)];
  const int64_t columns =
      rows.is_scalar ? static_cast<int64_t>(sizeof(repeated)) / bytes_ : last - first;
  if (rows.is_scalar) {
    for (int64_t i = 0; i < std::min(columns, last - first); ++i) {
      std::memcpy(repeated + i * bytes_, rows.updates, bytes);
    }
  }
  int64_t ids[kIds];
  const int64_t n = rows.ids.size();
  for (int64_t at = 0; at < n; at += kIds) {
    const int64_t count = std::min(kIds, n - at);
    for (int64_t k = 0; k < count; ++k) ids[k] = IndexAt(rows.ids, at + k);
    if (format_ != nullptr) {
      for (int64_t k = 0; k < count; ++k) {
        if (ids[k] >= 0) AddNarrowRow(rows, ids[k], at + k, first, last);
      }
      continue;
    }
    for (int64_t column = first; column < last; column += columns) {
      const void* const updates = rows.is_scalar ? repeated
                                                 : static_cast<const char*>(rows.updates) +
                                                       (at * rows.width + column) * bytes_;
      loop_->add(ids, count, updates, rows.is_scalar ? 0 : rows.width,
                 std::min(columns, last - column), static_cast<char*>(rows.table) + column * bytes_,
                 rows.width);
    }
  }
}

// Adds update k to row `id`, a tile at a time.
void RowAccumulator::AddNarrowRow(const Rows& rows, int64_t id, int64_t k, int64_t first,
                                  int64_t last) const {
  float update[kTileElements];
  float sum[kTileElements];
  const int64_t only_row = 0;
  for (int64_t column = first; column < last; column += kTileElements) {
    const int64_t n = std::min(kTileElements, last - column);
    const int64_t place = id * rows.width + column;
    if (rows.is_scalar) {
      format_->widen(rows.updates, 0, 1, update);
      std::fill_n(update, n, update[0]);
    } else {
      format_->widen(rows.updates, k * rows.width + column, n, update);
    }
    if (wide_table_) {
      loop_->add(&only_row, 1, update, 0, n, static_cast<float*>(rows.table) + place, 0);
    } else {
      format_->widen(rows.table, place, n, sum);
      loop_->add(&only_row, 1, update, 0, n, sum, 0);
      format_->narrow(sum, n, rows.table, place);
    }
  }
}

}  // namespace millstream::kernels
