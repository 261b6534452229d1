#include "kernels/matmul/strip_blocks.h"

#include <algorithm>

#include "kernels/matmul/window_product.h"

namespace millstream::kernels {
namespace {

// Fewer rows wait for the strips.
constexpr int64_t kFewRows = 8;

constexpr int64_t kBlockRows = 48;
constexpr int64_t kBlockStrips = 4;

int64_t UnitsOf(int64_t count, int64_t unit) { return (count + unit - 1) / unit; }

// A team costs a microsecond. A processor reads a vector from its second cache while it multiplies
// it with about two rows.
int64_t PartsOfFewRows(int64_t rows, int64_t depth, int64_t columns, int64_t threads) {
  constexpr int64_t kLeastOfThread = 1 << 16;  // elements
  const int64_t work = depth * columns * ((rows + 1) / 2);
  const int64_t most = std::max<int64_t>(std::min(threads, StripsOf(columns)), 1);
  return std::clamp<int64_t>(work / kLeastOfThread, 1, most);
}

}  // namespace

StripBlocks::StripBlocks(int64_t rows, int64_t depth, int64_t columns, int64_t threads)
    : rows_(rows), columns_(columns) {
  if (rows == 0 || columns == 0) return;
  if (rows < kFewRows) {
    constexpr uint64_t kHandedOut = 20000;  // enough for a block to be handed to a thread
    down_ = 1;
    across_ = PartsOfFewRows(rows, depth, columns, threads);
    nanoseconds_ = kHandedOut;
    return;
  }
  down_ = UnitsOf(rows, kBlockRows);
  across_ = UnitsOf(StripsOf(columns), kBlockStrips);
  // 64 operations a nanosecond.
  const int64_t elements = std::min(kBlockRows, rows) * kBlockStrips * kStripColumns;
  nanoseconds_ = static_cast<uint64_t>(elements * (depth + 16) / 32) + 1;
}

int64_t StripBlocks::FirstColumn(int64_t i) const {
  const int64_t strip = rows_ < kFewRows ? i * StripsOf(columns_) / across_ : i * kBlockStrips;
  return std::min(strip * kStripColumns, columns_);
}

StripBlock StripBlocks::block(int64_t i) const {
  const int64_t row = i % down_ * kBlockRows;
  const int64_t column = FirstColumn(i / down_);
  return {row, std::min(kBlockRows, rows_ - row), column, FirstColumn(i / down_ + 1) - column};
}

}  // namespace millstream::kernels
