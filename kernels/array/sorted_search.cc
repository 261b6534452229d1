// LowerBound, UpperBound and Bucketize: places of numbers among sorted ones.
#include <algorithm>
#include <cstdint>
#include <iterator>
#include <limits>
#include <vector>

#include "framework/plugin/plugin.hpp"
#include "kernels/array/indices.h"
#include "kernels/common/parallel.h"
#include "kernels/common/type_table.h"

namespace millstream::kernels {
namespace {

// How many of `n` sorted numbers are less than each value, or, for the upper bound, not greater.
using BoundLoop = void (*)(const void* sorted, int64_t n, const void* values, int64_t begin,
                           int64_t end, bool is_upper, const ms::View& output);

void SetPlace(const ms::View& output, int64_t i, int64_t place) {
  if (output.dtype() == MS_INT64) {
    output.data<int64_t>()[i] = place;
  } else {
    output.data<int32_t>()[i] = static_cast<int32_t>(place);
  }
}

template <typename T>
void FindBounds(const void* sorted_base, int64_t n, const void* values_base, int64_t begin,
                int64_t end, bool is_upper, const ms::View& output) {
  using Number = ComputeTypeOf<T>;
  const T* const sorted = static_cast<const T*>(sorted_base);
  const T* const values = static_cast<const T*>(values_base);
  for (int64_t i = begin; i < end; ++i) {
    const Number value = values[i];
    int64_t low = 0;
    int64_t high = n;
    while (low < high) {
      const int64_t middle = low + (high - low) / 2;
      const Number element = sorted[middle];
      const bool is_before = is_upper ? !(value < element) : element < value;
      if (is_before) {
        low = middle + 1;
      } else {
        high = middle;
      }
    }
    SetPlace(output, i, low);
  }
}

struct BoundFunction {
  MS_DType dtype;
  BoundLoop loop;
};
template <typename T>
constexpr BoundFunction LoopOf() {
  return {ms::DTypeOf<T>(), &FindBounds<T>};
}
constexpr BoundFunction kLoops[] = {LoopOf<float>(),    LoopOf<double>(),   LoopOf<Float16>(),
                                    LoopOf<BFloat16>(), LoopOf<int8_t>(),   LoopOf<int16_t>(),
                                    LoopOf<int32_t>(),  LoopOf<int64_t>(),  LoopOf<uint8_t>(),
                                    LoopOf<uint16_t>(), LoopOf<uint32_t>(), LoopOf<uint64_t>()};
constexpr TypeTable<BoundFunction> kTable = {kLoops, std::size(kLoops)};

// Inputs: sorted_inputs and values, matrices of as many rows.
class Bound {
 public:
  struct Row {
    bool is_upper;
  };

  explicit Bound(const Row& row) : is_upper_(row.is_upper) {}

  ms::Status Init(const ms::KernelInfo& info) {
    loop_ = kTable.Find(info.input_dtype(0));
    element_size_ = static_cast<int64_t>(ms::ElementSize(info.input_dtype(0)));
    return loop_ == nullptr ? NoLoopFor(info.input_dtype(0)) : ms::Status();
  }

  ms::Status Compute(ms::Frame& frame) const {
    const ms::View sorted = frame.input(0);
    const ms::View values = frame.input(1);
    for (uint32_t i = 0; i < 2; ++i) {
      if (frame.input(i).rank() == 2) continue;
      return ms::InvalidArgument(i == 0 ? "sorted_inputs" : "values",
                                 " must be a matrix, but has shape ",
                                 frame.input(i).shape().ToString());
    }
    if (sorted.dim(0) != values.dim(0)) {
      return ms::InvalidArgument("values must have as many rows as sorted_inputs, ", sorted.dim(0),
                                 ", but has ", values.dim(0));
    }
    ms::View output;
    MS_TRY(frame.Output(0, values.shape(), &output));
    const int64_t n = sorted.dim(1);
    if (output.dtype() == MS_INT32 && n > std::numeric_limits<int32_t>::max()) {
      return ms::InvalidArgument("sorted_inputs has ", n,
                                 " columns, which attribute out_type cannot count");
    }
    const int64_t width = values.dim(1);
    return ParallelElements(frame, output.size(), 20000, [&](int64_t begin, int64_t end) {
      while (begin < end) {
        const int64_t row = begin / width;
        const int64_t row_end = std::min(end, (row + 1) * width);
        loop_->loop(sorted.data<char>() + row * n * element_size_, n, values.raw(), begin, row_end,
                    is_upper_, output);
        begin = row_end;
      }
    });
  }

 private:
  const bool is_upper_;
  const BoundFunction* loop_ = nullptr;
  int64_t element_size_ = 0;
};

// Input: numbers. Attribute: boundaries, sorted.
template <typename T>
class Bucketize {
 public:
  ms::Status Init(const ms::KernelInfo& info) { return info.Attr("boundaries", &boundaries_); }

  ms::Status Compute(ms::Frame& frame) const {
    const ms::View input = frame.input(0);
    ms::View output;
    MS_TRY(frame.Output(0, input.shape(), &output));
    const T* const values = input.data<T>();
    int32_t* const buckets = output.data<int32_t>();
    return ParallelElements(frame, input.size(), 10000, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        const auto above = std::upper_bound(boundaries_.begin(), boundaries_.end(), values[i]);
        buckets[i] = static_cast<int32_t>(above - boundaries_.begin());
      }
    });
  }

 private:
  std::vector<float> boundaries_;
};

constexpr Bound::Row kLower = {false};
constexpr Bound::Row kUpper = {true};

ms::Registered RegisterBound(const char* op, const Bound::Row& row) {
  return ms::RegisterRow<Bound>(
      op, row,
      ms::KernelOptions().Types("T", TypesIn(kOrderedTypes)).Types("out_type", IndexTypes()));
}

const ms::Registered lower_bound = RegisterBound("LowerBound", kLower);
const ms::Registered upper_bound = RegisterBound("UpperBound", kUpper);
const ms::Registered bucketize =
    ms::RegisterForTypes<Bucketize, int32_t, int64_t, float, double>("Bucketize", "T");

}  // namespace
}  // namespace millstream::kernels
