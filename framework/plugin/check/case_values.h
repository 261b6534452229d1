// Values for the inputs of kernels.
#ifndef MILLSTREAM_FRAMEWORK_PLUGIN_CHECK_CASE_VALUES_H_
#define MILLSTREAM_FRAMEWORK_PLUGIN_CHECK_CASE_VALUES_H_

#include <cstdint>
#include <string>
#include <vector>

#include "framework/tensor.h"

namespace millstream::plugin_check {

enum class Domain {
  kAny,       // from -2 to 2; integers from -5 to 5, or from 0 where there are none below
  kPositive,  // from 1/4 to 2; integers from 1 to 4
  kUnit,      // from -0.9 to 0.9; 0 of integers
};

// The same for the same arguments. Types without numbers give their first value.
Tensor ValuesOf(DataType type, const Shape& shape, Domain domain, uint32_t seed);
// An int32 or int64 tensor.
Tensor IntegersOf(DataType type, const Shape& shape, const std::vector<int64_t>& values);
Tensor Vector(DataType type, const std::vector<int64_t>& values);
Tensor Scalar(DataType type, int64_t value);
// `value` as a number of a real type.
Tensor Number(DataType type, double value);

// The element as a number: of every type that has an order, and of both parts of complex ones
// (twice as many). False for other types.
bool NumbersOf(const Tensor& tensor, std::vector<double>* numbers);

}  // namespace millstream::plugin_check

#endif  // MILLSTREAM_FRAMEWORK_PLUGIN_CHECK_CASE_VALUES_H_
