// One value that flows through a step of the dynamic executor.
#ifndef MILLSTREAM_CORE_DYNAMIC_VALUE_H_
#define MILLSTREAM_CORE_DYNAMIC_VALUE_H_

#include <utility>

#include "framework/plugin/host_tensor.h"
#include "framework/plugin/plugin.h"
#include "framework/tensor.h"

namespace millstream {

// A tensor and its view for kernels; or, without a tensor, the view of a variable's handle. The
// dims of the view point into the tensor. Copies and moves adjust them.
struct Value {
  Tensor tensor;
  MS_TensorView view = NullView();

  Value() = default;
  explicit Value(Tensor value) : tensor(std::move(value)), view(MakeView(tensor, nullptr)) {}
  Value(const Value& other) : tensor(other.tensor), view(other.view) { PointDims(); }
  Value(Value&& other) noexcept : tensor(std::move(other.tensor)), view(other.view) { PointDims(); }
  Value& operator=(const Value& other) {
    tensor = other.tensor;
    view = other.view;
    PointDims();
    return *this;
  }
  Value& operator=(Value&& other) noexcept {
    tensor = std::move(other.tensor);
    view = other.view;
    PointDims();
    return *this;
  }

 private:
  void PointDims() {
    if (tensor.has_value()) view.dims = tensor.shape().dims().data();
  }
};

}  // namespace millstream

#endif  // MILLSTREAM_CORE_DYNAMIC_VALUE_H_
