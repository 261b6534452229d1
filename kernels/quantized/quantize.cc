// QuantizeV2 and Dequantize. Bits are shared with other programs: each formula, its order of
// operations and the types that it is computed in are part of the contract.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <string>

#include "framework/plugin/plugin.hpp"
#include "kernels/common/parallel.h"
#include "kernels/quantized/levels.h"

namespace millstream::kernels {
namespace {

enum class Mode { kMinCombined, kMinFirst, kScaled };

Mode ModeOf(const std::string& name) {
  if (name == "SCALED") return Mode::kScaled;
  return name == "MIN_FIRST" ? Mode::kMinFirst : Mode::kMinCombined;
}

// Half of the levels of a signed type, as float32 has it.
float HalfOf(const LevelType& type) {
  if (!type.is_signed) return 0;
  const auto least = static_cast<float>(type.least());
  return (static_cast<float>(type.most()) - least + 1.0f) / 2.0f;
}

// How numbers become levels: round((clamp(x) - shift) * scale) - offset, within limits.
struct Steps {
  float low = -std::numeric_limits<float>::infinity();
  float high = std::numeric_limits<float>::infinity();
  float shift = 0;
  float scale = 0;
  float inner_offset = 0;  // subtracted before rounding
  float offset = 0;        // and after it
  // What a number that is above any int32 becomes: as processors convert it, the least one.
  int32_t above = std::numeric_limits<int32_t>::min();
};

int32_t LevelOf(float number, const Steps& steps, const LevelType& type) {
  if (type.bits == 32 && number >= 2147483648.0f) return steps.above;
  return ClampLevel(static_cast<double>(number), type);
}

template <typename Round>
void QuantizeRow(const float* from, int64_t n, const Steps& steps, const LevelType& type,
                 int32_t* to, Round round) {
  for (int64_t i = 0; i < n; ++i) {
    const float number = std::max(std::min(from[i], steps.high), steps.low) - steps.shift;
    to[i] = LevelOf(round(number * steps.scale - steps.inner_offset) - steps.offset, steps, type);
  }
}

class QuantizeV2 {
 public:
  ms::Status Init(const ms::KernelInfo& info) {
    std::string name;
    MS_TRY(info.Attr("mode", &name));
    mode_ = ModeOf(name);
    MS_TRY(info.Attr("round_mode", &name));
    to_even_ = name == "HALF_TO_EVEN";
    return FindLevelType(info.output_dtype(0), &type_);
  }

  ms::Status Compute(ms::Frame& frame) const {
    float range[2];
    MS_TRY(ReadScalars(frame, 1, {"min_range", "max_range"}, range));
    if (range[1] < range[0]) {
      return ms::InvalidArgument("max_range must be larger than min_range, but they are ", range[1],
                                 " and ", range[0]);
    }
    Widen(range);
    const Steps steps = StepsFor(range);
    const ms::View input = frame.input(0);
    ms::View output;
    MS_TRY(frame.Output(0, input.shape(), &output));
    MS_TRY(SetRange(frame, range[0], range[1]));
    constexpr int64_t kPicoseconds = 4000;
    return ParallelElements(frame, input.size(), kPicoseconds, [&](int64_t begin, int64_t end) {
      int32_t levels[kTile];
      for (int64_t at = begin; at < end; at += kTile) {
        const int64_t n = std::min(kTile, end - at);
        const float* const from = input.data<float>() + at;
        if (to_even_) {
          QuantizeRow(from, n, steps, *type_, levels, [](float x) { return std::rint(x); });
        } else {
          QuantizeRow(from, n, steps, *type_, levels, [](float x) { return std::round(x); });
        }
        type_->narrow(levels, n, output.raw(), at);
      }
    });
  }

 private:
  // The range includes zero, and is no smaller than a hundredth of its ends.
  static void Widen(float range[2]) {
    const float largest = std::max(1.0f, std::max(std::fabs(range[0]), std::fabs(range[1])));
    range[0] = std::min(0.0f, range[0]);
    range[1] = std::max(0.0f, std::max(range[1], range[0] + largest / 100.0f));
  }

