// A rectangular part of a tensor, and the text that says it in graphs: "10 4 0,5:-".
#ifndef MILLSTREAM_CORE_CHECKPOINT_TENSOR_SLICE_H_
#define MILLSTREAM_CORE_CHECKPOINT_TENSOR_SLICE_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "framework/shape.h"
#include "framework/status.h"
#include "framework/tensor.h"
#include "millstream/framework/protos/tensor_slice.pb.h"

namespace millstream {

struct TensorSlice {
  static constexpr int64_t kAll = -1;
  struct Extent {
    int64_t start = 0;
    int64_t length = kAll;  // kAll: the whole dimension, and start is 0
    friend bool operator==(const Extent& a, const Extent& b) {
      return a.start == b.start && a.length == b.length;
    }
  };
  std::vector<Extent> extents;  // one for each dimension

  // All of a tensor of this shape.
  static TensorSlice Whole(const Shape& shape);

  // "0,5:-": start and length of each dimension; "-" for a whole one.
  std::string ToString() const;
  // Of the slice of a tensor of shape `whole`. INVALID_ARGUMENT if it reaches out of the tensor or
  // has another rank.
  StatusOr<Shape> ShapeIn(const Shape& whole) const;
};

// What a string of shape_and_slices says; both empty for the empty string, which stands for the
// whole tensor.
struct SliceSpec {
  bool is_whole = true;
  Shape whole;  // of the tensor that the slice is a part of
  TensorSlice slice;
  Shape shape;  // of the slice
};
// INVALID_ARGUMENT, which begins with `argument`, for a text of another form, or a slice that
// reaches out of the shape.
StatusOr<SliceSpec> ParseSliceSpec(absl::string_view text,
                                   absl::string_view argument = "shape_and_slices");

void ToProto(const TensorSlice& slice, proto::TensorSliceProto* out);
// The slice of a tensor of shape `whole`. INVALID_ARGUMENT as in ShapeIn.
StatusOr<TensorSlice> FromProto(const proto::TensorSliceProto& message, const Shape& whole);

// The number of elements that two slices of a tensor of shape `whole` have in common. REQUIRES:
// both are within the shape.
int64_t CountCommon(const Shape& whole, const TensorSlice& a, const TensorSlice& b);

// INVALID_ARGUMENT if two of the slices have an element in common, or there are more than 16,384.
// REQUIRES: as CountCommon.
Status CheckDisjoint(const Shape& whole, const std::vector<TensorSlice>& slices);

// Copies what `source`, the slice `from`, and `target`, the slice `to` of the same tensor of shape
// `whole`, have in common. Returns the number of elements. REQUIRES: one dtype, plain or string.
int64_t CopyCommonPart(const Shape& whole, const TensorSlice& from, const Tensor& source,
                       const TensorSlice& to, const Tensor& target);

}  // namespace millstream

#endif  // MILLSTREAM_CORE_CHECKPOINT_TENSOR_SLICE_H_
