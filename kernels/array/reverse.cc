// Reverse, ReverseV2 and ReverseSequence.
#include <array>
#include <cstdint>
#include <cstring>

#include "framework/plugin/plugin.hpp"
#include "kernels/array/indices.h"
#include "kernels/array/strided_copy.h"
#include "kernels/array/strings.h"
#include "kernels/common/parallel.h"

namespace millstream::kernels {
namespace {

// Which dimensions are reversed.
using Dims = std::array<bool, ms::kMaxRank>;

ms::Status CopyReversed(ms::Frame& frame, const Dims& is_reversed) {
  const ms::View tensor = frame.input(0);
  const ms::Shape shape = tensor.shape();
  ms::View output;
  MS_TRY(frame.Output(0, shape, &output));
  if (output.size() == 0) return ms::Status();
  const ms::Shape strides = RowMajorStrides(shape);
  StridedCopy copy;
  int64_t start = 0;
  for (uint32_t i = 0; i < shape.rank(); ++i) {
    copy.AddDim(shape[i], is_reversed[i] ? -strides[i] : strides[i], strides[i]);
    if (is_reversed[i]) start += (shape[i] - 1) * strides[i];
  }
  return copy.Run(frame, tensor, start, output, 0);
}

// Inputs: tensor, dims (for each dimension, whether it is reversed).
class Reverse {
 public:
  ms::Status Compute(ms::Frame& frame) const {
    const ms::View tensor = frame.input(0);
    const ms::View dims = frame.input(1);
    if (dims.rank() != 1 || dims.dim(0) != tensor.rank()) {
      return ms::InvalidArgument(
          "dims must have one entry for each dimension of tensor, which has ", "shape ",
          tensor.shape().ToString(), ", but has shape ", dims.shape().ToString());
    }
    Dims is_reversed{};
    for (uint32_t i = 0; i < tensor.rank(); ++i) is_reversed[i] = dims.data<bool>()[i];
    return CopyReversed(frame, is_reversed);
  }
};

// Inputs: tensor, axis (the dimensions that are reversed).
class ReverseV2 {
 public:
  ms::Status Compute(ms::Frame& frame) const {
    const uint32_t rank = frame.input(0).rank();
    const ms::View axes = frame.input(1);
    if (axes.rank() != 1) {
      return ms::InvalidArgument("axis must be a vector, but has shape ", axes.shape().ToString());
    }
    Dims is_reversed{};
    for (int64_t i = 0; i < axes.dim(0); ++i) {
      uint32_t axis = 0;
      MS_TRY(ResolveAxis(IndexAt(axes, i), rank, ms::StrCat("axis[", i, "]"), &axis));
      if (is_reversed[axis]) {
        return ms::InvalidArgument("axis ", axis, " specified more than once, as axis[", i,
                                   "] = ", IndexAt(axes, i));
      }
      is_reversed[axis] = true;
    }
    return CopyReversed(frame, is_reversed);
  }
};

// The input is seen as [outer, first, middle, second, row]: first and second are the batch and the
// sequence, in either order.
struct SequenceGeometry {
  int64_t first = 0;
  int64_t middle = 0;
  int64_t second = 0;
  int64_t row = 0;
  bool batch_is_first = false;

  // The row that comes to the place of row `unit`.
  int64_t Source(int64_t unit, const ms::View& lengths) const {
    const int64_t j = unit % second;
    const int64_t i = unit / (second * middle) % first;
    const int64_t length = IndexAt(lengths, batch_is_first ? i : j);
    const int64_t step = batch_is_first ? j : i;
    if (step >= length) return unit;
    return unit + (length - 1 - 2 * step) * (batch_is_first ? 1 : second * middle);
  }
};

// Inputs: input, seq_lengths.
class ReverseSequence {
 public:
  ms::Status Init(const ms::KernelInfo& info) {
    MS_TRY(info.Attr("batch_dim", &batch_dim_));
    return info.Attr("seq_dim", &seq_dim_);
  }

