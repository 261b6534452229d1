// RequantizationRange, Requantize, QuantizeDownAndShrinkRange, and the two that have a range for
// each channel: levels of one type become those of another, or of another range.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <limits>
#include <vector>

#include "framework/plugin/plugin.hpp"
#include "kernels/quantized/levels.h"

namespace millstream::kernels {
namespace {

// What a level costs to convert (see ParallelElements).
constexpr int64_t kConvertPicoseconds = 8000;

// The least and the largest level of input 0. REQUIRES: there is a level.
void FindEnds(const ms::View& input, const LevelType& type, int32_t ends[2]) {
  ends[0] = std::numeric_limits<int32_t>::max();
  ends[1] = std::numeric_limits<int32_t>::min();
  int32_t levels[kTile];
  for (int64_t at = 0; at < input.size(); at += kTile) {
    const int64_t n = std::min(kTile, input.size() - at);
    type.widen(input.raw(), at, n, levels);
    for (int64_t i = 0; i < n; ++i) {
      ends[0] = std::min(ends[0], levels[i]);
      ends[1] = std::max(ends[1], levels[i]);
    }
  }
}

class Requantize {
 public:
  struct Row {
    bool finds_range;  // the range of what is there, and not one that is asked for
    bool has_levels;   // output 0 are levels, and not the range's begin
  };
  explicit Requantize(const Row& row) : row_(row) {}

  ms::Status Init(const ms::KernelInfo& info) {
    MS_TRY(FindLevelType(info.input_dtype(0), &from_));
    return row_.has_levels ? FindLevelType(info.output_dtype(0), &to_) : ms::Status();
  }

  ms::Status Compute(ms::Frame& frame) const {
    const ms::View input = frame.input(0);
    float given[2];
    MS_TRY(ReadScalars(frame, 1, {"input_min", "input_max"}, given));
    const Levels from(*from_, given[0], given[1]);
    float range[2];
    MS_TRY(FindRange(frame, input, from, range));
    if (!row_.has_levels) return SetRange(frame, range[0], range[1], 0);
    ms::View output;
    MS_TRY(frame.Output(0, input.shape(), &output));
    MS_TRY(SetRange(frame, range[0], range[1]));
    const Levels to(*to_, range[0], range[1]);
    return MapLevels(frame, *from_, input, *to_, output, kConvertPicoseconds,
                     [&](int32_t level, int64_t) { return to.Level(from.Number(level)); });
  }

 private:
  ms::Status FindRange(const ms::Frame& frame, const ms::View& input, const Levels& from,
                       float range[2]) const {
    if (!row_.finds_range) {
      MS_TRY(ReadScalars(frame, 3, {"requested_output_min", "requested_output_max"}, range));
      if (range[0] <= 0 && range[0] <= range[1]) return ms::Status();
      return ms::InvalidArgument("requested_output_min must be <= 0 and <= requested_output_max, ",
                                 "but they are ", range[0], " and ", range[1]);
    }
    range[0] = range[1] = 0;
    if (input.size() == 0) return ms::Status();
    int32_t ends[2];
    FindEnds(input, *from_, ends);
    // Zero stays in the range, because products need its level.
    range[0] = std::min(0.0f, from.Number(ends[0]));
    range[1] = from.Number(ends[1]);
    return ms::Status();
  }

  const Row& row_;
  const LevelType* from_ = nullptr;
  const LevelType* to_ = nullptr;
};

// Inputs 1 and 2 are vectors with an element for each channel, the last dimension of input 0.
ms::Status CheckChannels(const ms::Frame& frame, int64_t* channels) {
  const ms::View input = frame.input(0);
  if (input.rank() == 0) return ms::InvalidArgument("input must have a dimension of channels");
  *channels = input.dim(input.rank() - 1);
  for (uint32_t i = 1; i < 3; ++i) {
    const ms::View ends = frame.input(i);
    if (ends.rank() == 1 && ends.dim(0) == *channels) continue;
    return ms::InvalidArgument(i == 1 ? "input_min" : "input_max", " must be a vector of ",
                               *channels, ", one a channel of input, but has shape ",
                               ends.shape().ToString());
  }
  return ms::Status();
}

// The larger end of a channel's range.
float ExtentOf(const ms::Frame& frame, int64_t channel) {
  return std::max(std::fabs(frame.input(1).data<float>()[channel]),
                  std::fabs(frame.input(2).data<float>()[channel]));
}

// How many levels a 32-bit extent has.
constexpr float kHalfOfLevels = 2147483648.0f;

// The range that all channels have together, symmetric unless no level is negative.
class RangeOfChannels {
 public:
  ms::Status Init(const ms::KernelInfo& info) {
    MS_TRY(info.Attr("clip_value_max", &most_));
    return FindLevelType(info.input_dtype(0), &type_);
  }

