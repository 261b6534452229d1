// MirrorPad and MirrorPadGrad.
#include <complex>
#include <cstdint>
#include <iterator>
#include <string>

#include "framework/plugin/plugin.hpp"
#include "kernels/array/index_runs.h"
#include "kernels/array/indices.h"
#include "kernels/array/strided_copy.h"
#include "kernels/common/type_table.h"
#include "kernels/common/wrapping.h"

namespace millstream::kernels {
namespace {

// Reads the paddings and checks them against `inner`, the shape without them. REFLECT does not
// repeat the elements at the edges, which `offset` = 1 says.
ms::Status FindRuns(const ms::View& paddings, const ms::Shape& inner, int64_t offset,
                    IndexRuns* runs) {
  runs->resize(inner.rank());
  for (uint32_t d = 0; d < inner.rank(); ++d) {
    const int64_t before = IndexAt(paddings, 2 * int64_t{d});
    const int64_t behind = IndexAt(paddings, 2 * int64_t{d} + 1);
    const int64_t size = inner[d];
    const int64_t most = size - offset;
    if (before < 0 || behind < 0 || before > most || behind > most) {
      return ms::InvalidArgument("paddings[", d, "] = [", before, ",", behind,
                                 "] must be between 0 and ", most, " for a dimension of ", size,
                                 offset == 1 ? " in mode REFLECT" : " in mode SYMMETRIC");
    }
    std::vector<IndexRun>& of_dim = (*runs)[d];
    of_dim.push_back({size, 0, before, 1});
    if (before > 0) of_dim.push_back({before, before - 1 + offset, 0, -1});
    if (behind > 0) of_dim.push_back({behind, size - 1 - offset, before + size, -1});
  }
  return ms::Status();
}

ms::Status CheckPaddings(const ms::View& paddings, const ms::Shape& shape) {
  if (paddings.rank() == 2 && paddings.dim(0) == shape.rank() && paddings.dim(1) == 2) {
    return ms::Status();
  }
  return ms::InvalidArgument("paddings must have shape [", shape.rank(), ",2] for input of shape ",
                             shape.ToString(), ", but has ", paddings.shape().ToString());
}

ms::Status ReadOffset(const ms::KernelInfo& info, int64_t* offset) {
  std::string mode;
  MS_TRY(info.Attr("mode", &mode));
  *offset = mode == "REFLECT" ? 1 : 0;
  return ms::Status();
}

// Inputs: input, paddings. The output is the input and its mirror images around it.
class MirrorPad {
 public:
  ms::Status Init(const ms::KernelInfo& info) { return ReadOffset(info, &offset_); }

  ms::Status Compute(ms::Frame& frame) const {
    const ms::View input = frame.input(0);
    const ms::View paddings = frame.input(1);
    ms::Shape shape = input.shape();
    MS_TRY(CheckPaddings(paddings, shape));
    IndexRuns runs;
    MS_TRY(FindRuns(paddings, shape, offset_, &runs));
    for (uint32_t d = 0; d < shape.rank(); ++d) {
      const int64_t before = IndexAt(paddings, 2 * int64_t{d});
      const int64_t behind = IndexAt(paddings, 2 * int64_t{d} + 1);
      if (__builtin_add_overflow(shape[d], before, &shape[d]) ||
          __builtin_add_overflow(shape[d], behind, &shape[d])) {
        return ms::InvalidArgument("paddings[", d, "] makes a dimension that 64 bits cannot hold");
      }
    }
    ms::View output;
    MS_TRY(frame.Output(0, shape, &output));
    if (output.size() == 0) return ms::Status();
    return CopyRuns(frame, runs, input, output);
  }

 private:
  int64_t offset_ = 0;
};

// Adds a row of the padded gradient to that of the input, whose elements are `step` apart.
using AddLoop = void (*)(const void* from, int64_t begin, int64_t n, void* to, int64_t start,
                         int64_t step);

template <typename T>
void AddRow(const void* from_base, int64_t begin, int64_t n, void* to_base, int64_t start,
            int64_t step) {
  const T* const from = static_cast<const T*>(from_base) + begin;
  T* const to = static_cast<T*>(to_base) + start;
  for (int64_t i = 0; i < n; ++i) to[i * step] = WrappingSum<T>(to[i * step], from[i]);
}

struct AddFunction {
  MS_DType dtype;
  AddLoop loop;
};
template <typename T>
constexpr AddFunction LoopOf() {
  return {ms::DTypeOf<T>(), &AddRow<T>};
}
constexpr AddFunction kLoops[] = {LoopOf<float>(),
                                  LoopOf<double>(),
                                  LoopOf<std::complex<float>>(),
                                  LoopOf<std::complex<double>>(),
                                  LoopOf<uint8_t>(),
                                  LoopOf<uint16_t>(),
                                  LoopOf<uint32_t>(),
                                  LoopOf<uint64_t>()};
constexpr TypeTable<AddFunction> kTable = {kLoops, std::size(kLoops)};

// Inputs: input, the gradient of what MirrorPad gives, and paddings. Each element of the output is
// the sum of those that are copies of one element. 16-bit floating-point numbers are summed as
// float and rounded once.
class MirrorPadGrad {
 public:
  ms::Status Init(const ms::KernelInfo& info) {
    loop_ = kTable.Find(info.input_dtype(0));
    if (loop_ == nullptr) return NoLoopFor(info.input_dtype(0));
    format_ = NarrowFormatOf(info.input_dtype(0));
    return ReadOffset(info, &offset_);
  }

