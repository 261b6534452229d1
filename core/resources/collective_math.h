// What collective operations compute of the tensors of their members.
#ifndef MILLSTREAM_CORE_RESOURCES_COLLECTIVE_MATH_H_
#define MILLSTREAM_CORE_RESOURCES_COLLECTIVE_MATH_H_

#include <cstdint>
#include <functional>

#include "absl/functional/function_ref.h"
#include "absl/types/span.h"
#include "framework/dtype.h"
#include "framework/status.h"
#include "framework/tensor.h"

namespace millstream {

enum class MergeOp : uint8_t { kAdd, kMul, kMax, kMin };

// Calls `work` once for each of [0, total), perhaps on several threads, and waits. `cost_ns`: about
// what one call takes.
using ParallelLoop = absl::FunctionRef<void(uint64_t total, uint64_t cost_ns,
                                            const std::function<void(uint64_t)>& work)>;
// The same on the caller's thread.
void SerialLoop(uint64_t total, uint64_t cost_ns, const std::function<void(uint64_t)>& work);

// Whether there are reductions of this type: 16-bit and other floating-point numbers, int32 and
// int64.
bool IsReducible(DataType dtype);

// Elements [begin, end) in row-major order, as a vector that shares the memory of `tensor`.
Tensor ElementsOf(const Tensor& tensor, int64_t begin, int64_t end);

// Part `index` of `count` equal parts of the rows, which shares the memory of `tensor`. REQUIRES:
// `tensor` has a first dimension, which `count` divides; 0 <= index < count.
Tensor PartOfRows(const Tensor& tensor, int64_t index, int64_t count);
// The same with memory of its own, unless the part is all. RESOURCE_EXHAUSTED if there is none.
StatusOr<Tensor> CopyPartOfRows(const Tensor& tensor, int64_t index, int64_t count);

// Merges `more` into `result`, element by element: result = result OP more. 16-bit floating-point
// results are rounded once, integers wrap around, and of a number and NaN `result`'s is kept by
// kMax and kMin. REQUIRES: both have one reducible dtype and as many elements; nobody else holds
// the memory of `result`.
void MergeElements(MergeOp op, const Tensor& more, const Tensor& result);

// Merges the tensors in their order, ((a OP b) OP c), and divides by `divisor` at the end;
// quotients of integers are cut off. One tensor that is not divided is given as it is, without a
// copy. RESOURCE_EXHAUSTED if memory is exhausted. REQUIRES: there is one tensor at least; all have
// one shape and one reducible dtype; divisor > 0.
StatusOr<Tensor> MergeTensors(MergeOp op, absl::Span<const Tensor> tensors, int64_t divisor,
                              ParallelLoop loop);

// The same into `result`, which has as many elements as each of the tensors; one tensor is copied.
// REQUIRES: `result` shares no memory with the tensors.
void MergeInto(MergeOp op, absl::Span<const Tensor> tensors, int64_t divisor, ParallelLoop loop,
               const Tensor& result);

// Puts tensors one below the other, in their order. REQUIRES: there is one at least; all have one
// dtype and, but for their first dimension, one shape of rank 1 or more.
StatusOr<Tensor> JoinRows(absl::Span<const Tensor> tensors);

}  // namespace millstream

#endif  // MILLSTREAM_CORE_RESOURCES_COLLECTIVE_MATH_H_
