// QuantizeAndDequantize, QuantizeAndDequantizeV2 and QuantizeAndDequantizeV3: numbers rounded to
// the levels of a range.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <string>

#include "framework/plugin/plugin.hpp"
#include "kernels/common/parallel.h"

namespace millstream::kernels {
namespace {

template <typename T>
class QuantizeAndDequantize {
 public:
  ms::Status Init(const ms::KernelInfo& info) {
    MS_TRY(info.Attr("signed_input", &is_signed_));
    MS_TRY(info.Attr("range_given", &is_given_));
    if (info.HasAttr("num_bits")) MS_TRY(info.Attr("num_bits", &bits_));
    if (info.HasAttr("narrow_range")) MS_TRY(info.Attr("narrow_range", &is_narrow_));
    if (info.HasAttr("round_mode")) {
      std::string mode;
      MS_TRY(info.Attr("round_mode", &mode));
      rounds_up_ = mode == "HALF_UP";
    }
    if (info.num_inputs() > 1) return ms::Status();
    MS_TRY(info.Attr("input_min", &args_[0]));
    return info.Attr("input_max", &args_[1]);
  }

  ms::Status Compute(ms::Frame& frame) const {
    T range[2] = {static_cast<T>(args_[0]), static_cast<T>(args_[1])};
    int64_t bits = bits_;
    MS_TRY(ReadInputs(frame, range, &bits));
    const ms::View input = frame.input(0);
    ms::View output;
    MS_TRY(frame.Output(0, input.shape(), &output));
    const T* const from = input.data<T>();
    T* const to = output.data<T>();
    const int64_t size = input.size();
    if (size == 0) return ms::Status();
    if (!is_given_) {
      const auto ends = std::minmax_element(from, from + size);
      range[0] = *ends.first;
      range[1] = *ends.second;
    }
    const Steps steps = StepsFor(range, bits);
    constexpr int64_t kPicoseconds = 3000;
    return ParallelElements(frame, size, kPicoseconds, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        const T number = from[i] < steps.low    ? steps.low
                         : from[i] > steps.high ? steps.high
                                                : from[i];
        const T level = number * steps.scale;
        to[i] = (rounds_up_ ? std::floor(level + T(0.5)) : std::rint(level)) * steps.distance;
      }
    });
  }

 private:
  struct Steps {
    T low = -std::numeric_limits<T>::infinity();
    T high = std::numeric_limits<T>::infinity();
    T scale = 0;
    T distance = 0;
  };

  ms::Status ReadInputs(const ms::Frame& frame, T range[2], int64_t* bits) const {
    constexpr const char* kNames[] = {"input_min", "input_max", "num_bits"};
    for (uint32_t i = 1; i < frame.num_inputs(); ++i) {
      const ms::View scalar = frame.input(i);
      if (scalar.rank() != 0) {
        return ms::InvalidArgument(kNames[i - 1], " must be a scalar, but has shape ",
                                   scalar.shape().ToString());
      }
      if (i < 3) range[i - 1] = *scalar.template data<T>();
      if (i == 3) *bits = *scalar.template data<int32_t>();
    }
    const int64_t end = is_signed_ ? 62 : 63;
    if (*bits <= 0 || *bits >= end) {
      return ms::InvalidArgument("num_bits is out of range: ", *bits, " is not in [1, ", end, ")");
    }
    if (is_given_ && !(range[0] <= range[1])) {
      return ms::InvalidArgument("Invalid range: input_min ", range[0], " > input_max ", range[1]);
    }
    return ms::Status();
  }

  // The largest scale by which the range fits into the levels. Zero stays zero.
  Steps StepsFor(const T range[2], int64_t bits) const {
    const int64_t half = int64_t{1} << (bits - 1);
    const auto least = static_cast<T>(is_signed_ ? (is_narrow_ ? 1 : 0) - half : 0);
    const auto most = static_cast<T>(is_signed_ ? half - 1 : 2 * half - 1);
    const T of_low = ScaleOf(least, range[0]);
    const T of_high = ScaleOf(most, range[1]);
    Steps steps;
    if (of_low < of_high) {
      steps.scale = of_low;
      steps.distance = range[0] / least;
      if (is_given_) steps.low = range[0];
      if (is_given_) steps.high = most * steps.distance;
    } else {
      steps.scale = of_high;
      steps.distance = range[1] / most;
      if (is_given_) steps.low = least * steps.distance;
      if (is_given_) steps.high = range[1];
    }
    return steps;
  }

  static T ScaleOf(T level, T end) {
    return level * end > 0 ? level / end : std::numeric_limits<T>::max();
  }

  bool is_signed_ = true;
  bool is_given_ = false;
  bool is_narrow_ = false;
  bool rounds_up_ = false;
  int64_t bits_ = 8;
  float args_[2] = {};
};

const ms::Registered version1 =
    ms::RegisterForTypes<QuantizeAndDequantize, float, double>("QuantizeAndDequantize", "T");
const ms::Registered version2 = ms::RegisterForTypes<QuantizeAndDequantize, float, double>(
    "QuantizeAndDequantizeV2", "T", ms::KernelOptions().HostArg("input_min").HostArg("input_max"));
const ms::Registered version3 = ms::RegisterForTypes<QuantizeAndDequantize, float, double>(
    "QuantizeAndDequantizeV3", "T",
    ms::KernelOptions().HostArg("input_min").HostArg("input_max").HostArg("num_bits"));

}  // namespace
}  // namespace millstream::kernels
