#include "core/checkpoint/tensor_slice.h"

#include <algorithm>
#include <cstring>

#include "absl/strings/numbers.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"

namespace millstream {
namespace {

using Extent = TensorSlice::Extent;

StatusOr<Extent> ParseExtent(absl::string_view text) {
  if (text == "-") return Extent();
  const std::vector<absl::string_view> parts = absl::StrSplit(text, ',');
  Extent extent;
  if (parts.size() == 2 && absl::SimpleAtoi(parts[0], &extent.start) &&
      absl::SimpleAtoi(parts[1], &extent.length) && extent.start >= 0 && extent.length >= 0) {
    return extent;
  }
  return errors::InvalidArgument("'", text, "' is not 'START,LENGTH' or '-'");
}

int64_t LengthIn(const Extent& extent, int64_t dim) {
  return extent.length == TensorSlice::kAll ? dim : extent.length;
}

// What two slices of one tensor have in common in each dimension.
struct Common {
  std::vector<int64_t> counts;
  std::vector<int64_t> source_starts;  // within the slice
  std::vector<int64_t> target_starts;
};

// How many rows of a dimension of `dim` rows two extents have in common.
int64_t CommonLength(const Extent& a, const Extent& b, int64_t dim) {
  const int64_t begin = std::max(a.start, b.start);
  const int64_t end = std::min(a.start + LengthIn(a, dim), b.start + LengthIn(b, dim));
  return std::max<int64_t>(end - begin, 0);
}

Common CommonPart(const Shape& whole, const TensorSlice& from, const TensorSlice& to) {
  Common common;
  for (int i = 0; i < whole.rank(); ++i) {
    const Extent& a = from.extents[i];
    const Extent& b = to.extents[i];
    const int64_t begin = std::max(a.start, b.start);
    common.counts.push_back(CommonLength(a, b, whole.dim(i)));
    common.source_starts.push_back(begin - a.start);
    common.target_starts.push_back(begin - b.start);
  }
  return common;
}

// Copies the part from dimension `axis` on; rows of the last dimension as one piece.
void CopyPart(const Common& common, const Tensor& source, const Tensor& target, int axis,
              int64_t source_row, int64_t target_row) {
  const int64_t from = source_row * source.shape().dim(axis) + common.source_starts[axis];
  const int64_t to = target_row * target.shape().dim(axis) + common.target_starts[axis];
  if (axis + 1 < source.shape().rank()) {
    for (int64_t i = 0; i < common.counts[axis]; ++i) {
      CopyPart(common, source, target, axis + 1, from + i, to + i);
    }
    return;
  }
  if (source.dtype() == DataType::kString) {
    std::copy_n(source.data<std::string>() + from, common.counts[axis],
                target.data<std::string>() + to);
    return;
  }
  const size_t size = DataTypeSize(source.dtype());
  std::memcpy(static_cast<char*>(target.raw()) + to * size,
              static_cast<const char*>(source.raw()) + from * size, common.counts[axis] * size);
}

}  // namespace

TensorSlice TensorSlice::Whole(const Shape& shape) {
  TensorSlice slice;
  slice.extents.resize(shape.rank());
  return slice;
}

std::string TensorSlice::ToString() const {
  return absl::StrJoin(extents, ":", [](std::string* out, const Extent& extent) {
    if (extent.length == kAll) {
      absl::StrAppend(out, "-");
    } else {
      absl::StrAppend(out, extent.start, ",", extent.length);
    }
  });
}

StatusOr<Shape> TensorSlice::ShapeIn(const Shape& whole) const {
  std::vector<int64_t> dims;
  bool fits = extents.size() == static_cast<size_t>(whole.rank());
  for (int i = 0; fits && i < whole.rank(); ++i) {
    const Extent& extent = extents[i];
    const int64_t dim = whole.dim(i);
    fits = extent.length == kAll ? extent.start == 0
                                 : extent.start >= 0 && extent.length >= 0 && extent.start <= dim &&
                                       extent.length <= dim - extent.start;
    dims.push_back(LengthIn(extent, dim));
  }
  if (fits) return Shape(dims);
  return errors::InvalidArgument("the slice ", ToString(), " is not within the shape ",
                                 whole.ToString());
}

StatusOr<SliceSpec> ParseSliceSpec(absl::string_view text, absl::string_view argument) {
  SliceSpec spec;
  if (text.empty()) return spec;
  spec.is_whole = false;
  const auto invalid = [&](absl::string_view why) {
    return errors::InvalidArgument(argument, ": '", text, "': ", why);
  };
  std::vector<absl::string_view> parts = absl::StrSplit(text, ' ');
  const absl::string_view slice = parts.back();
  parts.pop_back();
  std::vector<int64_t> dims;
  for (const absl::string_view part : parts) {
    int64_t dim = 0;
    if (!absl::SimpleAtoi(part, &dim) || dim < 0) return invalid("a size is not a number");
    dims.push_back(dim);
  }
  spec.whole = Shape(dims);
  const Status valid = ValidateShape(spec.whole);
  if (!valid.ok()) return invalid(valid.message());
  if (!dims.empty() || !slice.empty()) {
    for (const absl::string_view extent : absl::StrSplit(slice, ':')) {
      const StatusOr<Extent> parsed = ParseExtent(extent);
      if (!parsed.ok()) return invalid(parsed.status().message());
      spec.slice.extents.push_back(*parsed);
    }
  }
  StatusOr<Shape> shape = spec.slice.ShapeIn(spec.whole);
  if (!shape.ok()) return invalid(shape.status().message());
  spec.shape = *std::move(shape);
  return spec;
}

void ToProto(const TensorSlice& slice, proto::TensorSliceProto* out) {
  out->clear_extent();
  for (const Extent& extent : slice.extents) {
    proto::TensorSliceProto::Extent* const added = out->add_extent();
    if (extent.length == TensorSlice::kAll) continue;
    added->set_start(extent.start);
    added->set_length(extent.length);
  }
}

StatusOr<TensorSlice> FromProto(const proto::TensorSliceProto& message, const Shape& whole) {
  TensorSlice slice;
  for (const proto::TensorSliceProto::Extent& given : message.extent()) {
    Extent extent;
    extent.start = given.start();
    if (given.has_length_hack_case() == proto::TensorSliceProto::Extent::kLength) {
      extent.length = given.length();
      if (extent.length < 0) return errors::InvalidArgument("a slice of negative length");
    }
    slice.extents.push_back(extent);
  }
  MS_RETURN_IF_ERROR(slice.ShapeIn(whole).status());
  return slice;
}

int64_t CountCommon(const Shape& whole, const TensorSlice& a, const TensorSlice& b) {
  int64_t count = 1;
  for (int i = 0; i < whole.rank() && count > 0; ++i) {
    count *= CommonLength(a.extents[i], b.extents[i], whole.dim(i));
  }
  return count;
}

Status CheckDisjoint(const Shape& whole, const std::vector<TensorSlice>& slices) {
  // Each pair is looked at, which takes a second for so many.
  constexpr size_t kMostSlices = size_t{1} << 14;
  if (slices.size() > kMostSlices) {
    return errors::InvalidArgument(slices.size(), " slices, a tensor has at most ", kMostSlices);
  }
  for (size_t i = 0; i < slices.size(); ++i) {
    for (size_t k = 0; k < i; ++k) {
      if (CountCommon(whole, slices[i], slices[k]) == 0) continue;
      return errors::InvalidArgument("its slices ", slices[k].ToString(), " and ",
                                     slices[i].ToString(), " overlap");
    }
  }
  return absl::OkStatus();
}

int64_t CopyCommonPart(const Shape& whole, const TensorSlice& from, const Tensor& source,
                       const TensorSlice& to, const Tensor& target) {
  const int64_t count = CountCommon(whole, from, to);
  if (count == 0) return 0;
  if (whole.rank() == 0) {
    if (source.dtype() == DataType::kString) {
      *target.data<std::string>() = *source.data<std::string>();
    } else {
      std::memcpy(target.raw(), source.raw(), source.bytes());
    }
  } else {
    CopyPart(CommonPart(whole, from, to), source, target, 0, 0, 0);
  }
  return count;
}

}  // namespace millstream
