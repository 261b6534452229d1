// OneHot.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>

#include "framework/plugin/plugin.hpp"
#include "kernels/array/indices.h"
#include "kernels/array/strings.h"
#include "kernels/common/parallel.h"

namespace millstream::kernels {
namespace {

// indices are seen as [outer, inner], the output as [outer, depth, inner].
struct OneHotGeometry {
  uint64_t outer;
  int64_t depth;
  int64_t inner;
};

// Value stands for any type of its size.
template <typename Value>
struct [[gnu::packed, gnu::may_alias]] Cell {
  Value value;
};
struct [[gnu::packed, gnu::may_alias]] Cell16 {
  uint64_t low;
  uint64_t high;
};

// The function of the library that sets bytes writes faster than a loop over elements: almost
// always, off_value is zero.
template <typename T>
bool IsOneByte(const T& value) {
  unsigned char bytes[sizeof(T)];
  std::memcpy(bytes, &value, sizeof(T));
  return std::all_of(bytes, bytes + sizeof(T),
                     [&](unsigned char byte) { return byte == bytes[0]; });
}

template <typename T>
void FillRow(T value, bool is_one_byte, int64_t n, T* row) {
  if (is_one_byte) {
    unsigned char byte = 0;
    std::memcpy(&byte, &value, 1);
    std::memset(static_cast<void*>(row), byte, static_cast<size_t>(n) * sizeof(T));
  } else {
    std::fill_n(row, n, value);
  }
}

template <typename Index, typename T>
ms::Status Fill(ms::Frame& frame, const OneHotGeometry& geometry, const Index* indices, T on, T off,
                T* output) {
  const int64_t depth = geometry.depth;
  const int64_t inner = geometry.inner;
  if (inner == 1) {
    const bool is_one_byte = IsOneByte(off);
    return StoppableFor(frame, geometry.outer, 2 + static_cast<uint64_t>(depth) * sizeof(T) / 8,
                        [=](uint64_t begin, uint64_t end) {
                          for (uint64_t i = begin; i < end; ++i) {
                            T* row = output + i * static_cast<uint64_t>(depth);
                            FillRow(off, is_one_byte, depth, row);
                            const int64_t index = static_cast<int64_t>(indices[i]);
                            if (index >= 0 && index < depth) row[index] = on;
                          }
                        });
  }
  const uint64_t rows = geometry.outer * static_cast<uint64_t>(depth);
  return StoppableFor(frame, rows, 2 + static_cast<uint64_t>(inner),
                      [=](uint64_t begin, uint64_t end) {
                        for (uint64_t row = begin; row < end; ++row) {
                          const Index* picked = indices + static_cast<int64_t>(row) / depth * inner;
                          const int64_t index = static_cast<int64_t>(row) % depth;
                          T* target = output + static_cast<int64_t>(row) * inner;
                          for (int64_t i = 0; i < inner; ++i) {
                            target[i] = static_cast<int64_t>(picked[i]) == index ? on : off;
                          }
                        }
                      });
}

template <typename Index>
ms::Status FillStrings(ms::Frame& frame, const OneHotGeometry& geometry, const ms::View& output) {
  const Index* indices = frame.input(0).data<Index>();
  const ms::View on = frame.input(2);
  const ms::View off = frame.input(3);
  for (int64_t i = 0; i < output.size(); ++i) {
    const int64_t outer = i / geometry.inner / geometry.depth;
    const int64_t place = i / geometry.inner % geometry.depth;
    const Index index = indices[outer * geometry.inner + i % geometry.inner];
    MS_TRY(CopyString(static_cast<int64_t>(index) == place ? on : off, 0, output, i));
  }
  return ms::Status();
}

template <typename Index>
ms::Status FillBySize(ms::Frame& frame, const OneHotGeometry& geometry, const ms::View& output) {
  if (output.dtype() == MS_STRING) return FillStrings<Index>(frame, geometry, output);
  const Index* indices = frame.input(0).data<Index>();
  const auto run = [&](auto cell) {
    using T = decltype(cell);
    return Fill(frame, geometry, indices, *frame.input(2).data<T>(), *frame.input(3).data<T>(),
                output.data<T>());
  };
  switch (ms::ElementSize(output.dtype())) {
    case 1: return run(Cell<uint8_t>());
    case 2: return run(Cell<uint16_t>());
    case 4: return run(Cell<uint32_t>());
    case 8: return run(Cell<uint64_t>());
    default: return run(Cell16());
  }
}

// Inputs: indices, depth, on_value, off_value. Attribute: axis, the new dimension of the output
// (-1: the last). An index outside [0, depth) gives off_value everywhere.
class OneHot {
 public:
  ms::Status Init(const ms::KernelInfo& info) { return info.Attr("axis", &axis_); }

  ms::Status Compute(ms::Frame& frame) const {
    const ms::Shape indices = frame.input(0).shape();
    int64_t depth = 0;
    MS_TRY(ReadIndexScalar(frame.input(1), "depth", &depth));
    if (depth < 0) return ms::InvalidArgument("depth = ", depth, " is negative");
    MS_TRY(CheckScalar(frame.input(2), "on_value"));
    MS_TRY(CheckScalar(frame.input(3), "off_value"));
    if (axis_ < -1 || axis_ > indices.rank()) {
      return ms::InvalidArgument("axis = ", axis_, " must be -1 or in [0, ", indices.rank(),
                                 "], the rank of indices");
    }
    MS_TRY(CheckRank(indices.rank() + 1));
    const uint32_t axis = axis_ == -1 ? indices.rank() : static_cast<uint32_t>(axis_);
    ms::Shape shape(indices.begin(), axis);
    shape.Append(depth);
    for (uint32_t i = axis; i < indices.rank(); ++i) shape.Append(indices[i]);
    ms::View output;
    MS_TRY(frame.Output(0, shape, &output));
    if (output.size() == 0) return ms::Status();

    const OneHotGeometry geometry{static_cast<uint64_t>(DimProduct(indices, 0, axis)), depth,
                                  DimProduct(indices, axis, indices.rank())};
    switch (frame.input(0).dtype()) {
      case MS_UINT8: return FillBySize<uint8_t>(frame, geometry, output);
      case MS_INT32: return FillBySize<int32_t>(frame, geometry, output);
      default: return FillBySize<int64_t>(frame, geometry, output);
    }
  }

 private:
  static ms::Status CheckScalar(const ms::View& view, std::string_view name) {
    if (view.rank() == 0) return ms::Status();
    return ms::InvalidArgument(name, " must be a scalar, but has shape ", view.shape().ToString());
  }

  int64_t axis_ = -1;
};

const ms::Registered one_hot =
    ms::Register<OneHot>("OneHot", ms::KernelOptions()
                                       .Types("T", MovableTypes())
                                       .Types("TI", {MS_UINT8, MS_INT32, MS_INT64})
                                       .HostArg("depth"));

}  // namespace
}  // namespace millstream::kernels
