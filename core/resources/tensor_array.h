// Arrays of tensors, whose elements are written and read one by one in the course of a step.
#ifndef MILLSTREAM_CORE_RESOURCES_TENSOR_ARRAY_H_
#define MILLSTREAM_CORE_RESOURCES_TENSOR_ARRAY_H_

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/container/flat_hash_map.h"
#include "absl/synchronization/mutex.h"
#include "absl/types/span.h"
#include "core/resources/resource.h"
#include "framework/dtype.h"
#include "framework/shape.h"
#include "framework/status.h"
#include "framework/tensor.h"

namespace millstream {

// The properties of an array.
struct TensorArraySpec {
  DataType dtype = DataType::kInvalid;
  PartialShape element_shape;             // that every element has
  bool dynamic_size = false;              // a write beyond the end makes the array larger
  bool clear_after_read = true;           // an element is released when it was read
  bool identical_element_shapes = false;  // the first write decides the shape of all elements
  bool adds_up = false;                   // for gradients: writes to one element are added up
};

// An array of tensors of one dtype. An element may be written once and then read; with `adds_up`,
// written several times before it is read. Elements share the buffers of the tensors that are
// written. An element that was not written reads as zeros if its shape is known. An array takes
// memory for the elements that were written and their neighbours, whatever its size is; tensors
// that are to be added up are kept until the element is read. Thread-safe. All errors are
// INVALID_ARGUMENT unless memory is exhausted.
class TensorArray final : public Resource {
 public:
  static constexpr char kType[] = "TensorArray";

  // `name` is for lookups and messages.
  TensorArray(std::string name, TensorArraySpec spec, int64_t size)
      : Resource(kType),
        name_(std::move(name)),
        dtype_(spec.dtype),
        clear_after_read_(spec.clear_after_read),
        identical_element_shapes_(spec.identical_element_shapes),
        adds_up_(spec.adds_up),
        size_(size),
        dynamic_size_(spec.dynamic_size),
        element_shape_(std::move(spec.element_shape)) {}
  const std::string& name() const { return name_; }
  DataType dtype() const { return dtype_; }

  // Writes values[k] to element indices[k]. The elements before the first error are written.
  // REQUIRES: both are equally long.
  Status Write(absl::Span<const int64_t> indices, absl::Span<const Tensor> values)
      ABSL_LOCKS_EXCLUDED(mutex_);
  Status WriteAt(int64_t index, Tensor value) ABSL_LOCKS_EXCLUDED(mutex_);
  StatusOr<Tensor> ReadAt(int64_t index) ABSL_LOCKS_EXCLUDED(mutex_);
  // The elements of these indices, in their order.
  StatusOr<std::vector<Tensor>> Read(absl::Span<const int64_t> indices) ABSL_LOCKS_EXCLUDED(mutex_);
  // Makes the array as large as this. An error if it is smaller and has no dynamic size.
  Status Reserve(int64_t size) ABSL_LOCKS_EXCLUDED(mutex_);
  StatusOr<int64_t> size() const ABSL_LOCKS_EXCLUDED(mutex_);
  // The shape that all elements have, as far as it is known.
  PartialShape element_shape() const ABSL_LOCKS_EXCLUDED(mutex_);
  // Further elements must have this shape as well.
  Status MergeElementShape(const PartialShape& shape) ABSL_LOCKS_EXCLUDED(mutex_);

  // A new array for the gradients of the elements, which have `outer` before the dimensions of the
  // elements. This array keeps its size from now on. An error if elements were added up.
  StatusOr<ResourceRef<TensorArray>> MakeGradient(std::string name, const Shape& outer)
      ABSL_LOCKS_EXCLUDED(mutex_);

  // Releases all elements. The array cannot be used any more.
  void Close() ABSL_LOCKS_EXCLUDED(mutex_);
  void Drop() override { Close(); }

 private:
  struct Element {
    Tensor value;                // none if it was not written, or was cleared
    std::vector<Tensor> more;    // what is to be added to it
    std::optional<Shape> shape;  // once it was written; for gradients from the beginning
    bool is_written = false;
    bool is_read = false;
    bool is_cleared = false;
  };

  static constexpr int64_t kPageSize = 8;
  using Page = std::array<Element, kPageSize>;

  // Makes the element if there is none.
  Element& At(int64_t index) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  Status CheckOpen() const ABSL_SHARED_LOCKS_REQUIRED(mutex_);
  Status WriteOne(int64_t index, Tensor value) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  StatusOr<Tensor> ReadOne(int64_t index) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  StatusOr<Tensor> Zeros(int64_t index, const Element& element) const
      ABSL_SHARED_LOCKS_REQUIRED(mutex_);
  template <typename... Parts>
  Status Error(const Parts&... parts) const {
    return errors::InvalidArgument("TensorArray ", name_, ": ", parts...);
  }

  const std::string name_;
  const DataType dtype_;
  const bool clear_after_read_;
  const bool identical_element_shapes_;
  const bool adds_up_;
  mutable absl::Mutex mutex_;
  bool is_closed_ ABSL_GUARDED_BY(mutex_) = false;
  bool has_sums_ ABSL_GUARDED_BY(mutex_) = false;  // an element was written several times
  int64_t size_ ABSL_GUARDED_BY(mutex_);
  bool dynamic_size_ ABSL_GUARDED_BY(mutex_);
  PartialShape element_shape_ ABSL_GUARDED_BY(mutex_);
  // By index / kPageSize. Elements are mostly written and read in order.
  absl::flat_hash_map<int64_t, std::unique_ptr<Page>> pages_ ABSL_GUARDED_BY(mutex_);
  int64_t last_page_ ABSL_GUARDED_BY(mutex_) = -1;
  Page* last_ ABSL_GUARDED_BY(mutex_) = nullptr;  // page last_page_
};

}  // namespace millstream

#endif  // MILLSTREAM_CORE_RESOURCES_TENSOR_ARRAY_H_
