// Products of several matrices with the same rows of one matrix of weights, as one operation
// (_JoinedMatMul).
#ifndef MILLSTREAM_CORE_PASSES_JOINED_PRODUCTS_H_
#define MILLSTREAM_CORE_PASSES_JOINED_PRODUCTS_H_

#include <cstdint>
#include <utility>
#include <vector>

#include "core/passes/step_ops.h"
#include "framework/status.h"

namespace millstream {

// Some rows of the weights.
struct RowRange {
  int64_t first;
  int64_t count;
  friend bool operator<(const RowRange& a, const RowRange& b) {
    return std::make_pair(a.first, a.count) < std::make_pair(b.first, b.count);
  }
};

// True for a MatMul of floats whose right operand is transposed or not, as asked, and the left one
// is not.
bool IsProductWithRows(const StepOp& op, bool transpose_b);

// The attributes of a product with some rows of the weights.
AttrMap PartAttrs(const RowRange& rows, bool transpose_b);

// What follows from some values: for each operation whether it does.
std::vector<bool> Consequences(const StepOps& ops, const std::vector<Output>& values);

// True if an operation of `follows` makes one of the values.
bool FollowsAny(const StepOps& ops, const std::vector<bool>& follows,
                const std::vector<Output>& values);

// Makes one operation of several products with the same rows, at `place`.
Status ReplaceByJoined(StepOps* ops, int place, const std::vector<int>& replaced,
                       const RowRange& rows, bool transpose_b, std::vector<Output> lefts,
                       const Output& weights, std::vector<Output> products);

// Adds such an operation, which is named after `like`, behind all others.
Status AddJoined(StepOps* ops, const Node& like, const RowRange& rows, std::vector<Output> lefts,
                 const Output& weights, std::vector<Output> products);

}  // namespace millstream

#endif  // MILLSTREAM_CORE_PASSES_JOINED_PRODUCTS_H_