  ms::Status Compute(ms::Frame& frame) const {
    const ms::View input = frame.input(0);
    const ms::View lengths = frame.input(1);
    const ms::Shape shape = input.shape();
    MS_TRY(Check(shape, lengths));
    ms::View output;
    MS_TRY(frame.Output(0, shape, &output));
    if (output.size() == 0) return ms::Status();

    SequenceGeometry geometry;
    geometry.batch_is_first = batch_dim_ < seq_dim_;
    const auto low = static_cast<uint32_t>(geometry.batch_is_first ? batch_dim_ : seq_dim_);
    const auto high = static_cast<uint32_t>(geometry.batch_is_first ? seq_dim_ : batch_dim_);
    geometry.first = shape[low];
    geometry.middle = DimProduct(shape, low + 1, high);
    geometry.second = shape[high];
    geometry.row = DimProduct(shape, high + 1, shape.rank());
    return input.dtype() == MS_STRING ? MoveStrings(geometry, input, lengths, output)
                                      : MoveBytes(frame, geometry, input, lengths, output);
  }

 private:
  ms::Status Check(const ms::Shape& shape, const ms::View& lengths) const {
    const int64_t rank = shape.rank();
    if (batch_dim_ == seq_dim_ || batch_dim_ < 0 || batch_dim_ >= rank || seq_dim_ < 0 ||
        seq_dim_ >= rank) {
      return ms::InvalidArgument("batch_dim = ", batch_dim_, " and seq_dim = ", seq_dim_,
                                 " must be two dimensions of input, which has shape ",
                                 shape.ToString());
    }
    const int64_t batch = shape[static_cast<uint32_t>(batch_dim_)];
    const int64_t steps = shape[static_cast<uint32_t>(seq_dim_)];
    if (lengths.rank() != 1 || lengths.dim(0) != batch) {
      return ms::InvalidArgument("seq_lengths must have shape [", batch, "], but has shape ",
                                 lengths.shape().ToString());
    }
    for (int64_t i = 0; i < batch; ++i) {
      const int64_t length = IndexAt(lengths, i);
      if (length < 0 || length > steps) {
        return ms::InvalidArgument("seq_lengths[", i, "] = ", length, " is not in [0, ", steps,
                                   "], the size of dimension seq_dim = ", seq_dim_, " of input");
      }
    }
    return ms::Status();
  }

  static ms::Status MoveBytes(ms::Frame& frame, const SequenceGeometry& geometry,
                              const ms::View& input, const ms::View& lengths,
                              const ms::View& output) {
    const uint64_t bytes = static_cast<uint64_t>(geometry.row) * ms::ElementSize(input.dtype());
    const char* const from = input.data<char>();
    char* const to = output.data<char>();
    const auto rows = static_cast<uint64_t>(output.size() / geometry.row);
    return StoppableFor(frame, rows, 4 + bytes / 8, [&](uint64_t begin, uint64_t end) {
      for (uint64_t unit = begin; unit < end; ++unit) {
        const auto source =
            static_cast<uint64_t>(geometry.Source(static_cast<int64_t>(unit), lengths));
        std::memcpy(to + unit * bytes, from + source * bytes, bytes);
      }
    });
  }

  static ms::Status MoveStrings(const SequenceGeometry& geometry, const ms::View& input,
                                const ms::View& lengths, const ms::View& output) {
    const int64_t row = geometry.row;
    const int64_t rows = output.size() / row;
    for (int64_t unit = 0; unit < rows; ++unit) {
      MS_TRY(CopyStrings(input, geometry.Source(unit, lengths) * row, output, unit * row, row));
    }
    return ms::Status();
  }

  int64_t batch_dim_ = 0;
  int64_t seq_dim_ = 0;
};

const ms::Registered reverse = ms::Register<Reverse>(
    "Reverse", ms::KernelOptions().Types("T", MovableTypes()).HostArg("dims"));
const ms::Registered reverse_v2 = ms::Register<ReverseV2>(
    "ReverseV2",
    ms::KernelOptions().Types("T", MovableTypes()).Types("Tidx", IndexTypes()).HostArg("axis"));
const ms::Registered reverse_sequence =
    ms::Register<ReverseSequence>("ReverseSequence", ms::KernelOptions()
                                                         .Types("T", MovableTypes())
                                                         .Types("Tlen", IndexTypes())
                                                         .HostArg("seq_lengths"));

}  // namespace
}  // namespace millstream::kernels
