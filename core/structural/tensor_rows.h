// Rows of tensors, without copying them.
#ifndef MILLSTREAM_CORE_STRUCTURAL_TENSOR_ROWS_H_
#define MILLSTREAM_CORE_STRUCTURAL_TENSOR_ROWS_H_

#include <cstddef>
#include <cstdint>

#include "framework/dtype.h"
#include "framework/shape.h"
#include "framework/tensor.h"

namespace millstream {

// A view of a tensor's memory: of the elements that follow the first `begin`.
inline Tensor ElementsFrom(const Tensor& tensor, int64_t begin, const Shape& shape) {
  return Tensor(tensor.dtype(), shape, tensor.buffer(),
                tensor.offset() + static_cast<size_t>(begin) * DataTypeSize(tensor.dtype()));
}

// Row `index` of a tensor whose rows have the shape `row`.
inline Tensor RowOf(const Tensor& tensor, int64_t index, const Shape& row) {
  return ElementsFrom(tensor, index * row.num_elements(), row);
}

// The shape of the rows. REQUIRES: the rank is not 0.
inline Shape RowShape(const Shape& shape) { return Shape(shape.dims().subspan(1)); }

// The shape of `count` such rows, one below the other.
inline Shape ShapeOfRows(int64_t count, const Shape& row) {
  Shape shape;
  shape.AddDim(count);
  for (const int64_t dim : row.dims()) shape.AddDim(dim);
  return shape;
}

}  // namespace millstream

#endif  // MILLSTREAM_CORE_STRUCTURAL_TENSOR_ROWS_H_
