// Batches of a queue's elements: rows of tensors.
#ifndef MILLSTREAM_CORE_STRUCTURAL_QUEUE_BATCHES_H_
#define MILLSTREAM_CORE_STRUCTURAL_QUEUE_BATCHES_H_

#include <cstddef>
#include <vector>

#include "core/resources/queue_kinds.h"
#include "framework/dtype.h"
#include "framework/shape.h"
#include "framework/status.h"
#include "framework/tensor.h"

namespace millstream {

// The elements of a batch, each in memory of its own.
// REQUIRES: all components have at least one dimension, and as many rows.
StatusOr<std::vector<QueueRows>> SplitBatch(const std::vector<Tensor>& batch);

// Component `k` of all elements, one below the other. It shares the memory of elements that were
// added together. REQUIRES: the component has shape `row` in each.
StatusOr<Tensor> JoinRows(const std::vector<QueueRows>& elements, size_t k, DataType dtype,
                          const Shape& row);

// The same for elements of different sizes: each is in the first rows, columns, ... of a row that
// is as large as the largest. Zeros, empty strings or false follow it.
// REQUIRES: the components have as many dimensions as `shape`.
StatusOr<Tensor> JoinPaddedRows(const std::vector<QueueRows>& elements, size_t k, DataType dtype,
                                const PartialShape& shape);

}  // namespace millstream

#endif  // MILLSTREAM_CORE_STRUCTURAL_QUEUE_BATCHES_H_
