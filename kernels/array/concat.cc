// Concat, ConcatV2, ParallelConcat and Pack: several tensors side by side along one axis.
#include <array>
#include <cstdint>

#include "framework/plugin/plugin.hpp"
#include "kernels/array/declared_shape.h"
#include "kernels/array/indices.h"
#include "kernels/array/strided_copy.h"
#include "kernels/common/parallel.h"
#include "kernels/common/streamed_output.h"
#include "kernels/common/vector_copy.h"

namespace millstream::kernels {
namespace {

// One input: its rows, and where they go. A row is what lies inside one index of the dimensions
// before the axis.
struct Part {
  const char* rows;
  int64_t bytes;  // of a row
  int64_t place;  // in a row of the output
};

// Inputs that are copied in one pass over the output.
constexpr uint32_t kAtOnce = 32;

// Whether inputs are joined row by row of the output. Not where rows are so short that StridedCopy
// has loops for them, nor so long that threads cannot share them out, nor where all rows are one
// input's, which are copied as one piece.
bool AreJoinedByRow(const ms::Frame& frame, uint32_t first, uint32_t count, int64_t outer,
                    const ms::View& output) {
  constexpr int64_t kLeastBytes = 32;
  constexpr int64_t kMostBytes = 64 << 10;
  if (outer == 1 || output.dtype() == MS_STRING) return false;
  const auto element_size = static_cast<int64_t>(ms::ElementSize(output.dtype()));
  if (output.size() / outer * element_size > kMostBytes) return false;
  uint32_t parts = 0;
  for (uint32_t i = 0; i < count; ++i) {
    const int64_t size = frame.input(first + i).size();
    if (size == 0) continue;
    if (size / outer * element_size < kLeastBytes) return false;
    ++parts;
  }
  return parts > 1;
}

// Row after row of the output, so that it is written from its first byte to its last.
ms::Status CopyParts(ms::Frame& frame, const Part* parts, uint32_t count, int64_t outer,
                     int64_t row_bytes, bool is_streamed, char* output) {
  uint64_t nanoseconds = 0;
  for (uint32_t i = 0; i < count; ++i) nanoseconds += 4 + static_cast<uint64_t>(parts[i].bytes) / 8;
  const auto copy_rows = [=](int64_t begin, int64_t end) {
    const auto copy = is_streamed ? &StreamCopy : &VectorCopy;
    for (int64_t row = begin; row < end; ++row) {
      char* const to = output + row * row_bytes;
      for (uint32_t i = 0; i < count; ++i) {
        const Part& part = parts[i];
        copy(part.rows + row * part.bytes, part.bytes, to + part.place);
      }
    }
    if (is_streamed) EndStreaming();
  };
  if (IsSerialWork(outer, static_cast<int64_t>(nanoseconds * 1000))) {
    copy_rows(0, outer);
    return ms::Status();
  }
  return StoppableFor(frame, static_cast<uint64_t>(outer), nanoseconds, copy_rows);
}

ms::Status JoinByRow(ms::Frame& frame, uint32_t first, uint32_t count, int64_t outer,
                     const ms::View& output) {
  const auto element_size = static_cast<int64_t>(ms::ElementSize(output.dtype()));
  const int64_t row_bytes = output.size() / outer * element_size;
  const bool is_large = IsStreamed(outer * row_bytes, outer * row_bytes);
  int64_t place = 0;
  for (uint32_t done = 0; done < count;) {
    std::array<Part, kAtOnce> parts;
    uint32_t size = 0;
    bool is_streamed = is_large;  // long parts, few of whose bytes share lines with others
    for (; done < count && size < kAtOnce; ++done) {
      const ms::View input = frame.input(first + done);
      const int64_t bytes = input.size() / outer * element_size;
      place += bytes;
      if (bytes == 0) continue;
      parts[size++] = {input.data<char>(), bytes, place - bytes};
      is_streamed = is_streamed && bytes >= kStreamedTileBytes;
    }
    MS_TRY(
        CopyParts(frame, parts.data(), size, outer, row_bytes, is_streamed, output.data<char>()));
  }
  return ms::Status();
}

// Copies each of `count` inputs from `first` on to its place in the rows of `output`, of which
// there are `outer`.
ms::Status JoinRows(ms::Frame& frame, uint32_t first, uint32_t count, int64_t outer,
                    const ms::View& output) {
  if (AreJoinedByRow(frame, first, count, outer, output)) {
    return JoinByRow(frame, first, count, outer, output);
  }
  const int64_t output_row = output.size() / outer;
  int64_t start = 0;
  for (uint32_t i = 0; i < count; ++i) {
    const ms::View input = frame.input(first + i);
    const int64_t row = input.size() / outer;
    StridedCopy copy;
    copy.AddDim(outer, row, output_row);
    copy.AddDim(row, 1, 1);
    MS_TRY(copy.Run(frame, input, 0, output, start));
    start += row;
  }
  return ms::Status();
}

// Inputs: values (N tensors) and axis; in the op Concat the axis, concat_dim, comes first.
class Concat {
 public:
  ms::Status Init(const ms::KernelInfo& info) {
    axis_first_ = info.op() == "Concat";
    return ms::Status();
  }

