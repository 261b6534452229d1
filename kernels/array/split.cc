// Split, SplitV and Unpack: one tensor cut along one axis.
#include <cstdint>

#include "framework/plugin/plugin.hpp"
#include "kernels/array/indices.h"
#include "kernels/array/strided_copy.h"

namespace millstream::kernels {
namespace {

// Copies elements [start, start + row) of each of `outer` rows of `value` to `output`.
ms::Status CutRows(ms::Frame& frame, const ms::View& value, int64_t outer, int64_t start,
                   int64_t row, const ms::View& output) {
  StridedCopy copy;
  copy.AddDim(outer, value.size() / outer, row);
  copy.AddDim(row, 1, 1);
  return copy.Run(frame, value, start, output, 0);
}

// Gives output i `size_of(i)` indices of `axis`, one output after the other.
template <typename SizeOf>
ms::Status CutAlongAxis(ms::Frame& frame, const ms::View& value, uint32_t axis,
                        const SizeOf& size_of) {
  ms::Shape shape = value.shape();
  const int64_t outer = DimProduct(shape, 0, axis);
  const int64_t inner = DimProduct(shape, axis + 1, shape.rank());
  int64_t start = 0;
  for (uint32_t i = 0; i < frame.num_outputs(); ++i) {
    shape[axis] = size_of(i);
    const int64_t row = shape[axis] * inner;
    ms::View output;
    MS_TRY(frame.Output(i, shape, &output));
    if (frame.output_used(i) && output.size() > 0) {
      MS_TRY(CutRows(frame, value, outer, start, row, output));
    }
    start += row;
  }
  return ms::Status();
}

// Inputs: split_dim, value. The outputs are equal in size.
class Split {
 public:
  ms::Status Compute(ms::Frame& frame) const {
    const ms::View value = frame.input(1);
    int64_t given_axis = 0;
    MS_TRY(ReadIndexScalar(frame.input(0), "split_dim", &given_axis));
    uint32_t axis = 0;
    MS_TRY(ResolveAxis(given_axis, value.rank(), "split_dim", &axis));
    const int64_t parts = frame.num_outputs();
    if (value.dim(axis) % parts != 0) {
      return ms::InvalidArgument("num_split = ", parts, " does not divide dimension ", axis,
                                 " of value, which has shape ", value.shape().ToString());
    }
    const int64_t size = value.dim(axis) / parts;
    return CutAlongAxis(frame, value, axis, [=](uint32_t) { return size; });
  }
};

// Inputs: value, size_splits, split_dim. One of the sizes may be -1: whatever is left.
class SplitV {
 public:
  ms::Status Compute(ms::Frame& frame) const {
    const ms::View value = frame.input(0);
    const ms::View sizes = frame.input(1);
    int64_t given_axis = 0;
    MS_TRY(ReadIndexScalar(frame.input(2), "split_dim", &given_axis));
    uint32_t axis = 0;
    MS_TRY(ResolveAxis(given_axis, value.rank(), "split_dim", &axis));
    if (sizes.rank() != 1 || sizes.dim(0) != frame.num_outputs()) {
      return ms::InvalidArgument(
          "size_splits must be a vector of num_split = ", frame.num_outputs(),
          " sizes, but has shape ", sizes.shape().ToString());
    }
    int64_t rest = 0;
    MS_TRY(FindRest(sizes, value.dim(axis), &rest));
    return CutAlongAxis(frame, value, axis, [&](uint32_t i) {
      const int64_t size = IndexAt(sizes, i);
      return size == -1 ? rest : size;
    });
  }

 private:
  // What the size -1 stands for.
  static ms::Status FindRest(const ms::View& sizes, int64_t total, int64_t* rest) {
    int64_t sum = 0;
    int64_t open = 0;
    for (int64_t i = 0; i < sizes.dim(0); ++i) {
      const int64_t size = IndexAt(sizes, i);
      if (size < -1) {
        return ms::InvalidArgument("size_splits[", i, "] = ", size,
                                   " must be a size, or -1 for whatever is left");
      }
      if (size == -1) {
        ++open;
      } else if (__builtin_add_overflow(sum, size, &sum)) {
        return ms::InvalidArgument("size_splits add up to more than 64 bits hold");
      }
    }
    *rest = total - sum;
    if (open > 1)
      return ms::InvalidArgument("size_splits holds -1 ", open, " times, at most once is possible");
    if (*rest < 0 || (open == 0 && *rest != 0)) {
      return ms::InvalidArgument("size_splits add up to ", sum, ", but value has ", total,
                                 " along split_dim");
    }
    return ms::Status();
  }
};

// Input: value. Attribute: axis, which the outputs lack.
class Unpack {
 public:
  ms::Status Init(const ms::KernelInfo& info) { return info.Attr("axis", &axis_); }

  ms::Status Compute(ms::Frame& frame) const {
    const ms::View value = frame.input(0);
    const ms::Shape whole = value.shape();
    uint32_t axis = 0;
    MS_TRY(ResolveAxis(axis_, whole.rank(), "axis", &axis));
    if (whole[axis] != frame.num_outputs()) {
      return ms::InvalidArgument("num = ", frame.num_outputs(), " must be dimension ", axis,
                                 " of value, which has shape ", whole.ToString());
    }
    ms::Shape shape(whole.begin(), axis);
    for (uint32_t d = axis + 1; d < whole.rank(); ++d) shape.Append(whole[d]);
    const int64_t outer = DimProduct(whole, 0, axis);
    const int64_t inner = DimProduct(whole, axis + 1, whole.rank());
    for (uint32_t i = 0; i < frame.num_outputs(); ++i) {
      ms::View output;
      MS_TRY(frame.Output(i, shape, &output));
      if (!frame.output_used(i) || output.size() == 0) continue;
      MS_TRY(CutRows(frame, value, outer, i * inner, inner, output));
    }
    return ms::Status();
  }

 private:
  int64_t axis_ = 0;
};

const ms::Registered split = ms::Register<Split>(
    "Split", ms::KernelOptions().Types("T", MovableTypes()).HostArg("split_dim"));
const ms::Registered split_v = ms::Register<SplitV>("SplitV", ms::KernelOptions()
                                                                  .Types("T", MovableTypes())
                                                                  .Types("Tlen", IndexTypes())
                                                                  .HostArg("size_splits")
                                                                  .HostArg("split_dim"));
const ms::Registered unpack =
    ms::Register<Unpack>("Unpack", ms::KernelOptions().Types("T", MovableTypes()));

}  // namespace
}  // namespace millstream::kernels
