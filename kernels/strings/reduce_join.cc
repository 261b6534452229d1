// ReduceJoin.
#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "framework/plugin/plugin.hpp"
#include "kernels/array/indices.h"

namespace millstream::kernels {
namespace {

// Inputs: strings and the dimensions along which they are joined, in the order in which these are
// listed: the first one changes first.
class ReduceJoin {
 public:
  ms::Status Init(const ms::KernelInfo& info) {
    MS_TRY(info.Attr("keep_dims", &keep_dims_));
    return info.Attr("separator", &separator_);
  }

  ms::Status Compute(ms::Frame& frame) const {
    const ms::View inputs = frame.input(0);
    const ms::Shape source = inputs.shape();
    std::vector<uint32_t> joined;
    MS_TRY(ReadAxes(frame.input(1), source, &joined));
    std::reverse(joined.begin(), joined.end());  // PlaceOf changes the last one first
    const ms::Shape strides = RowMajorStrides(source);
    std::vector<uint32_t> kept;
    ms::Shape shape;
    for (uint32_t d = 0; d < source.rank(); ++d) {
      bool is_joined = false;
      for (const uint32_t axis : joined) is_joined = is_joined || axis == d;
      if (!is_joined) {
        kept.push_back(d);
        shape.Append(source[d]);
      } else if (keep_dims_) {
        shape.Append(1);
      }
    }
    ms::View output;
    MS_TRY(frame.Output(0, shape, &output));
    int64_t count = 1;  // of strings that are joined to one
    for (const uint32_t axis : joined) count *= source[axis];
    std::string text;
    for (int64_t i = 0; i < output.size(); ++i) {
      const int64_t start = PlaceOf(i, kept, source, strides);
      text.clear();
      for (int64_t k = 0; k < count; ++k) {
        std::string_view part;
        MS_TRY(inputs.GetString(start + PlaceOf(k, joined, source, strides), &part));
        if (k > 0) text.append(separator_);
        text.append(part);
      }
      MS_TRY(output.SetString(i, text));
    }
    return ms::Status();
  }

 private:
  static ms::Status ReadAxes(const ms::View& axes, const ms::Shape& source,
                             std::vector<uint32_t>* joined) {
    if (axes.rank() > 1) {
      return ms::InvalidArgument("reduction_indices must be a scalar or a vector, but has shape ",
                                 axes.shape().ToString());
    }
    const int64_t rank = source.rank();
    for (int64_t i = 0; i < axes.size(); ++i) {
      const int64_t axis = IndexAt(axes, i);
      if (axis < -rank || axis >= rank) {
        return ms::OutOfRange("reduction_indices holds ", axis, ", which is no dimension of ",
                              source.ToString());
      }
      const auto found = static_cast<uint32_t>(axis < 0 ? axis + rank : axis);
      for (const uint32_t other : *joined) {
        if (other != found) continue;
        return ms::InvalidArgument("reduction_indices names dimension ", found, " twice");
      }
      joined->push_back(found);
    }
    return ms::Status();
  }

  // The place of index `i`, in flat order, of the dimensions `axes`.
  static int64_t PlaceOf(int64_t i, const std::vector<uint32_t>& axes, const ms::Shape& source,
                         const ms::Shape& strides) {
    int64_t place = 0;
    for (size_t d = axes.size(); d-- > 0; i /= source[axes[d]]) {
      place += i % source[axes[d]] * strides[axes[d]];
    }
    return place;
  }

  bool keep_dims_ = false;
  std::string separator_;
};

const ms::Registered reduce_join =
    ms::Register<ReduceJoin>("ReduceJoin", ms::KernelOptions().HostArg("reduction_indices"));

}  // namespace
}  // namespace millstream::kernels
