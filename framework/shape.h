// Shapes: fully known ones, which tensors have, and partially known ones, which inference finds.
#ifndef MILLSTREAM_FRAMEWORK_SHAPE_H_
#define MILLSTREAM_FRAMEWORK_SHAPE_H_

#include <cstdint>
#include <initializer_list>
#include <iosfwd>
#include <string>

#include "absl/container/inlined_vector.h"
#include "absl/types/span.h"
#include "framework/status.h"

namespace millstream {

// The largest rank without a heap allocation.
inline constexpr int kInlineRank = 8;
using DimVector = absl::InlinedVector<int64_t, kInlineRank>;

// The most dimensions that a tensor has. Kernels keep shapes in arrays of this length
// (framework/plugin/plugin.h, MS_MAX_RANK).
inline constexpr int kMaxRank = 32;
// INVALID_ARGUMENT when a tensor of so many dimensions cannot be.
Status CheckRank(int rank);

// A dimension, or a count, that is not known.
inline constexpr int64_t kUnknownDim = -1;

// The shape of a tensor. Every dimension is known and not negative. A value type.
class Shape {
 public:
  Shape() = default;  // a scalar
  Shape(std::initializer_list<int64_t> dims) : dims_(dims) {}
  explicit Shape(absl::Span<const int64_t> dims) : dims_(dims.begin(), dims.end()) {}

  int rank() const { return static_cast<int>(dims_.size()); }
  int64_t dim(int i) const { return dims_[i]; }
  void set_dim(int i, int64_t size) { dims_[i] = size; }
  void AddDim(int64_t size) { dims_.push_back(size); }
  absl::Span<const int64_t> dims() const { return dims_; }
  // The product of the dimensions; 1 for a scalar. REQUIRES: ValidateShape(*this).ok().
  int64_t num_elements() const;
  std::string ToString() const;  // "[2,3]"

  friend bool operator==(const Shape& a, const Shape& b) { return a.dims_ == b.dims_; }
  friend bool operator!=(const Shape& a, const Shape& b) { return !(a == b); }
  template <typename H>
  friend H AbslHashValue(H h, const Shape& shape) {
    return H::combine(std::move(h), shape.dims_);
  }

 private:
  DimVector dims_;
};

std::ostream& operator<<(std::ostream& out, const Shape& shape);

// INVALID_ARGUMENT when there are more than kMaxRank dimensions, one is negative, or the element
// count, multiplied up from the left, overflows 63 bits.
Status ValidateShape(const Shape& shape);

// A shape of which the rank, or some dimensions, may be unknown. A value type.
class PartialShape {
 public:
  // Unknown rank, like PartialShape({}). A scalar is Scalar().
  PartialShape() : known_rank_(false) {}
  PartialShape(std::initializer_list<int64_t> dims) : known_rank_(true), dims_(dims) {}
  explicit PartialShape(absl::Span<const int64_t> dims)
      : known_rank_(true), dims_(dims.begin(), dims.end()) {}
  PartialShape(const Shape& shape)  // NOLINT: every Shape is a PartialShape
      : PartialShape(shape.dims()) {}
  static PartialShape Scalar() { return PartialShape(absl::Span<const int64_t>()); }
  static PartialShape Vector(int64_t size) { return PartialShape({size}); }
  static PartialShape Matrix(int64_t rows, int64_t columns) {
    return PartialShape({rows, columns});
  }
  static PartialShape UnknownOfRank(int rank);

  bool known_rank() const { return known_rank_; }
  // -1 if the rank is unknown.
  int rank() const { return known_rank_ ? static_cast<int>(dims_.size()) : -1; }
  // kUnknownDim if it is unknown. A negative i counts from the end. REQUIRES: known_rank().
  int64_t dim(int i) const { return dims_[i < 0 ? i + rank() : i]; }
  void set_dim(int i, int64_t size) { dims_[i < 0 ? i + rank() : i] = size; }
  // REQUIRES: known_rank().
  void AddDim(int64_t size) { dims_.push_back(size); }
  absl::Span<const int64_t> dims() const { return dims_; }
  bool IsFullyKnown() const;
  // REQUIRES: IsFullyKnown().
  Shape ToShape() const { return Shape(dims()); }
  // The number of elements; kUnknownDim if it is unknown or overflows.
  int64_t num_elements() const;
  // True if a fully known shape exists that fits both.
  bool IsCompatibleWith(const PartialShape& other) const;
  // The shape with all dimensions that either knows. INVALID_ARGUMENT if they contradict each
  // other.
  StatusOr<PartialShape> MergeWith(const PartialShape& other) const;
  // The shape with the dimensions on which both agree; the others are unknown.
  PartialShape CommonWith(const PartialShape& other) const;
  std::string ToString() const;  // "[2,?]", "<unknown>"

  friend bool operator==(const PartialShape& a, const PartialShape& b) {
    return a.known_rank_ == b.known_rank_ && a.dims_ == b.dims_;
  }
  friend bool operator!=(const PartialShape& a, const PartialShape& b) { return !(a == b); }

 private:
  bool known_rank_;
  DimVector dims_;
};

std::ostream& operator<<(std::ostream& out, const PartialShape& shape);

}  // namespace millstream

#endif  // MILLSTREAM_FRAMEWORK_SHAPE_H_
