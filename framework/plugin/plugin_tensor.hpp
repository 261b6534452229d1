// Tensors that outlive an execution.
#ifndef MILLSTREAM_FRAMEWORK_PLUGIN_PLUGIN_TENSOR_HPP_
#define MILLSTREAM_FRAMEWORK_PLUGIN_PLUGIN_TENSOR_HPP_

#include <cstdint>
#include <utility>

#include "framework/plugin/plugin.hpp"

namespace ms {
inline namespace v1 {

// Owns one reference to a host tensor, or none. Copies share the tensor.
class Tensor {
 public:
  Tensor() = default;
  // Takes ownership of a reference.
  static Tensor Adopt(MS_Tensor* tensor) {
    Tensor owner;
    owner.tensor_ = tensor;
    return owner;
  }
  Tensor(const Tensor& other) : tensor_(other.tensor_) {
    if (tensor_ != nullptr) api().retain(tensor_);
  }
  Tensor(Tensor&& other) noexcept : tensor_(std::exchange(other.tensor_, nullptr)) {}
  Tensor& operator=(Tensor other) noexcept {
    std::swap(tensor_, other.tensor_);
    return *this;
  }
  ~Tensor() {
    if (tensor_ != nullptr) api().release(tensor_);
  }

  // Creates a tensor in host memory. Elements are not initialized.
  static Status Create(MS_DType dtype, const Shape& shape, Tensor* out) {
    return Made(out, [&](MS_Tensor** made) {
      return api().create(MS_SPACE_HOST, dtype, shape.abi(), made);
    });
  }
  // Input i of an execution. Copied if its memory is reused after the execution.
  static Status OfInput(const Frame& frame, uint32_t i, Tensor* out) {
    return Made(
        out, [&](MS_Tensor** made) { return host_tables.ctx->input_tensor(frame.raw(), i, made); });
  }
  // Of host memory. Takes ownership of the struct unless it fails.
  static Status FromDLPack(DLManagedTensorVersioned* managed, Tensor* out) {
    return Made(out, [&](MS_Tensor** made) { return api().dlpack_import(managed, made); });
  }
  // The same, also of memory of the execution's device.
  static Status FromDLPack(const Frame& frame, DLManagedTensorVersioned* managed, Tensor* out) {
    return Made(out, [&](MS_Tensor** made) {
      return host_tables.ctx->dlpack_import(frame.raw(), managed, made);
    });
  }

  // Sets output i of the execution to this tensor.
  Status SetAsOutput(const Frame& frame, uint32_t i) const {
    return Status::FromAbi(host_tables.ctx->set_output(frame.raw(), i, tensor_));
  }
  // Valid as long as there is a reference. REQUIRES: the object has a tensor.
  View view() const {
    MS_TensorView view{};
    api().view(tensor_, &view);
    return View(view);
  }
  // The same memory: rows [begin, end) of the first dimension, or another shape.
  Status Slice(int64_t begin, int64_t end, Tensor* out) const {
    return Made(out, [&](MS_Tensor** made) { return api().slice(tensor_, begin, end, made); });
  }
  Status Reshape(const Shape& shape, Tensor* out) const {
    return Made(out, [&](MS_Tensor** made) { return api().reshape(tensor_, shape.abi(), made); });
  }
  // Exports the memory until the struct's deleter is called.
  Status ToDLPack(DLManagedTensorVersioned** out) const {
    return Status::FromAbi(api().dlpack_export(tensor_, out));
  }
  MS_Tensor* abi() const { return tensor_; }
  explicit operator bool() const { return tensor_ != nullptr; }

 private:
  static const MS_TensorApi& api() { return *host_tables.tensor; }
  template <typename Make>
  static Status Made(Tensor* out, Make&& make) {
    MS_Tensor* made = nullptr;
    MS_TRY(Status::FromAbi(make(&made)));
    *out = Adopt(made);
    return Status();
  }

  MS_Tensor* tensor_ = nullptr;
};

}  // namespace v1
}  // namespace ms

#endif  // MILLSTREAM_FRAMEWORK_PLUGIN_PLUGIN_TENSOR_HPP_