  ms::Status Compute(ms::Frame& frame) const {
    const uint32_t count = frame.num_inputs() - 1;
    const uint32_t begin = axis_first_ ? 1 : 0;
    const ms::Shape first = frame.input(begin).shape();
    if (first.rank() == 0) {
      return ms::InvalidArgument(
          "values[0] is a scalar; only tensors of rank 1 or more can be "
          "concatenated (Pack joins scalars)");
    }
    int64_t given_axis = 0;
    const char* const name = axis_first_ ? "concat_dim" : "axis";
    MS_TRY(ReadIndexScalar(frame.input(axis_first_ ? 0 : count), name, &given_axis));
    uint32_t axis = 0;
    MS_TRY(ResolveAxis(given_axis, first.rank(), name, &axis));
    ms::Shape shape = first;
    for (uint32_t i = 1; i < count; ++i) {
      const ms::Shape other = frame.input(begin + i).shape();
      MS_TRY(CheckFits(first, other, i, axis));
      shape[axis] += other[axis];
    }
    ms::View output;
    MS_TRY(frame.Output(0, shape, &output));
    if (output.size() == 0) return ms::Status();
    return JoinRows(frame, begin, count, DimProduct(shape, 0, axis), output);
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

  bool axis_first_ = false;
};

// Inputs: values (N tensors of shape [1, ...]), which become the rows of the output.
class ParallelConcat {
 public:
  ms::Status Init(const ms::KernelInfo& info) { return shape_.Init(info, "shape"); }

  ms::Status Compute(ms::Frame& frame) const {
    const uint32_t count = frame.num_inputs();
    ms::Shape shape = frame.input(0).shape();
    for (uint32_t i = 0; i < count; ++i) {
      const ms::Shape part = frame.input(i).shape();
      if (part == shape && part.rank() > 0 && part[0] == 1) continue;
      return ms::InvalidArgument(
          "values must have one shape, whose first dimension is 1: ", "values[0] has ",
          shape.ToString(), ", values[", i, "] has ", part.ToString());
    }
    shape[0] = count;
    if (!shape_.Allows(shape)) {
      return ms::InvalidArgument("values make a tensor of shape ", shape.ToString(),
                                 ", which is not what attribute shape says");
    }
    ms::View output;
    MS_TRY(frame.Output(0, shape, &output));
    return output.size() == 0 ? ms::Status() : JoinRows(frame, 0, count, 1, output);
  }

 private:
  DeclaredShape shape_;
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
    return JoinRows(frame, 0, count, DimProduct(shape, 0, axis), output);
  }

 private:
  int64_t axis_ = 0;
};

const ms::Registered concat = ms::Register<Concat>(
    "Concat", ms::KernelOptions().Types("T", MovableTypes()).HostArg("concat_dim"));
const ms::Registered concat_v2 = ms::Register<Concat>(
    "ConcatV2",
    ms::KernelOptions().Types("T", MovableTypes()).Types("Tidx", IndexTypes()).HostArg("axis"));
const ms::Registered parallel_concat =
    ms::Register<ParallelConcat>("ParallelConcat", ms::KernelOptions().Types("T", MovableTypes()));
const ms::Registered pack =
    ms::Register<Pack>("Pack", ms::KernelOptions().Types("T", MovableTypes()));

}  // namespace
}  // namespace millstream::kernels