  // In the mode SCALED, the range becomes what the levels of the type stand for.
  Steps StepsFor(float range[2]) const {
    const double least = type_->least();
    const double most = type_->most();
    Steps steps;
    if (mode_ == Mode::kMinFirst) {
      const double distance = static_cast<double>(range[1] - range[0]);
      steps.scale = static_cast<float>((most - least) / distance);
      steps.offset = std::round(range[0] * steps.scale) - static_cast<float>(least);
      steps.above = 2147483520;  // the last float32 that an int32 is
      return steps;
    }
    if (mode_ == Mode::kMinCombined) {
      const double distance = static_cast<double>(range[1] - range[0]);
      steps.scale = static_cast<float>((most - least) / distance);
      steps.shift = range[0];
      steps.inner_offset = HalfOf(*type_);
    } else {
      const float of_low = ScaleOf(static_cast<float>(least), range[0]);
      const float of_high = ScaleOf(static_cast<float>(most), range[1]);
      steps.scale = std::min(of_low, of_high);
      range[0] = static_cast<float>(least) / steps.scale;
      range[1] = static_cast<float>(most) / steps.scale;
    }
    steps.low = range[0];
    steps.high = range[1];
    return steps;
  }

  // How many levels a number is at least of, so that `level` stands for `end` or for more.
  static float ScaleOf(float level, float end) {
    return level * end > 0 ? level / end : std::numeric_limits<float>::max();
  }

  Mode mode_ = Mode::kMinCombined;
  bool to_even_ = false;
  const LevelType* type_ = nullptr;
};

class Dequantize {
 public:
  ms::Status Init(const ms::KernelInfo& info) {
    std::string name;
    MS_TRY(info.Attr("mode", &name));
    mode_ = ModeOf(name);
    return FindLevelType(info.input_dtype(0), &type_);
  }

  ms::Status Compute(ms::Frame& frame) const {
    float range[2];
    MS_TRY(ReadScalars(frame, 1, {"min_range", "max_range"}, range));
    const ms::View input = frame.input(0);
    ms::View output;
    MS_TRY(frame.Output(0, input.shape(), &output));
    const Line line = LineFor(range[0], range[1]);
    constexpr int64_t kPicoseconds = 600;
    return ParallelElements(frame, input.size(), kPicoseconds, [&](int64_t begin, int64_t end) {
      int32_t levels[kTile];
      for (int64_t at = begin; at < end; at += kTile) {
        const int64_t n = std::min(kTile, end - at);
        type_->widen(input.raw(), at, n, levels);
        float* const to = output.data<float>() + at;
        for (int64_t i = 0; i < n; ++i) {
          to[i] = (static_cast<float>(levels[i]) + line.before) * line.scale + line.after;
        }
      }
    });
  }

 private:
  // A number is (level + before) * scale + after.
  struct Line {
    float before;
    float scale;
    float after;
  };

  Line LineFor(float low, float high) const {
    const auto least = static_cast<float>(type_->least());
    const auto most = static_cast<float>(type_->most());
    if (mode_ == Mode::kScaled) {
      const float of_high = high / most;
      return {0, type_->is_signed ? std::max(low / least, of_high) : of_high, 0};
    }
    if (mode_ == Mode::kMinCombined) return {HalfOf(*type_), (high - low) / (most - least), low};
    const auto scale =
        static_cast<float>(static_cast<double>(high - low) / (type_->most() - type_->least()));
    const float rounded_low = low == high ? low : std::round(low / scale) * scale;
    return {0, scale, rounded_low - least * scale};
  }

  Mode mode_ = Mode::kMinCombined;
  const LevelType* type_ = nullptr;
};

const ms::Registered quantize =
    ms::Register<QuantizeV2>("QuantizeV2", ReadsFirst({"min_range", "max_range"}));
const ms::Registered dequantize =
    ms::Register<Dequantize>("Dequantize", ReadsFirst({"min_range", "max_range"}));

}  // namespace
}  // namespace millstream::kernels
