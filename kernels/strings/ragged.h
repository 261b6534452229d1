// Rows of a ragged tensor: row i is the values from splits[i] on, up to splits[i + 1].
#ifndef MILLSTREAM_KERNELS_STRINGS_RAGGED_H_
#define MILLSTREAM_KERNELS_STRINGS_RAGGED_H_

#include <cstdint>
#include <string_view>

#include "framework/plugin/plugin.hpp"
#include "kernels/array/indices.h"

namespace millstream::kernels {

// INVALID_ARGUMENT unless both are vectors, and the splits go from 0 up to at most the number of
// values.
inline ms::Status CheckRagged(std::string_view values_name, const ms::View& values,
                              std::string_view splits_name, const ms::View& splits) {
  if (values.rank() != 1) {
    return ms::InvalidArgument(values_name, " must be a vector, but has shape ",
                               values.shape().ToString());
  }
  if (splits.rank() != 1 || splits.dim(0) == 0) {
    return ms::InvalidArgument(splits_name, " must be a vector of at least one element, but has ",
                               "shape ", splits.shape().ToString());
  }
  int64_t last = 0;
  for (int64_t i = 0; i < splits.dim(0); ++i) {
    const int64_t split = IndexAt(splits, i);
    if (split < last || (i == 0 && split != 0) || split > values.dim(0)) {
      return ms::InvalidArgument(splits_name, "[", i, "] = ", split, " is not in [",
                                 i == 0 ? 0 : last, ", ", i == 0 ? 0 : values.dim(0),
                                 "]: splits begin with 0 and do not go down");
    }
    last = split;
  }
  return ms::Status();
}

}  // namespace millstream::kernels

#endif  // MILLSTREAM_KERNELS_STRINGS_RAGGED_H_
