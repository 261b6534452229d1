// QuantizedReshape and QuantizedConcat.
#include <algorithm>
#include <cstdint>
#include <cstring>
#include <vector>

#include "framework/plugin/plugin.hpp"
#include "kernels/array/indices.h"
#include "kernels/quantized/levels.h"

namespace millstream::kernels {
namespace {

// The shape that the argument `shape` asks for; one size may be -1.
ms::Status ResolveShape(const ms::View& tensor, const ms::View& sizes, ms::Shape* shape) {
  MS_TRY(ReadIndexVector(sizes, "shape", shape));
  int64_t known = 1;
  int unknown = -1;
  for (uint32_t i = 0; i < shape->rank(); ++i) {
    const int64_t size = (*shape)[i];
    if (size < -1 || (size == -1 && unknown >= 0)) {
      return ms::InvalidArgument("shape ", shape->ToString(),
                                 " must have no negative size but one -1");
    }
    if (size == -1) {
      unknown = static_cast<int>(i);
    } else if (__builtin_mul_overflow(known, size, &known)) {
      return ms::InvalidArgument("shape ", shape->ToString(), " has too many elements");
    }
  }
  const int64_t elements = tensor.size();
  if (unknown >= 0 && known > 0) {
    (*shape)[static_cast<uint32_t>(unknown)] = elements / known;
    known *= elements / known;
    unknown = -1;
  }
  if (unknown < 0 && known == elements) return ms::Status();
  return ms::InvalidArgument("cannot reshape tensor ", tensor.shape().ToString(), " to shape ",
                             shape->ToString());
}

class Reshape {
 public:
  ms::Status Compute(ms::Frame& frame) const {
    const ms::View tensor = frame.input(0);
    ms::Shape shape;
    MS_TRY(ResolveShape(tensor, frame.input(1), &shape));
    float range[2];
    MS_TRY(ReadScalars(frame, 2, {"input_min", "input_max"}, range));
    ms::View output;
    MS_TRY(frame.Output(0, shape, &output));
    MS_TRY(SetRange(frame, range[0], range[1]));
    const auto bytes = static_cast<size_t>(tensor.size()) * ms::ElementSize(tensor.dtype());
    if (bytes > 0) std::memcpy(output.raw(), tensor.raw(), bytes);
    return ms::Status();
  }
};

// Inputs: the axis, the values, the begins of their ranges, and the ends.
class Concat {
 public:
  ms::Status Init(const ms::KernelInfo& info) {
    return FindLevelType(info.output_dtype(0), &type_);
  }

  ms::Status Compute(ms::Frame& frame) const {
    const uint32_t count = (frame.num_inputs() - 1) / 3;
    std::vector<Levels> ranges;
    float range[2] = {};
    for (uint32_t i = 0; i < count; ++i) {
      float ends[2];
      MS_TRY(ReadScalars(frame, 1 + count + i, {"input_mins"}, ends));
      MS_TRY(ReadScalars(frame, 1 + 2 * count + i, {"input_maxes"}, ends + 1));
      range[0] = i == 0 ? ends[0] : std::min(range[0], ends[0]);
      range[1] = i == 0 ? ends[1] : std::max(range[1], ends[1]);
      ranges.emplace_back(*type_, ends[0], ends[1]);
    }
    uint32_t axis = 0;
    ms::Shape shape;
    MS_TRY(ResolveShape(frame, count, &axis, &shape));
    ms::View output;
    MS_TRY(frame.Output(0, shape, &output));
    MS_TRY(SetRange(frame, range[0], range[1]));
    if (output.size() == 0) return ms::Status();
    const Levels whole(*type_, range[0], range[1]);
    const int64_t rows = DimProduct(shape, 0, axis);
    const int64_t length = output.size() / rows;
    int64_t at = 0;
    for (uint32_t i = 0; i < count; ++i) {
      const ms::View values = frame.input(1 + i);
      const int64_t own = values.size() / rows;
      MS_TRY(frame.CheckCancelled());
      for (int64_t row = 0; row < rows; ++row) {
        Copy(values, row * own, own, ranges[i], whole, output, row * length + at);
      }
      at += own;
    }
    return ms::Status();
  }

 private:
  static ms::Status ResolveShape(const ms::Frame& frame, uint32_t count, uint32_t* axis,
                                 ms::Shape* shape) {
    int64_t given = 0;
    MS_TRY(ReadIndexScalar(frame.input(0), "concat_dim", &given));
    *shape = frame.input(1).shape();
    MS_TRY(ResolveAxis(given, shape->rank(), "concat_dim", axis));
    for (uint32_t i = 1; i < count; ++i) {
      ms::Shape own = frame.input(1 + i).shape();
      if (own.rank() == shape->rank()) {
        const int64_t size = own[*axis];
        own[*axis] = (*shape)[*axis];
        if (own == *shape) {
          (*shape)[*axis] += size;
          continue;
        }
      }
      return ms::InvalidArgument("values must have equal shapes but for concat_dim ", *axis,
                                 ", but values[0] is ", frame.input(1).shape().ToString(),
                                 " and values[", i, "] is ", frame.input(1 + i).shape().ToString());
    }
    return ms::Status();
  }

  // `n` levels from `begin` on become those of another range.
  void Copy(const ms::View& values, int64_t begin, int64_t n, const Levels& from, const Levels& to,
            const ms::View& output, int64_t at) const {
    int32_t levels[kTile];
    for (int64_t done = 0; done < n; done += kTile) {
      const int64_t some = std::min(kTile, n - done);
      type_->widen(values.raw(), begin + done, some, levels);
      if (!from.HasRangeOf(to)) {
        for (int64_t i = 0; i < some; ++i) levels[i] = to.Level(from.Number(levels[i]));
      }
      type_->narrow(levels, some, output.raw(), at + done);
    }
  }

  const LevelType* type_ = nullptr;
};

const ms::Registered reshape = ms::Register<Reshape>(
    "QuantizedReshape", ReadsFirst({"shape", "input_min", "input_max"})
                            .Types("T", {MS_QINT8, MS_QUINT8, MS_QINT32, MS_QINT16, MS_QUINT16}));
const ms::Registered concat = ms::Register<Concat>(
    "QuantizedConcat", ReadsFirst({"concat_dim", "input_mins", "input_maxes"})
                           .Types("T", {MS_QINT8, MS_QUINT8, MS_QINT32, MS_QINT16, MS_QUINT16}));

}  // namespace
}  // namespace millstream::kernels
