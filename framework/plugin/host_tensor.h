// The host's tensors for plugins, and the table "ms.tensor/1".
#ifndef MILLSTREAM_FRAMEWORK_PLUGIN_HOST_TENSOR_H_
#define MILLSTREAM_FRAMEWORK_PLUGIN_HOST_TENSOR_H_

#include <atomic>
#include <cstdint>
#include <utility>

#include "framework/plugin/plugin.h"
#include "framework/status.h"
#include "framework/tensor.h"

// A reference-counted tensor. Created with one reference; ReleaseTensorHandle releases one.
struct MS_Tensor {
  explicit MS_Tensor(millstream::Tensor value) : tensor(std::move(value)) {}
  const millstream::Tensor tensor;
  std::atomic<int64_t> references{1};
};

namespace millstream {

// A view of `tensor`. It borrows the dims and the memory, so the Tensor object must not move while
// the view is used. `handle` is the handle that plugins may retain; may be null.
MS_TensorView MakeView(const Tensor& tensor, MS_Tensor* handle);

// Where the elements of `tensor` are.
MS_MemRef PlaceOf(const Tensor& tensor);
// True if the elements of `tensor` begin at `place`.
bool IsAt(const Tensor& tensor, const MS_MemRef& place);

// A view without memory and with unknown rank: the initial value of a frame's unplanned output.
MS_TensorView NullView();

// Releases a reference; does nothing for null. Thread-safe.
void ReleaseTensorHandle(MS_Tensor* handle);

// A copy of the tensor of a plugin's view of host memory. INVALID_ARGUMENT for other memory and for
// resources.
StatusOr<Tensor> CopyOfView(const MS_TensorView& view);

// Converts a shape of a plugin. INVALID_ARGUMENT for an unknown rank, a bad pointer, or a negative
// or overflowing dimension.
StatusOr<Shape> ShapeFromAbi(MS_Dims dims);

const MS_Table* TensorInterface();

}  // namespace millstream

#endif  // MILLSTREAM_FRAMEWORK_PLUGIN_HOST_TENSOR_H_
