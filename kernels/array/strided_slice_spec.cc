#include "kernels/array/strided_slice_spec.h"

#include <algorithm>
#include <string_view>

#include "kernels/array/indices.h"

namespace millstream::kernels {
namespace {

bool Bit(int64_t mask, int64_t i) { return i < 64 && ((mask >> i) & 1) != 0; }

// One entry of begin, end and strides.
struct Entry {
  int64_t position;
  int64_t begin;
  int64_t end;
  int64_t stride;
};

ms::Status CheckEntries(const ms::View& begin, const ms::View& end, const ms::View& strides) {
  if (begin.rank() == 1 && end.shape() == begin.shape() && strides.shape() == begin.shape()) {
    return ms::Status();
  }
  return ms::InvalidArgument(
      "begin, end and strides must be vectors of one length, but have shapes ",
      begin.shape().ToString(), ", ", end.shape().ToString(), " and ", strides.shape().ToString());
}

// How many dimensions of the input the entries take, and where the ellipsis stands (-1: nowhere).
ms::Status CountEntries(const StridedSliceMasks& masks, int64_t entries, int64_t* taken,
                        int64_t* ellipsis) {
  *taken = 0;
  *ellipsis = -1;
  for (int64_t i = 0; i < entries; ++i) {
    if (Bit(masks.ellipsis, i)) {
      if (*ellipsis >= 0) {
        return ms::InvalidArgument("ellipsis_mask = ", masks.ellipsis,
                                   " has more than one bit for the entries of begin");
      }
      *ellipsis = i;
    } else if (!Bit(masks.new_axis, i)) {
      ++*taken;
    }
  }
  return ms::Status();
}

ms::Status AddIndex(const Entry& entry, int64_t size, StridedSliceSpec* spec) {
  if (entry.stride < 0) {
    return ms::InvalidArgument("strides[", entry.position, "] = ", entry.stride,
                               " must be positive where shrink_axis_mask takes a single index");
  }
  const int64_t index = entry.begin < 0 ? entry.begin + size : entry.begin;
  if (index < 0 || index >= size) {
    return ms::InvalidArgument("begin[", entry.position, "] = ", entry.begin, " is outside [",
                               -size, ", ", size, ") of dimension ", spec->begin.rank());
  }
  spec->begin.Append(index);
  spec->stride.Append(1);
  spec->count.Append(1);
  return ms::Status();
}

void AddRange(const StridedSliceMasks& masks, const Entry& entry, int64_t size,
              StridedSliceSpec* spec) {
  // Indices that a walk in the stride's direction may start from or stop before.
  const bool forward = entry.stride > 0;
  const int64_t lowest = forward ? 0 : -1;
  const int64_t highest = forward ? size : size - 1;
  const auto clamped = [&](int64_t index) {
    return std::clamp(index < 0 ? index + size : index, lowest, highest);
  };
  const int64_t first =
      Bit(masks.begin, entry.position) ? (forward ? lowest : highest) : clamped(entry.begin);
  const int64_t stop =
      Bit(masks.end, entry.position) ? (forward ? highest : lowest) : clamped(entry.end);
  const int64_t span = stop - first;
  const bool is_empty = span == 0 || (span > 0) != forward;
  const int64_t count = is_empty ? 0 : span / entry.stride + (span % entry.stride != 0 ? 1 : 0);
  spec->begin.Append(count == 0 ? 0 : first);
  spec->stride.Append(count <= 1 ? 1 : entry.stride);
  spec->count.Append(count);
  spec->output.Append(count);
}

void AddWholeDims(const ms::Shape& input, int64_t n, StridedSliceSpec* spec) {
  for (int64_t i = 0; i < n; ++i) {
    const int64_t size = input[spec->begin.rank()];
    spec->begin.Append(0);
    spec->stride.Append(1);
    spec->count.Append(size);
    spec->output.Append(size);
  }
}

}  // namespace

ms::Status StridedSliceMasks::Init(const ms::KernelInfo& info) {
  MS_TRY(info.Attr("begin_mask", &begin));
  MS_TRY(info.Attr("end_mask", &end));
  MS_TRY(info.Attr("ellipsis_mask", &ellipsis));
  MS_TRY(info.Attr("new_axis_mask", &new_axis));
  return info.Attr("shrink_axis_mask", &shrink_axis);
}

ms::Status ResolveStridedSlice(const StridedSliceMasks& masks, const ms::Shape& input,
                               const ms::View& begin, const ms::View& end, const ms::View& strides,
                               StridedSliceSpec* spec) {
  MS_TRY(CheckEntries(begin, end, strides));
  const int64_t entries = begin.dim(0);
  int64_t taken = 0;
  int64_t ellipsis = -1;
  MS_TRY(CountEntries(masks, entries, &taken, &ellipsis));
  if (taken > input.rank()) {
    return ms::InvalidArgument("begin takes ", taken, " dimensions, but the input has shape ",
                               input.ToString());
  }
  // Every entry but an ellipsis adds at most one dimension to the output.
  MS_TRY(CheckRank(
      static_cast<uint32_t>(std::min<int64_t>(input.rank() + entries - taken, ms::kMaxRank + 1))));
  *spec = StridedSliceSpec();
  for (int64_t i = 0; i < entries; ++i) {
    if (i == ellipsis) {
      AddWholeDims(input, input.rank() - taken, spec);
      continue;
    }
    if (Bit(masks.new_axis, i)) {
      spec->output.Append(1);
      continue;
    }
    const Entry entry{i, IndexAt(begin, i), IndexAt(end, i), IndexAt(strides, i)};
    if (entry.stride == 0) return ms::InvalidArgument("strides[", i, "] must not be zero");
    const int64_t size = input[spec->begin.rank()];
    if (Bit(masks.shrink_axis, i)) {
      MS_TRY(AddIndex(entry, size, spec));
    } else {
      AddRange(masks, entry, size, spec);
    }
  }
  AddWholeDims(input, input.rank() - spec->begin.rank(), spec);
  return ms::Status();
}

}  // namespace millstream::kernels
