// Functions of shape and value functions that infer the values of small int32 and int64 tensors
// (shapes, axes, sizes).
#ifndef MILLSTREAM_FRAMEWORK_OPS_INDEX_VALUES_H_
#define MILLSTREAM_FRAMEWORK_OPS_INDEX_VALUES_H_

#include <cstdint>
#include <optional>
#include <vector>

#include "framework/shape.h"
#include "framework/shape_context.h"
#include "framework/status.h"

namespace millstream {

// Longer values are not inferred. No description of a shape is longer.
inline constexpr int64_t kMaxFollowedElements = 1024;

// The elements of an int32 or int64 input of rank 0 or 1 as far as known; nullopt when not even
// their number is.
std::optional<PartialValue> IndexElements(const ShapeContext& context, int i);

// The same for a value that must be complete.
std::optional<std::vector<int64_t>> KnownIndexElements(const ShapeContext& context, int i);

// INVALID_ARGUMENT if `count`, the number of entries of input i, is larger than the largest rank.
Status CheckEntryCount(const ShapeContext& context, int i, int64_t count);

// The value of a scalar input when known. INVALID_ARGUMENT when it is no scalar.
StatusOr<std::optional<int64_t>> IndexScalar(const ShapeContext& context, int i);

// The axis that scalar input i names of a tensor of `rank`, counted from the front; nullopt when
// the value or the rank (-1) is unknown. INVALID_ARGUMENT, naming the input, when it is no scalar
// or there is no such axis.
StatusOr<std::optional<int>> AxisInput(const ShapeContext& context, int i, int rank);

// The shape of which input i lists the sizes. Unlike ShapeContext::InputAsShape, a known -1 is an
// error: INVALID_ARGUMENT for no vector, for negative sizes and for more elements than 63 bits
// count.
StatusOr<PartialShape> ShapeFromSizes(const ShapeContext& context, int i);
// The same of `rank` sizes. INVALID_ARGUMENT for another number of them.
StatusOr<PartialShape> ShapeFromSizesOfRank(const ShapeContext& context, int i, int rank);

// Sets the known elements of an int32 or int64 output of rank 0 or 1. Elements that the output's
// type cannot represent become unknown. Does nothing for other types, values that are too long, and
// values that do not fit the output's shape.
void SetIndexValue(ShapeContext* context, int output, PartialValue value);

// Value function: output 0 has the elements of input 0 (another shape is fine).
void ForwardIndexValue(ShapeContext* context);

// nullopt: not representable, or not defined.
using IndexOperation = std::optional<int64_t> (*)(int64_t x, int64_t y);
// Sets output 0 to `operation` of the elements of inputs 0 and 1, a single element broadcasting.
void SetBroadcastIndexValue(ShapeContext* context, IndexOperation operation);

// Value function for a binary elementwise op.
template <IndexOperation operation>
void BinaryIndexValue(ShapeContext* context) {
  SetBroadcastIndexValue(context, operation);
}

}  // namespace millstream

#endif  // MILLSTREAM_FRAMEWORK_OPS_INDEX_VALUES_H_
