// Broadcasting of two operands, reduced to as few dimensions as possible.
//
// Shapes are aligned at the right; a dimension of 1 (or a missing one) repeats. Neighbouring
// dimensions in which both operands behave alike are merged, so that equal shapes, a scalar operand
// or a bias row become one or two dimensions, whatever the rank was.
#ifndef MILLSTREAM_KERNELS_ELEMENTWISE_BROADCAST_H_
#define MILLSTREAM_KERNELS_ELEMENTWISE_BROADCAST_H_

#include <algorithm>
#include <array>
#include <cstdint>

#include "framework/plugin/plugin.hpp"

namespace millstream::kernels {

struct BroadcastPlan {
  // How the operands run along the innermost merged dimension.
  enum class Inner { kBoth, kOnlyX, kOnlyY };

  uint32_t rank = 1;  // of the merged output: at least 1
  std::array<int64_t, ms::kMaxRank> dims;
  std::array<int64_t, ms::kMaxRank> x_strides;  // in elements; 0 where x repeats
  std::array<int64_t, ms::kMaxRank> y_strides;
  Inner inner = Inner::kBoth;
  ms::Shape output;  // unmerged
  int64_t size = 0;  // elements of the output
  // Whether the operand has as many elements, so does not repeat.
  bool x_fills = false;
  bool y_fills = false;

  int64_t columns() const { return dims[rank - 1]; }
  int64_t rows() const;
};

// Whether the shapes go together.
bool CanBroadcast(const ms::Shape& x, const ms::Shape& y);

// Fills *plan; INVALID_ARGUMENT when the shapes do not go together.
ms::Status PlanBroadcast(const ms::Shape& x, const ms::Shape& y, BroadcastPlan* plan);

// Which element of an operand, whose strides these are, goes into element `i` of the output.
inline int64_t OperandOffset(const BroadcastPlan& plan,
                             const std::array<int64_t, ms::kMaxRank>& strides, int64_t i) {
  int64_t offset = 0;
  for (uint32_t d = plan.rank; d-- > 0; i /= plan.dims[d]) offset += i % plan.dims[d] * strides[d];
  return offset;
}

// Operands are rows of `columns` elements, `x_step` (`y_step`) elements apart; an output row
// directly follows the one before.
struct RowBlock {
  int64_t x_offset;  // in elements, of the first row
  int64_t y_offset;
  int64_t output_offset;
  int64_t rows;
  int64_t x_step;
  int64_t y_step;
};

// Calls fn(RowBlock) for rows [begin, end) of the output, in as few blocks as strides allow.
template <typename Fn>
void ForEachRowBlock(const BroadcastPlan& plan, int64_t begin, int64_t end, Fn&& fn) {
  const int64_t columns = plan.columns();
  if (plan.rank == 1) {
    if (begin < end) fn(RowBlock{0, 0, 0, 1, 0, 0});
    return;
  }
  const uint32_t last = plan.rank - 2;  // the dimension that rows of one block run along
  int64_t row = begin;
  while (row < end) {
    int64_t rest = row / plan.dims[last];
    const int64_t first = row % plan.dims[last];
    RowBlock block{first * plan.x_strides[last], first * plan.y_strides[last], row * columns, 0,
                   plan.x_strides[last],         plan.y_strides[last]};
    for (uint32_t d = last; d-- > 0;) {
      const int64_t index = rest % plan.dims[d];
      rest /= plan.dims[d];
      block.x_offset += index * plan.x_strides[d];
      block.y_offset += index * plan.y_strides[d];
    }
    block.rows = std::min(end - row, plan.dims[last] - first);
    fn(block);
    row += block.rows;
  }
}

}  // namespace millstream::kernels

#endif  // MILLSTREAM_KERNELS_ELEMENTWISE_BROADCAST_H_
