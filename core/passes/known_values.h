// Queries of passes about shapes and values.
#ifndef MILLSTREAM_CORE_PASSES_KNOWN_VALUES_H_
#define MILLSTREAM_CORE_PASSES_KNOWN_VALUES_H_

#include <cstdint>
#include <optional>
#include <vector>

#include "core/passes/step_ops.h"

namespace millstream {

// True if both shapes are known and equal.
bool HaveSameShape(const StepOps& ops, const Output& a, const Output& b);
// The elements of an integer constant; none for any other value.
std::optional<std::vector<int64_t>> KnownIntegers(const StepOps& ops, const Output& value);

// The vector that `op` adds to each row of `value`, if that is what it does: BiasAdd, or Add or
// AddV2 with a vector on either side.
std::optional<Output> AddedVector(const StepOps& ops, const StepOp& op, const Output& value);

// If all elements have one value that is the same in every step, returns it as a scalar. Recognizes
// constants with equal bits in all elements, Fill of a constant, and views, repetitions and slices
// of these.
std::optional<Tensor> UniformValue(const StepOps& ops, const Output& value);
// True if a scalar equals `number`; +0 and -0 differ. For real types of 32 and 64 bits; false for
// others.
bool IsNumber(const Tensor& scalar, double number);
// True if a scalar of these types is not NaN; false for other types.
bool IsNoNaN(const Tensor& scalar);

}  // namespace millstream

#endif  // MILLSTREAM_CORE_PASSES_KNOWN_VALUES_H_