  ms::Status Compute(ms::Frame& frame) const {
    const ms::View input = frame.input(0);
    const ms::View paddings = frame.input(1);
    ms::Shape shape = input.shape();
    MS_TRY(CheckPaddings(paddings, shape));
    for (uint32_t d = 0; d < shape.rank(); ++d) {
      const int64_t before = IndexAt(paddings, 2 * int64_t{d});
      const int64_t behind = IndexAt(paddings, 2 * int64_t{d} + 1);
      if (before < 0 || behind < 0 || before > shape[d] - behind) {
        return ms::InvalidArgument("paddings[", d, "] = [", before, ",", behind,
                                   "] do not fit into a dimension of ", shape[d], " of input");
      }
      shape[d] -= before + behind;
    }
    IndexRuns runs;
    MS_TRY(FindRuns(paddings, shape, offset_, &runs));
    ms::View output;
    MS_TRY(frame.Output(0, shape, &output));
    if (output.size() == 0) return ms::Status();
    if (format_ == nullptr) {
      MS_TRY(SetToZero(frame, output));
      return AddBoxes(runs, input.shape(), shape, input.raw(), output.raw());
    }
    ms::View wide;
    ms::View sums;
    const auto float_bytes = [](const ms::View& view) {
      return static_cast<uint64_t>(view.size()) * sizeof(float);
    };
    MS_TRY(frame.Temp(float_bytes(input), &wide));
    MS_TRY(frame.Temp(float_bytes(output), &sums));
    MS_TRY(SetToZero(frame, sums));
    format_->widen(input.raw(), 0, input.size(), wide.data<float>());
    MS_TRY(AddBoxes(runs, input.shape(), shape, wide.raw(), sums.raw()));
    format_->narrow(sums.data<float>(), output.size(), output.raw(), 0);
    return ms::Status();
  }

 private:
  ms::Status AddBoxes(const IndexRuns& runs, const ms::Shape& padded, const ms::Shape& inner,
                      const void* from, void* to) const {
    return ForEachBox(runs, inner, padded, [&](const RunBox& box) {
      AddBox(box, inner.rank(), from, to);
      return ms::Status();
    });
  }

  void AddBox(const RunBox& box, uint32_t rank, const void* from, void* to) const {
    if (rank == 0) return loop_->loop(from, 0, 1, to, 0, 1);
    const uint32_t last = rank - 1;
    int64_t rows = 1;
    for (uint32_t d = 0; d < last; ++d) rows *= box.extents[d];
    for (int64_t row = 0; row < rows; ++row) {
      int64_t begin = box.target_start;
      int64_t start = box.source_start;
      int64_t rest = row;
      for (uint32_t d = last; d-- > 0; rest /= box.extents[d]) {
        begin += rest % box.extents[d] * box.target_strides[d];
        start += rest % box.extents[d] * box.source_strides[d];
      }
      loop_->loop(from, begin, box.extents[last], to, start, box.source_strides[last]);
    }
  }

  const AddFunction* loop_ = nullptr;
  const NarrowFormat* format_ = nullptr;
  int64_t offset_ = 0;
};

ms::KernelOptions Padded(std::vector<MS_DType> types) {
  return ms::KernelOptions()
      .Types("T", std::move(types))
      .Types("Tpaddings", IndexTypes())
      .HostArg("paddings");
}

const ms::Registered mirror_pad = ms::Register<MirrorPad>("MirrorPad", Padded(MovableTypes()));
const ms::Registered mirror_pad_grad =
    ms::Register<MirrorPadGrad>("MirrorPadGrad", Padded(TypesIn(kAllNumberTypes)));

}  // namespace
}  // namespace millstream::kernels
