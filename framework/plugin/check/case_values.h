// The elements of tensors as numbers, whatever their type.
#ifndef MILLSTREAM_FRAMEWORK_PLUGIN_CHECK_CASE_VALUES_H_
#define MILLSTREAM_FRAMEWORK_PLUGIN_CHECK_CASE_VALUES_H_

#include <cstdint>
#include <string>
#include <vector>

#include "framework/tensor.h"

namespace millstream::plugin_check {

// The element as a number: of every type that has an order, and of both parts of complex ones
// (twice as many). False for other types.
bool NumbersOf(const Tensor& tensor, std::vector<double>* numbers);

}  // namespace millstream::plugin_check

#endif  // MILLSTREAM_FRAMEWORK_PLUGIN_CHECK_CASE_VALUES_H_
