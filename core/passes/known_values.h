// What passes ask about shapes and values.
#ifndef MILLSTREAM_CORE_PASSES_KNOWN_VALUES_H_
#define MILLSTREAM_CORE_PASSES_KNOWN_VALUES_H_

#include <cstdint>
#include <optional>
#include <vector>

#include "core/passes/step_ops.h"

namespace millstream {

// Whether both shapes are known, and the same.
bool HaveSameShape(const StepOps& ops, const Output& a, const Output& b);
// The elements of an integer constant; nothing for another value.
std::optional<std::vector<int64_t>> KnownIntegers(const StepOps& ops, const Output& value);

// The number that every element is, when that is the same in every step, as a scalar: of constants
// of one bit pattern, and of what is filled with one or is a view, a repetition or a part of such.
std::optional<Tensor> UniformValue(const StepOps& ops, const Output& value);
// Whether a scalar is this number, zeros of both signs being two numbers. Of real types of 32 and
// 64 bits; false for others.
bool IsNumber(const Tensor& scalar, double number);
// Whether a scalar of those types is no NaN; false for others.
bool IsNoNaN(const Tensor& scalar);

}  // namespace millstream

#endif  // MILLSTREAM_CORE_PASSES_KNOWN_VALUES_H_
