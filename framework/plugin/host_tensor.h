// The host's tensors as plugins see them, and the table "ms.tensor/1".
#ifndef MILLSTREAM_FRAMEWORK_PLUGIN_HOST_TENSOR_H_
#define MILLSTREAM_FRAMEWORK_PLUGIN_HOST_TENSOR_H_

#include <atomic>
#include <cstdint>
#include <utility>

#include "framework/plugin/plugin.h"
#include "framework/status.h"
#include "framework/tensor.h"

// A counted tensor. Made with one reference; ReleaseTensorHandle takes one away.
struct MS_Tensor {
  explicit MS_Tensor(millstream::Tensor value) : tensor(std::move(value)) {}
  const millstream::Tensor tensor;
  std::atomic<int64_t> references{1};
};

namespace millstream {

// Views `tensor`, whose dims and memory the view borrows: the Tensor object must stay where it is
// while the view is used. `handle` is what plugins may retain, or null.
MS_TensorView MakeView(const Tensor& tensor, MS_Tensor* handle);

// A view of nothing: no memory, rank unknown. What a frame's unplanned output starts as.
MS_TensorView NullView();

// Null is allowed.
void ReleaseTensorHandle(MS_Tensor* handle);

// A copy of what a plugin's view, of host memory, shows. INVALID_ARGUMENT for any other memory and
// for resources.
StatusOr<Tensor> CopyOfView(const MS_TensorView& view);

// The Shape that a plugin gave. INVALID_ARGUMENT for an unknown rank, a bad pointer, a negative or
// overflowing dimension.
StatusOr<Shape> ShapeFromAbi(MS_Dims dims);

const MS_Table* TensorInterface();

}  // namespace millstream

#endif  // MILLSTREAM_FRAMEWORK_PLUGIN_HOST_TENSOR_H_
