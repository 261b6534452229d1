// What kernels of ragged tensors share. The rows of a ragged tensor are parts of its values, which
// its splits, one more than there are rows, begin and end; the values may be rows again.
#ifndef MILLSTREAM_KERNELS_SPARSE_RAGGED_H_
#define MILLSTREAM_KERNELS_SPARSE_RAGGED_H_

#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

#include "framework/plugin/plugin.hpp"
#include "kernels/array/strings.h"

namespace millstream::kernels {

using Integers = std::vector<int64_t>;

// The elements of an int32 or int64 tensor.
inline Integers ReadIntegers(const ms::View& view) {
  const int64_t n = view.size();
  if (view.dtype() == MS_INT64) return Integers(view.data<int64_t>(), view.data<int64_t>() + n);
  return Integers(view.data<int32_t>(), view.data<int32_t>() + n);
}

// Splits that begin at 0 or later, never go back, and end at `most` or before.
inline ms::Status CheckSplits(const std::string& name, const ms::View& view, const Integers& splits,
                              int64_t most) {
  if (view.rank() != 1 || splits.empty()) {
    return ms::InvalidArgument(name, ": ragged splits must be a vector that is not empty, got ",
                               view.shape().ToString());
  }
  if (splits[0] < 0) {
    return ms::InvalidArgument(name, ": Ragged splits must be non-negative, got ", splits[0]);
  }
  for (size_t i = 1; i < splits.size(); ++i) {
    if (splits[i] < splits[i - 1]) {
      return ms::InvalidArgument(name, ": Ragged splits must be sorted, got ", splits[i], " after ",
                                 splits[i - 1]);
    }
  }
  if (splits.back() > most) {
    return ms::InvalidArgument(name, ": Ragged splits must not point past values: the last is ",
                               splits.back(), ", and there are ", most);
  }
  return ms::Status();
}

// Copies elements from one tensor to another, both counted in flat order.
inline ms::Status CopyElements(const ms::View& from, int64_t i, const ms::View& to, int64_t j,
                               int64_t count) {
  if (from.dtype() == MS_STRING) return CopyStrings(from, i, to, j, count);
  const uint64_t bytes = ms::ElementSize(from.dtype());
  if (count > 0) {
    std::memcpy(to.data<char>() + static_cast<uint64_t>(j) * bytes,
                from.data<char>() + static_cast<uint64_t>(i) * bytes,
                static_cast<uint64_t>(count) * bytes);
  }
  return ms::Status();
}

}  // namespace millstream::kernels

#endif  // MILLSTREAM_KERNELS_SPARSE_RAGGED_H_
