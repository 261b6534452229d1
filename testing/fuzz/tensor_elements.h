// How many elements a message asks for: memory that the program pays for by itself.
#ifndef MILLSTREAM_TESTING_FUZZ_TENSOR_ELEMENTS_H_
#define MILLSTREAM_TESTING_FUZZ_TENSOR_ELEMENTS_H_

#include <algorithm>
#include <cstdint>

#include "millstream/framework/protos/attr_value.pb.h"
#include "millstream/framework/protos/tensor.pb.h"

namespace millstream::fuzz {

// What targets read at most.
inline constexpr int64_t kMaxElements = int64_t{1} << 20;

// 0 for a shape that is refused.
inline int64_t ElementsOf(const proto::TensorProto& tensor) {
  int64_t count = 1;
  for (const auto& dim : tensor.tensor_shape().dim()) {
    if (__builtin_mul_overflow(count, dim.size(), &count)) return 0;
  }
  return std::max<int64_t>(count, 0);
}

// Of all tensors in an attribute; each counts as one more than kMaxElements at most.
inline int64_t ElementsOf(const proto::AttrValue& value) {
  int64_t count = std::min(ElementsOf(value.tensor()), kMaxElements + 1);
  for (const auto& tensor : value.list().tensor()) {
    count += std::min(ElementsOf(tensor), kMaxElements + 1);
  }
  for (const auto& [name, inner] : value.func().attr()) count += ElementsOf(inner);
  for (const auto& function : value.list().func()) {
    for (const auto& [name, inner] : function.attr()) count += ElementsOf(inner);
  }
  return count;
}

}  // namespace millstream::fuzz

#endif  // MILLSTREAM_TESTING_FUZZ_TENSOR_ELEMENTS_H_
