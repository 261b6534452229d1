// Bincount and HistogramFixedWidth.
#include <algorithm>
#include <cmath>
#include <cstdint>

#include "framework/plugin/plugin.hpp"
#include "kernels/array/indices.h"
#include "kernels/array/strided_copy.h"
#include "kernels/common/wrapping.h"

namespace millstream::kernels {
namespace {

// Inputs: arr; size, a scalar; weights, of the shape of arr or empty. Output: the sums of the
// weights, or the counts, of each number below size, in the order of arr.
template <typename T>
class Bincount {
 public:
  ms::Status Compute(ms::Frame& frame) const {
    const ms::View arr = frame.input(0);
    const ms::View weights = frame.input(2);
    int64_t size = 0;
    MS_TRY(ReadIndexScalar(frame.input(1), "size", &size));
    if (size < 0) return ms::InvalidArgument("size = ", size, " must not be negative");
    const bool has_weights = weights.size() > 0;
    if (has_weights && weights.shape() != arr.shape()) {
      return ms::InvalidArgument("weights must be empty or have the shape of arr, ",
                                 arr.shape().ToString(), ", but has shape ",
                                 weights.shape().ToString());
    }
    ms::View bins;
    MS_TRY(frame.Output(0, ms::Shape{size}, &bins));
    MS_TRY(SetToZero(frame, bins));
    const int32_t* const numbers = arr.data<int32_t>();
    T* const sums = bins.data<T>();
    for (int64_t i = 0; i < arr.size(); ++i) {
      if (numbers[i] < 0) {
        return ms::InvalidArgument(ElementName("arr", arr.shape(), i), " = ", numbers[i],
                                   " must not be negative");
      }
      if (numbers[i] >= size) continue;
      T& sum = sums[numbers[i]];
      sum = WrappingSum<T>(sum, has_weights ? weights.data<T>()[i] : T(1));
    }
    return ms::Status();
  }
};

// Inputs: values; value_range, the least and the greatest; nbins, a scalar. Places are computed in
// double, whatever the type, so that no difference overflows or loses digits.
template <typename T>
class HistogramFixedWidth {
 public:
  ms::Status Compute(ms::Frame& frame) const {
    const ms::View values = frame.input(0);
    const ms::View range = frame.input(1);
    int64_t bins = 0;
    MS_TRY(ReadIndexScalar(frame.input(2), "nbins", &bins));
    if (bins <= 0) return ms::InvalidArgument("nbins = ", bins, " must be positive");
    if (range.rank() != 1 || range.dim(0) != 2) {
      return ms::InvalidArgument("value_range must have shape [2], but has ",
                                 range.shape().ToString());
    }
    ms::View out;
    MS_TRY(frame.Output(0, ms::Shape{bins}, &out));
    const T least = range.data<T>()[0];
    const T greatest = range.data<T>()[1];
    if (!(least < greatest)) {
      return ms::InvalidArgument("value_range = [", least, ",", greatest, "] must ascend");
    }
    MS_TRY(SetToZero(frame, out));
    const auto begin = static_cast<double>(least);
    const auto count = static_cast<double>(bins);
    const double width = static_cast<double>(greatest) / count - begin / count;
    const auto last = static_cast<double>(bins - 1);
    for (int64_t i = 0; i < values.size(); ++i) {
      const T value = values.data<T>()[i];
      // One bin has all values, whatever they are.
      if (bins > 1 && std::isnan(static_cast<double>(value))) {
        return ms::InvalidArgument("Histogram values must not contain NaN: ",
                                   ElementName("values", values.shape(), i));
      }
      const auto inside = static_cast<double>(std::clamp(value, least, greatest));
      const double place = (inside - begin) / width;
      // What is no number, as infinity by infinity, counts in the first bin.
      const auto bin = static_cast<int64_t>(place >= last ? last : place >= 0 ? place : 0.0);
      if (out.dtype() == MS_INT64) {
        ++out.data<int64_t>()[bin];
      } else {
        ++out.data<int32_t>()[bin];
      }
    }
    return ms::Status();
  }
};

const ms::Registered bincount = ms::RegisterForTypes<Bincount, int32_t, int64_t, float, double>(
    "Bincount", "T", ms::KernelOptions().HostArg("size"));
const ms::Registered histogram =
    ms::RegisterForTypes<HistogramFixedWidth, int32_t, int64_t, float, double>(
        "HistogramFixedWidth", "T",
        ms::KernelOptions().Types("dtype", IndexTypes()).HostArg("nbins"));

}  // namespace
}  // namespace millstream::kernels
