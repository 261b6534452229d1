#include "core/structural/queue_batches.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "core/device/device_memory.h"
#include "core/structural/tensor_rows.h"

namespace millstream {
namespace {

// Copies a tensor to the first rows, columns, ... of another one of the same rank and type.
Status CopyToCorner(const Tensor& from, const Tensor& to) {
  if (from.num_elements() == 0) return absl::OkStatus();
  if (from.shape() == to.shape()) return CopyElements(from, to);
  const Shape from_row = RowShape(from);
  const Shape to_row = RowShape(to);
  const int64_t rows = from.shape().dim(0);
  if (from_row == to_row) return CopyElements(from, RowsOf(to, 0, from.shape()));
  for (int64_t i = 0; i < rows; ++i) {
    MS_RETURN_IF_ERROR(CopyToCorner(RowsOf(from, i, from_row), RowsOf(to, i, to_row)));
  }
  return absl::OkStatus();
}

int64_t CountOf(const std::vector<QueueRows>& elements) {
  int64_t count = 0;
  for (const QueueRows& rows : elements) count += rows.count;
  return count;
}

// Component `k` of some elements of one run, as rows.
Tensor RowsAt(const QueueRows& rows, size_t k, const Shape& row) {
  const Shape shape = ShapeOfRows(rows.count, row);
  const Tensor& tensor = rows.components[k];
  return rows.is_batch ? RowsOf(tensor, rows.first, shape) : tensor.Reshaped(shape);
}

// The shape of component `k` in all elements of one run.
Shape ShapeIn(const QueueRows& rows, size_t k) {
  const Tensor& tensor = rows.components[k];
  return rows.is_batch ? RowShape(tensor) : tensor.shape();
}

}  // namespace

StatusOr<std::vector<QueueRows>> SplitBatch(const std::vector<Tensor>& batch) {
  std::vector<QueueRows> elements(static_cast<size_t>(batch[0].shape().dim(0)));
  for (const Tensor& component : batch) {
    const Shape shape = RowShape(component);
    for (size_t i = 0; i < elements.size(); ++i) {
      MS_ASSIGN_OR_RETURN(Tensor row, RowsOf(component, static_cast<int64_t>(i), shape).DeepCopy());
      elements[i].components.push_back(std::move(row));
    }
  }
  return elements;
}

StatusOr<Tensor> JoinRows(const std::vector<QueueRows>& elements, size_t k, DataType dtype,
                          const Shape& row) {
  if (elements.size() == 1) return RowsAt(elements[0], k, row);
  MS_ASSIGN_OR_RETURN(Tensor batch, Tensor::Create(dtype, ShapeOfRows(CountOf(elements), row)));
  int64_t at = 0;
  for (const QueueRows& rows : elements) {
    const Tensor source = RowsAt(rows, k, row);
    MS_RETURN_IF_ERROR(CopyElements(source, RowsOf(batch, at, source.shape())));
    at += rows.count;
  }
  return batch;
}

StatusOr<Tensor> JoinPaddedRows(const std::vector<QueueRows>& elements, size_t k, DataType dtype,
                                const PartialShape& shape) {
  Shape row;
  for (int i = 0; i < shape.rank(); ++i) {
    int64_t size = std::max<int64_t>(shape.dim(i), 0);
    for (const QueueRows& rows : elements) size = std::max(size, ShapeIn(rows, k).dim(i));
    row.AddDim(size);
  }
  MS_ASSIGN_OR_RETURN(Tensor batch, Tensor::Create(dtype, ShapeOfRows(CountOf(elements), row)));
  if (IsPlainData(dtype) && batch.bytes() > 0) std::memset(batch.raw(), 0, batch.bytes());
  int64_t at = 0;
  for (QueueRows rows : elements) {
    while (rows.count > 0) {
      const Tensor element = rows.TakeFirst(1).FirstOf(k);
      MS_RETURN_IF_ERROR(CopyToCorner(element, RowsOf(batch, at++, row)));
    }
  }
  return batch;
}

}  // namespace millstream
