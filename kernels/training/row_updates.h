// What updates of some rows of a variable share.
#ifndef MILLSTREAM_KERNELS_TRAINING_ROW_UPDATES_H_
#define MILLSTREAM_KERNELS_TRAINING_ROW_UPDATES_H_

#include <cstdint>

#include "framework/plugin/plugin.hpp"
#include "kernels/array/accumulate_rows.h"
#include "kernels/array/indices.h"

namespace millstream::kernels {

// All of `indices` are rows of a variable of `rows` rows.
template <typename Index>
ms::Status CheckRowIndices(const ms::View& indices, int64_t rows) {
  const Index* values = indices.data<Index>();
  const int64_t n = indices.size();
  for (int64_t i = 0; i < n; ++i) {
    if (values[i] >= 0 && values[i] < rows) continue;
    return NotInRange("indices", indices, i, rows);
  }
  return ms::Status();
}

// `indices` is a vector, and `grad` has a row of `variable` for each of them.
inline ms::Status CheckRowGradient(const ms::View& variable, const ms::View& grad,
                                   const ms::View& indices) {
  if (variable.rank() == 0) {
    return ms::InvalidArgument("var must have rank 1 or more, but is a scalar");
  }
  if (indices.rank() != 1) {
    return ms::InvalidArgument("indices must be a vector, but has shape ",
                               indices.shape().ToString());
  }
  ms::Shape expected = variable.shape();
  expected[0] = indices.dim(0);
  if (grad.shape() == expected) return ms::Status();
  return ms::InvalidArgument("grad must have shape ", expected.ToString(),
                             ", a row of var for each of indices, but has shape ",
                             grad.shape().ToString());
}

// Calls update(place in variable and slots, place in grad, count) for the rows that indices name,
// in their order for every element; `streams` arrays are read or written.
// REQUIRES: CheckRowGradient.
template <typename T, typename Index, typename Update>
ms::Status UpdateRows(ms::Frame& frame, const ms::View& variable, const ms::View& indices,
                      int64_t streams, const Update& update) {
  const int64_t width = DimProduct(variable.shape(), 1, variable.rank());
  MS_TRY(CheckRowIndices<Index>(indices, variable.dim(0)));
  const Index* rows = indices.data<Index>();
  const int64_t n = indices.size();
  ForColumns<T>(frame, n, width, streams, [=](int64_t first, int64_t last) {
    for (int64_t k = 0; k < n; ++k) {
      update(static_cast<int64_t>(rows[k]) * width + first, k * width + first, last - first);
    }
  });
  return ms::Status();
}

// As above, for indices of either type.
template <typename T, typename Update>
ms::Status UpdateIndexedRows(ms::Frame& frame, const ms::View& variable, const ms::View& indices,
                             int64_t streams, const Update& update) {
  return indices.dtype() == MS_INT32
             ? UpdateRows<T, int32_t>(frame, variable, indices, streams, update)
             : UpdateRows<T, int64_t>(frame, variable, indices, streams, update);
}

}  // namespace millstream::kernels

#endif  // MILLSTREAM_KERNELS_TRAINING_ROW_UPDATES_H_
