// UnsortedSegmentJoin, and Fact.
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "framework/plugin/plugin.hpp"
#include "kernels/array/indices.h"

namespace millstream::kernels {
namespace {

// Inputs: strings, the segment of each row, and how many segments there are.
class UnsortedSegmentJoin {
 public:
  ms::Status Init(const ms::KernelInfo& info) { return info.Attr("separator", &separator_); }

  ms::Status Compute(ms::Frame& frame) const {
    const ms::View inputs = frame.input(0);
    const ms::View ids = frame.input(1);
    int64_t segments = 0;
    MS_TRY(ReadIndexScalar(frame.input(2), "num_segments", &segments));
    if (segments < 0) return ms::InvalidArgument("num_segments = ", segments, " is negative");
    MS_TRY(CheckRows("inputs", inputs.shape(), "segment_ids", ids.shape()));
    ms::Shape shape = {segments};
    for (uint32_t d = ids.rank(); d < inputs.rank(); ++d) shape.Append(inputs.dim(d));
    ms::View output;
    MS_TRY(frame.Output(0, shape, &output));
    const int64_t width = DimProduct(shape, 1, shape.rank());
    std::vector<std::string> joined(static_cast<size_t>(output.size()));
    for (int64_t i = 0; i < ids.size(); ++i) {
      const int64_t id = IndexAt(ids, i);
      if (id < 0 || id >= segments) return NotInRange("segment_ids", ids, i, segments);
      for (int64_t k = 0; k < width; ++k) {
        const auto place = static_cast<size_t>(id * width + k);
        std::string_view text;
        MS_TRY(inputs.GetString(i * width + k, &text));
        // Not behind empty strings alone: that is the contract of the op.
        if (!joined[place].empty()) joined[place] += separator_;
        joined[place] += text;
      }
    }
    for (size_t i = 0; i < joined.size(); ++i) {
      MS_TRY(output.SetString(static_cast<int64_t>(i), joined[i]));
    }
    return ms::Status();
  }

 private:
  std::string separator_;
};

class Fact {
 public:
  ms::Status Compute(ms::Frame& frame) const {
    ms::View fact;
    MS_TRY(frame.Output(0, ms::Shape(), &fact));
    return fact.SetString(0, "0! == 1");
  }
};

const ms::Registered segment_join = ms::Register<UnsortedSegmentJoin>(
    "UnsortedSegmentJoin", ms::KernelOptions().HostArg("num_segments"));
const ms::Registered fact = ms::Register<Fact>("Fact");

}  // namespace
}  // namespace millstream::kernels
