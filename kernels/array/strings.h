// Moving the cells of string tensors, which the host alone may copy.
#ifndef MILLSTREAM_KERNELS_ARRAY_STRINGS_H_
#define MILLSTREAM_KERNELS_ARRAY_STRINGS_H_

#include <cstdint>
#include <string_view>

#include "framework/plugin/plugin.hpp"

namespace millstream::kernels {

// Sets cell `j` of `target` to the text of cell `i` of `source`, both counted in flat order.
inline ms::Status CopyString(const ms::View& source, int64_t i, const ms::View& target, int64_t j) {
  std::string_view text;
  MS_TRY(source.GetString(i, &text));
  return target.SetString(j, text);
}

// Cells [i, i + count) of `source` to cells [j, j + count) of `target`.
inline ms::Status CopyStrings(const ms::View& source, int64_t i, const ms::View& target, int64_t j,
                              int64_t count) {
  for (int64_t k = 0; k < count; ++k) MS_TRY(CopyString(source, i + k, target, j + k));
  return ms::Status();
}

}  // namespace millstream::kernels

#endif  // MILLSTREAM_KERNELS_ARRAY_STRINGS_H_
