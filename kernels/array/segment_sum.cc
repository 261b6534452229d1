// UnsortedSegmentSum. 16-bit floating-point numbers are summed as float and rounded once.
#include <cstdint>

#include "framework/plugin/plugin.hpp"
#include "kernels/array/accumulate_rows.h"
#include "kernels/array/indices.h"
#include "kernels/array/strided_copy.h"

namespace millstream::kernels {
namespace {

ms::Status CheckIds(const ms::View& ids, int64_t num_segments) {
  const int64_t n = ids.size();
  for (int64_t i = 0; i < n; ++i) {
    if (IndexAt(ids, i) < num_segments) continue;
    return ms::InvalidArgument(ElementName("segment_ids", ids.shape(), i), " = ", IndexAt(ids, i),
                               " is not smaller than num_segments = ", num_segments);
  }
  return ms::Status();
}

// Inputs: data, segment_ids (their shape begins data's), num_segments. Row i of the output is the
// sum of the rows of data with id i; rows with a negative id are dropped.
class UnsortedSegmentSum {
 public:
  ms::Status Init(const ms::KernelInfo& info) {
    format_ = NarrowFormatOf(info.input_dtype(0));
    return accumulator_.Init(info.input_dtype(0), /*wide_table=*/true);
  }

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
    ms::View output;
    MS_TRY(frame.Output(0, shape, &output));
    MS_TRY(CheckIds(ids, shape[0]));
    if (output.size() == 0 || data.size() == 0) return SetToZero(frame, output);
    ms::View sums = output;
    if (format_ != nullptr) {
      MS_TRY(frame.Temp(static_cast<uint64_t>(output.size()) * sizeof(float), &sums));
    }
    MS_TRY(SetToZero(frame, sums));
    accumulator_.Run(frame, ids, data.raw(), /*is_scalar=*/false,
                     DimProduct(shape, 1, shape.rank()), sums.raw());
    if (format_ != nullptr) {
      format_->narrow(sums.data<float>(), output.size(), output.raw(), 0);
    }
    return ms::Status();
  }

 private:
  RowAccumulator accumulator_;
  const NarrowFormat* format_ = nullptr;
};

ms::Registered RegisterSegmentSum(const char* op) {
  return ms::Register<UnsortedSegmentSum>(op, ms::KernelOptions()
                                                  .Types("T", TypesIn(kAllNumberTypes))
                                                  .Types("Tindices", IndexTypes())
                                                  .Types("Tnumsegments", IndexTypes())
                                                  .HostArg("num_segments"));
}

const ms::Registered unsorted_segment_sum = RegisterSegmentSum("UnsortedSegmentSum");

}  // namespace
}  // namespace millstream::kernels
