#include "framework/ops/strided_slice_spec.h"

#include <algorithm>
#include <optional>

namespace millstream {
namespace {

// Masks are read as int32 by other programs, so no more entries can be spoken of.
constexpr size_t kMaxEntries = 31;

bool HasBit(int64_t mask, size_t i) { return (mask >> i) & 1; }

// What one entry of the sparse specification says about one dimension.
struct Range {
  std::optional<int64_t> begin, end, stride;
  bool from_start = false, to_end = false;  // the mask bits
  bool shrink = false;
};

// The specification laid out densely: a range for each input dimension, in order, and where in
// between the result has new axes.
struct Layout {
  std::vector<Range> ranges;
  // One entry for each range or new axis, in the order of the result.
  std::vector<bool> is_new_axis;
};

Range WholeDimension() {
  Range range;
  range.begin = range.end = 0;
  range.stride = 1;
  range.from_start = range.to_end = true;
  return range;
}

Status CheckEntries(const PartialValue& begin, const PartialValue& end, const PartialValue& strides,
                    const StridedSliceMasks& masks) {
  if (begin.size() != end.size() || begin.size() != strides.size()) {
    return errors::InvalidArgument("begin, end and strides must have one length, got ",
                                   begin.size(), ", ", end.size(), " and ", strides.size());
  }
  if (begin.size() > kMaxEntries) {
    return errors::InvalidArgument("begin, end and strides have at most ", kMaxEntries,
                                   " entries, got ", begin.size());
  }
  int ellipses = 0;
  for (size_t i = 0; i < begin.size(); ++i) {
    if (HasBit(masks.ellipsis, i)) ++ellipses;
    // The other entries of an ellipsis or a new axis mean nothing.
    const bool is_range = !HasBit(masks.ellipsis, i) && !HasBit(masks.new_axis, i);
    if (is_range && strides[i] == 0) {
      return errors::InvalidArgument("strides[", i, "] must not be zero");
    }
  }
  if (ellipses > 1) {
    return errors::InvalidArgument("ellipsis_mask: one ellipsis is allowed, got ", ellipses);
  }
  return absl::OkStatus();
}

StatusOr<Layout> LayOut(int rank, const PartialValue& begin, const PartialValue& end,
                        const PartialValue& strides, const StridedSliceMasks& masks) {
  int taken = 0;
  bool has_ellipsis = false;
  for (size_t i = 0; i < begin.size(); ++i) {
    if (HasBit(masks.ellipsis, i)) {
      has_ellipsis = true;
    } else if (!HasBit(masks.new_axis, i)) {
      ++taken;
    }
  }
  if (taken > rank) {
    return errors::InvalidArgument("begin: index out of range: cannot slice ", taken,
                                   " dimensions of a tensor of rank ", rank);
  }
  Layout layout;
  const auto add_whole_dimensions = [&] {
    for (int i = taken; i < rank; ++i) {
      layout.ranges.push_back(WholeDimension());
      layout.is_new_axis.push_back(false);
    }
  };
  for (size_t i = 0; i < begin.size(); ++i) {
    if (HasBit(masks.ellipsis, i)) {
      add_whole_dimensions();
    } else if (HasBit(masks.new_axis, i)) {
      layout.is_new_axis.push_back(true);
    } else {
      layout.ranges.push_back({begin[i], end[i], strides[i], HasBit(masks.begin, i),
                               HasBit(masks.end, i), HasBit(masks.shrink_axis, i)});
      layout.is_new_axis.push_back(false);
    }
  }
  if (!has_ellipsis) add_whole_dimensions();
  return layout;
}

// The one element that a shrunk entry takes.
StatusOr<DimensionSlice> ResolveShrunk(int dimension, int64_t size, const Range& range) {
  if (range.stride.has_value() && *range.stride < 0) {
    return errors::InvalidArgument("strides: a single index of dimension ", dimension,
                                   " needs a positive stride, got ", *range.stride);
  }
  DimensionSlice slice;
  slice.size = 1;
  if (size == kUnknownDim || !range.begin.has_value()) return slice;
  const int64_t index = *range.begin < 0 ? *range.begin + size : *range.begin;
  if (index < 0 || index >= size) {
    return errors::InvalidArgument("begin: slice index ", *range.begin, " of dimension ", dimension,
                                   " is out of bounds for size ", size);
  }
  slice.known = true;
  slice.begin = index;
  return slice;
}

DimensionSlice ResolveRange(int64_t size, const Range& range) {
  DimensionSlice slice;
  if (size == kUnknownDim || !range.stride.has_value()) return slice;
  if (!range.from_start && !range.begin.has_value()) return slice;
  if (!range.to_end && !range.end.has_value()) return slice;
  const int64_t stride = *range.stride;
  // Going backwards, the place after the last element is -1.
  const int64_t lowest = stride > 0 ? 0 : -1;
  const int64_t highest = stride > 0 ? size : size - 1;
  const auto clamp = [&](int64_t index) {
    return std::clamp(index < 0 ? index + size : index, lowest, highest);
  };
  const int64_t first = range.from_start ? (stride > 0 ? lowest : highest) : clamp(*range.begin);
  const int64_t last = range.to_end ? (stride > 0 ? highest : lowest) : clamp(*range.end);
  const int64_t length = last - first;
  slice.known = true;
  slice.begin = first;
  slice.stride = stride;
  const bool empty = length == 0 || (length < 0) != (stride < 0);
  slice.size = empty ? 0 : length / stride + (length % stride != 0 ? 1 : 0);
  return slice;
}

}  // namespace

StatusOr<StridedSliceMasks> StridedSliceMasksFrom(const AttrMap& attrs) {
  StridedSliceMasks masks;
  MS_ASSIGN_OR_RETURN(masks.begin, GetAttr<int64_t>(attrs, "begin_mask"));
  MS_ASSIGN_OR_RETURN(masks.end, GetAttr<int64_t>(attrs, "end_mask"));
  MS_ASSIGN_OR_RETURN(masks.ellipsis, GetAttr<int64_t>(attrs, "ellipsis_mask"));
  MS_ASSIGN_OR_RETURN(masks.new_axis, GetAttr<int64_t>(attrs, "new_axis_mask"));
  MS_ASSIGN_OR_RETURN(masks.shrink_axis, GetAttr<int64_t>(attrs, "shrink_axis_mask"));
  return masks;
}

StatusOr<StridedSliceSpec> ResolveStridedSlice(const PartialShape& input, const PartialValue& begin,
                                               const PartialValue& end, const PartialValue& strides,
                                               const StridedSliceMasks& masks) {
  MS_RETURN_IF_ERROR(CheckEntries(begin, end, strides, masks));
  StridedSliceSpec spec;
  if (!input.known_rank()) return spec;
  MS_ASSIGN_OR_RETURN(Layout layout, LayOut(input.rank(), begin, end, strides, masks));
  spec.result = PartialShape::Scalar();
  int dimension = 0;
  for (const bool is_new_axis : layout.is_new_axis) {
    if (is_new_axis) {
      spec.result.AddDim(1);
      continue;
    }
    const Range& range = layout.ranges[dimension];
    const int64_t size = input.dim(dimension);
    if (range.shrink) {
      MS_ASSIGN_OR_RETURN(DimensionSlice slice, ResolveShrunk(dimension, size, range));
      spec.dimensions.push_back(slice);
    } else {
      spec.dimensions.push_back(ResolveRange(size, range));
      spec.result.AddDim(spec.dimensions.back().size);
    }
    ++dimension;
  }
  return spec;
}

}  // namespace millstream
