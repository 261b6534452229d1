// UnsortedSegmentSum. 16-bit floating-point numbers are summed as float and rounded once.
#include <complex>
#include <cstdint>

#include "framework/plugin/plugin.hpp"
#include "kernels/array/accumulate_rows.h"
#include "kernels/array/indices.h"
#include "kernels/array/strided_copy.h"
#include "kernels/common/narrow_float.h"

namespace millstream::kernels {
namespace {

template <typename Index>
ms::Status CheckIds(const ms::View& ids, int64_t num_segments) {
  const Index* values = ids.data<Index>();
  const int64_t n = ids.size();
  for (int64_t i = 0; i < n; ++i) {
    if (values[i] < num_segments) continue;
    return ms::InvalidArgument(ElementName("segment_ids", ids.shape(), i), " = ", values[i],
                               " is not smaller than num_segments = ", num_segments);
  }
  return ms::Status();
}

// Inputs: data, segment_ids (their shape begins data's), num_segments. Row i of the output is the
// sum of the rows of data with id i; rows with a negative id are dropped.
template <typename T>
class UnsortedSegmentSum {
 public:
  ms::Status Compute(ms::Frame& frame) const {
    const ms::View data = frame.input(0);
    const ms::View ids = frame.input(1);
    int64_t num_segments = 0;
    MS_TRY(ReadIndexScalar(frame.input(2), "num_segments", &num_segments));
    if (num_segments < 0) {
      return ms::InvalidArgument("num_segments = ", num_segments, " is negative");
    }
    const ms::Shape whole = data.shape();
    MS_TRY(CheckRows("data", whole, "segment_ids", ids.shape()));
    MS_TRY(CheckRank(whole.rank() - ids.rank() + 1));
    ms::Shape shape{num_segments};
    for (uint32_t i = ids.rank(); i < whole.rank(); ++i) shape.Append(whole[i]);
    return ids.dtype() == MS_INT32 ? Sum<int32_t>(frame, data, ids, shape)
                                   : Sum<int64_t>(frame, data, ids, shape);
  }

 private:
  template <typename Index>
  static ms::Status Sum(ms::Frame& frame, const ms::View& data, const ms::View& ids,
                        const ms::Shape& shape) {
    ms::View output;
    MS_TRY(frame.Output(0, shape, &output));
    MS_TRY(CheckIds<Index>(ids, shape[0]));
    if (output.size() == 0 || data.size() == 0) return SetToZero(frame, output);
    const int64_t width = DimProduct(shape, 1, shape.rank());
    if constexpr (kIsNarrowFloat<T>) {
      ms::View sums;
      MS_TRY(frame.Temp(static_cast<uint64_t>(output.size()) * sizeof(float), &sums));
      MS_TRY(SetToZero(frame, sums));
      AccumulateRows(frame, ids.data<Index>(), ids.size(), data.data<T>(), /*is_scalar=*/false,
                     width, sums.data<float>());
      NarrowElements(sums.data<float>(), output.size(), output.data<T>());
    } else {
      MS_TRY(SetToZero(frame, output));
      AccumulateRows(frame, ids.data<Index>(), ids.size(), data.data<T>(), /*is_scalar=*/false,
                     width, output.data<T>());
    }
    return ms::Status();
  }
};

const ms::Registered unsorted_segment_sum =
    ms::RegisterForTypes<UnsortedSegmentSum, float, double, Float16, BFloat16, int8_t, int16_t,
                         int32_t, int64_t, uint8_t, uint16_t, uint32_t, uint64_t,
                         std::complex<float>, std::complex<double>>(
        "UnsortedSegmentSum", "T",
        ms::KernelOptions()
            .Types("Tindices", IndexTypes())
            .Types("Tnumsegments", IndexTypes())
            .HostArg("num_segments"));

}  // namespace
}  // namespace millstream::kernels
