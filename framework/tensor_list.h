// Lists of tensors: what an element of a variant tensor holds.
#ifndef MILLSTREAM_FRAMEWORK_TENSOR_LIST_H_
#define MILLSTREAM_FRAMEWORK_TENSOR_LIST_H_

#include <cstdint>
#include <string>
#include <vector>

#include "framework/dtype.h"
#include "framework/opaque_cell.h"
#include "framework/shape.h"
#include "framework/status.h"
#include "framework/tensor.h"

namespace millstream {

// Tensors of one dtype, in order. Their shapes fit one partial shape. All of them are in host
// memory. An element may be unset: it stands for zeros of the list's shape and takes no memory.
//
// A list in a cell is a value: cells share it, and nobody changes it while they do (ListToChange).
// Copies share the tensors. Not thread-safe.
class TensorList final : public OpaqueObject {
 public:
  static constexpr int64_t kUnbounded = -1;
  // Lists that hold lists may be nested this deep. It bounds the recursion of what follows them.
  static constexpr int kMaxNesting = 200;

  // An empty list. A negative `max_size` is kUnbounded.
  TensorList(DataType element_dtype, PartialShape element_shape, int64_t max_size = kUnbounded);
  // The list of a cell; null if the cell holds none.
  static const TensorList* In(const OpaqueCell& cell) {
    return dynamic_cast<const TensorList*>(cell.get());
  }

  DataType element_dtype() const { return element_dtype_; }
  const PartialShape& element_shape() const { return element_shape_; }
  int64_t max_size() const { return max_size_; }
  int64_t size() const { return size_; }
  // Without a value: the element is unset. REQUIRES: 0 <= i < size().
  const Tensor& at(int64_t i) const;
  // How deep the lists in elements are nested; 0 if there is none.
  int nesting() const { return nesting_; }
  // All elements from this one on are unset.
  int64_t end_of_set() const { return static_cast<int64_t>(elements_.size()); }

  // INVALID_ARGUMENT for an element of another dtype, of a shape that does not fit, or that is
  // nested too deep; also, for Append, if the list is full. RESOURCE_EXHAUSTED if memory is
  // exhausted.
  Status Append(Tensor element);
  // The same. REQUIRES: 0 <= i < size().
  Status Set(int64_t i, Tensor element);
  // Removes the last element. It has no value if it was unset. REQUIRES: size() > 0.
  Tensor TakeLast();
  // New elements at the end are unset. REQUIRES: size >= 0.
  void Resize(int64_t size);
  // Element i if it is set, which the caller may change; else null. It must keep dtype and shape.
  Tensor* mutable_element(int64_t i);

  std::string DebugString() const override;

 private:
  // `mistake` describes an element of another shape, for the message.
  Status CheckElement(const Tensor& element, const char* mistake) const;
  Status GrowTo(int64_t size);
  void NoteNesting(const Tensor& element);

  DataType element_dtype_;
  PartialShape element_shape_;
  int64_t max_size_;
  int nesting_ = 0;
  int64_t size_ = 0;
  std::vector<Tensor> elements_;  // at most size_; those that are missing are unset
};

// The list of the cell, for a change: if other cells share it, the cell gets a copy first. Null if
// the cell holds no list. REQUIRES: the caller owns the cell.
TensorList* ListToChange(OpaqueCell* cell);

}  // namespace millstream

#endif  // MILLSTREAM_FRAMEWORK_TENSOR_LIST_H_
