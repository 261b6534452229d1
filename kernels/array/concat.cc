// ConcatV2 and Pack: several tensors side by side along one axis.
#include <cstdint>

#include "framework/plugin/plugin.hpp"
#include "kernels/array/indices.h"
#include "kernels/array/strided_copy.h"

namespace millstream::kernels {
namespace {

// Copies each of the first `count` inputs to its place in the rows of `output`. A row is what lies
// inside one index of the `outer` dimensions before the axis.
ms::Status JoinRows(ms::Frame& frame, uint32_t count, int64_t outer, const ms::View& output) {
  const int64_t output_row = output.size() / outer;
  int64_t start = 0;
  for (uint32_t i = 0; i < count; ++i) {
    const ms::View input = frame.input(i);
    const int64_t row = input.size() / outer;
    StridedCopy copy;
    copy.AddDim(outer, row, output_row);
    copy.AddDim(row, 1, 1);
    MS_TRY(copy.Run(frame, input, 0, output, start));
    start += row;
  }
  return ms::Status();
}

// Inputs: values (N tensors), axis.
class ConcatV2 {
 public:
  ms::Status Compute(ms::Frame& frame) const {
    const uint32_t count = frame.num_inputs() - 1;
    const ms::Shape first = frame.input(0).shape();
    if (first.rank() == 0) {
      return ms::InvalidArgument(
          "values[0] is a scalar; only tensors of rank 1 or more can be "
          "concatenated (Pack joins scalars)");
    }
    int64_t given_axis = 0;
    MS_TRY(ReadIndexScalar(frame.input(count), "axis", &given_axis));
    uint32_t axis = 0;
    MS_TRY(ResolveAxis(given_axis, first.rank(), "axis", &axis));
    ms::Shape shape = first;
    for (uint32_t i = 1; i < count; ++i) {
      const ms::Shape other = frame.input(i).shape();
      MS_TRY(CheckFits(first, other, i, axis));
      shape[axis] += other[axis];
    }
    ms::View output;
    MS_TRY(frame.Output(0, shape, &output));
    if (output.size() == 0) return ms::Status();
    return JoinRows(frame, count, DimProduct(shape, 0, axis), output);
  }

 private:
  static ms::Status CheckFits(const ms::Shape& first, const ms::Shape& other, uint32_t i,
                              uint32_t axis) {
    bool fits = first.rank() == other.rank();
    for (uint32_t d = 0; fits && d < first.rank(); ++d) {
      fits = d == axis || first[d] == other[d];
    }
    if (fits) return ms::Status();
    return ms::InvalidArgument("values must agree in rank and in all dimensions but axis = ", axis,
                               ": values[0] has shape ", first.ToString(), ", values[", i,
                               "] has shape ", other.ToString());
  }
};

// Inputs: values (N tensors of one shape). Attribute: axis, of the output.
class Pack {
 public:
  ms::Status Init(const ms::KernelInfo& info) { return info.Attr("axis", &axis_); }

  ms::Status Compute(ms::Frame& frame) const {
    const uint32_t count = frame.num_inputs();
    const ms::Shape part = frame.input(0).shape();
    for (uint32_t i = 1; i < count; ++i) {
      if (frame.input(i).shape() == part) continue;
      return ms::InvalidArgument("values must have one shape: values[0] has ", part.ToString(),
                                 ", values[", i, "] has ", frame.input(i).shape().ToString());
    }
    MS_TRY(CheckRank(part.rank() + 1));
    uint32_t axis = 0;
    MS_TRY(ResolveAxis(axis_, part.rank() + 1, "axis", &axis));
    ms::Shape shape(part.begin(), axis);
    shape.Append(count);
    for (uint32_t d = axis; d < part.rank(); ++d) shape.Append(part[d]);
    ms::View output;
    MS_TRY(frame.Output(0, shape, &output));
    if (output.size() == 0) return ms::Status();
    return JoinRows(frame, count, DimProduct(shape, 0, axis), output);
  }

 private:
  int64_t axis_ = 0;
};

const ms::Registered concat = ms::Register<ConcatV2>(
    "ConcatV2",
    ms::KernelOptions().Types("T", MovableTypes()).Types("Tidx", IndexTypes()).HostArg("axis"));
const ms::Registered pack =
    ms::Register<Pack>("Pack", ms::KernelOptions().Types("T", MovableTypes()));

}  // namespace
}  // namespace millstream::kernels
