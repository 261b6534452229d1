// Inputs and outputs of kernels that work on tensor lists.
#ifndef MILLSTREAM_CORE_STRUCTURAL_TENSOR_LIST_FRAME_H_
#define MILLSTREAM_CORE_STRUCTURAL_TENSOR_LIST_FRAME_H_

#include <cstdint>
#include <memory>

#include "core/structural/structural.h"
#include "core/structural/tensor_rows.h"
#include "framework/opaque_cell.h"
#include "framework/shape.h"
#include "framework/status.h"
#include "framework/tensor.h"
#include "framework/tensor_list.h"

namespace millstream {

// The list of input i, which lives until the kernel returns. INVALID_ARGUMENT if the input is no
// scalar, holds no list, or if the node's elements are of another dtype than the list's.
StatusOr<const TensorList*> ListAt(const StructuralFrame& frame, uint32_t i);
// The list of a cell of input i. Errors are those of ListAt.
StatusOr<const TensorList*> CheckedList(const StructuralFrame& frame, uint32_t i,
                                        const OpaqueCell& cell);
// Makes output 0 a list that equals the one of input i, and gives it for a change. It is the
// input's own list if nothing else holds that, else a copy. Errors are those of ListAt.
StatusOr<TensorList*> ChangedListAt(StructuralFrame* frame, uint32_t i);
// Sets output i to a scalar that holds the list.
Status SetList(StructuralFrame* frame, uint32_t i, std::shared_ptr<TensorList> list);

// The value of an integer scalar. INVALID_ARGUMENT if input i is none.
StatusOr<int64_t> ScalarAt(const StructuralFrame& frame, uint32_t i);
// The shape that input i asks for: a vector of sizes, -1 for an unknown one, or the scalar -1.
StatusOr<PartialShape> ElementShapeAt(const StructuralFrame& frame, uint32_t i);
// What the list and input `wanted` know of the shape of elements. INVALID_ARGUMENT if they
// contradict each other.
StatusOr<PartialShape> ElementShapeAs(const StructuralFrame& frame, const TensorList& list,
                                      uint32_t wanted);

// Zeros: empty strings, variants that hold nothing.
StatusOr<Tensor> ZeroTensor(DataType dtype, const Shape& shape);
// The element, which may be unset: then zeros of `shape`. INVALID_ARGUMENT if the element has
// another shape, or if it is unset and `shape` is not fully known.
StatusOr<Tensor> ElementOrZeros(const TensorList& list, const Tensor& element,
                                const PartialShape& shape);

}  // namespace millstream

#endif  // MILLSTREAM_CORE_STRUCTURAL_TENSOR_LIST_FRAME_H_