  ms::Status Compute(ms::Frame& frame) const {
    int64_t channels = 0;
    MS_TRY(CheckChannels(frame, &channels));
    const ms::View input = frame.input(0);
    std::vector<int64_t> largest(static_cast<size_t>(channels));
    bool has_negative = false;
    int32_t levels[kTile];
    for (int64_t at = 0; at < input.size(); at += kTile) {
      const int64_t n = std::min(kTile, input.size() - at);
      type_->widen(input.raw(), at, n, levels);
      for (int64_t i = 0; i < n; ++i) {
        int64_t& most = largest[static_cast<size_t>((at + i) % channels)];
        most = std::max(most, std::abs(int64_t{levels[i]}));
        has_negative |= levels[i] < 0;
      }
    }
    float extent = 0;
    for (int64_t c = 0; c < channels; ++c) {
      const auto level = static_cast<float>(largest[static_cast<size_t>(c)]);
      extent = std::max(extent, ExtentOf(frame, c) * level / kHalfOfLevels);
    }
    extent = std::min(extent, most_);
    return SetRange(frame, has_negative ? -extent : 0, extent, 0);
  }

 private:
  float most_ = 0;
  const LevelType* type_ = nullptr;
};

// Each channel is multiplied by its own scale. The result's range is that which is asked for.
class RequantizeChannels {
 public:
  ms::Status Init(const ms::KernelInfo& info) {
    MS_TRY(FindLevelType(info.input_dtype(0), &from_));
    return FindLevelType(info.output_dtype(0), &to_);
  }

  ms::Status Compute(ms::Frame& frame) const {
    int64_t channels = 0;
    MS_TRY(CheckChannels(frame, &channels));
    float range[2];
    MS_TRY(ReadScalars(frame, 3, {"requested_output_min", "requested_output_max"}, range));
    const ms::View input = frame.input(0);
    ms::View output;
    MS_TRY(frame.Output(0, input.shape(), &output));
    MS_TRY(SetRange(frame, range[0], range[1]));
    const float requested = std::max(std::fabs(range[0]), std::fabs(range[1]));
    const auto most = static_cast<float>(to_->most());
    std::vector<float> scales(static_cast<size_t>(channels));
    for (int64_t c = 0; c < channels; ++c) {
      scales[static_cast<size_t>(c)] = most * (ExtentOf(frame, c) / requested / kHalfOfLevels);
    }
    return MapLevels(frame, *from_, input, *to_, output, kConvertPicoseconds,
                     [&](int32_t level, int64_t i) {
                       const float scale = scales[static_cast<size_t>(i % channels)];
                       const float scaled = std::rint(static_cast<float>(level) * scale);
                       return ClampLevel(static_cast<double>(scaled), *to_);
                     });
  }

 private:
  const LevelType* from_ = nullptr;
  const LevelType* to_ = nullptr;
};

constexpr Requantize::Row kRange = {true, false};
constexpr Requantize::Row kRequested = {false, true};
constexpr Requantize::Row kShrunk = {true, true};

const ms::Registered range = ms::RegisterRow<Requantize>(
    "RequantizationRange", kRange, ReadsFirst({"input", "input_min", "input_max"}));
const ms::Registered requested = ms::RegisterRow<Requantize>(
    "Requantize", kRequested,
    ReadsFirst({"input_min", "input_max", "requested_output_min", "requested_output_max"}));
const ms::Registered shrunk = ms::RegisterRow<Requantize>(
    "QuantizeDownAndShrinkRange", kShrunk, ReadsFirst({"input", "input_min", "input_max"}));
const ms::Registered range_of_channels = ms::Register<RangeOfChannels>(
    "RequantizationRangePerChannel", ReadsFirst({"input", "input_min", "input_max"}));
const ms::Registered channels = ms::Register<RequantizeChannels>(
    "RequantizePerChannel",
    ReadsFirst({"input_min", "input_max", "requested_output_min", "requested_output_max"}));

}  // namespace
}  // namespace millstream::kernels
