// Arithmetic of plugins on shapes and sizes that may be unknown (ms.shape/1).
#ifndef MILLSTREAM_FRAMEWORK_PLUGIN_SHAPE_ARITHMETIC_H_
#define MILLSTREAM_FRAMEWORK_PLUGIN_SHAPE_ARITHMETIC_H_

#include <cstdint>

#include "framework/plugin/plugin.h"
#include "framework/shape.h"
#include "framework/status.h"

namespace millstream {

// Dimensions [begin, end). Negative indices count from the end; `end` INT32_MAX: up to the last.
// Unknown if the rank is. INVALID_ARGUMENT if the range is not in the shape.
StatusOr<PartialShape> SubShapeOf(const PartialShape& shape, int32_t begin, int32_t end);
// Unknown if either rank is. INVALID_ARGUMENT for a rank above every tensor's.
StatusOr<PartialShape> ConcatShapes(const PartialShape& a, const PartialShape& b);
// INVALID_ARGUMENT for a rank above every tensor's, a bad pointer, a size below -1.
StatusOr<PartialShape> PartialShapeFromAbi(MS_Dims dims);

// Arithmetic on sizes. The result is kUnknownDim if an operand is. INVALID_ARGUMENT for negative
// results, results above 63 bits, and divisions with a remainder.
StatusOr<int64_t> AddDims(int64_t a, int64_t b);
StatusOr<int64_t> SubtractDims(int64_t a, int64_t b);
StatusOr<int64_t> MultiplyDims(int64_t a, int64_t b);
StatusOr<int64_t> DivideDims(int64_t a, int64_t b);

}  // namespace millstream

#endif  // MILLSTREAM_FRAMEWORK_PLUGIN_SHAPE_ARITHMETIC_H_
