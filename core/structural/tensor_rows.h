// Rows of tensors, without copying them.
#ifndef MILLSTREAM_CORE_STRUCTURAL_TENSOR_ROWS_H_
#define MILLSTREAM_CORE_STRUCTURAL_TENSOR_ROWS_H_

#include <cstddef>
#include <cstdint>

#include "framework/shape.h"
#include "framework/tensor.h"

namespace millstream {

// The shape of a row. REQUIRES: the tensor has at least one dimension.
inline Shape RowShape(const Tensor& tensor) { return Shape(tensor.shape().dims().subspan(1)); }

// The shape of `count` rows of shape `row`, one below the other.
inline Shape ShapeOfRows(int64_t count, const Shape& row) {
  Shape shape({count});
  for (const int64_t size : row.dims()) shape.AddDim(size);
  return shape;
}

// A view of the rows of a tensor from `first` on, as a tensor of `shape`: one row or several.
inline Tensor RowsOf(const Tensor& tensor, int64_t first, const Shape& shape) {
  const int64_t rows = tensor.shape().dim(0);
  const size_t row_bytes = rows == 0 ? 0 : tensor.bytes() / static_cast<size_t>(rows);
  return Tensor(tensor.dtype(), shape, tensor.buffer(),
                tensor.offset() + static_cast<size_t>(first) * row_bytes);
}

}  // namespace millstream

#endif  // MILLSTREAM_CORE_STRUCTURAL_TENSOR_ROWS_H_
