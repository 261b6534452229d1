// FakeQuantWithMinMaxArgs, FakeQuantWithMinMaxVars, FakeQuantWithMinMaxVarsPerChannel and their
// gradients (B. Jacob and others: Quantization and Training of Neural Networks for Efficient
// Integer-Arithmetic-Only Inference, 2018).
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#include "framework/plugin/plugin.hpp"
#include "kernels/common/parallel.h"
#include "kernels/quantized/levels.h"

namespace millstream::kernels {
namespace {

// A range that was moved so that zero is one of its levels.
struct NudgedRange {
  float low = 0;
  float high = 0;
  float step = 0;
  float per_step = 0;
  float level_of_zero = 0;
  bool is_zero = false;  // min and max are 0: so are all numbers
};

NudgedRange Nudge(float low, float high, float least, float most) {
  NudgedRange range;
  if (low == 0 && high == 0) {
    range.is_zero = true;
    return range;
  }
  range.step = (high - low) / (most - least);
  range.per_step = 1.0f / range.step;
  float zero = least - low / range.step;
  zero = zero > most ? most : zero > least ? std::round(zero) : least;
  range.low = (least - zero) * range.step;
  range.high = (most - zero) * range.step;
  range.level_of_zero = std::floor(-range.low * range.per_step + 0.5f);
  return range;
}

// What is the same for all six: the levels, and where the range comes from.
class FakeQuantizeBase {
 public:
  struct Row {
    uint32_t inputs;   // before min and max, if these are inputs
    bool has_args;     // they are attributes
    bool per_channel;  // they are vectors
  };
  explicit FakeQuantizeBase(const Row& row) : row_(row) {}

  ms::Status Init(const ms::KernelInfo& info) {
    int64_t bits = 0;
    bool is_narrow = false;
    MS_TRY(info.Attr("num_bits", &bits));
    MS_TRY(info.Attr("narrow_range", &is_narrow));
    least_ = is_narrow ? 1.0f : 0.0f;
    most_ = static_cast<float>((int64_t{1} << bits) - 1);
    if (!row_.has_args) return ms::Status();
    MS_TRY(info.Attr("min", &args_[0]));
    return info.Attr("max", &args_[1]);
  }

 protected:
  // One range a channel.
  ms::Status ReadRanges(const ms::Frame& frame, std::vector<NudgedRange>* ranges) const {
    float ends[2] = {args_[0], args_[1]};
    if (row_.per_channel) return ReadChannels(frame, ranges);
    if (!row_.has_args) MS_TRY(ReadScalars(frame, row_.inputs, {"min", "max"}, ends));
    ranges->push_back(Nudge(ends[0], ends[1], least_, most_));
    return ms::Status();
  }

  ms::Status CheckGradients(const ms::Frame& frame) const {
    const ms::Shape gradients = frame.input(0).shape();
    const ms::Shape inputs = frame.input(1).shape();
    if (gradients == inputs) return ms::Status();
    return ms::InvalidArgument("gradients and inputs must have one shape, but have ",
                               gradients.ToString(), " and ", inputs.ToString());
  }

  const Row& row_;

 private:
  ms::Status ReadChannels(const ms::Frame& frame, std::vector<NudgedRange>* ranges) const {
    const ms::View inputs = frame.input(row_.inputs - 1);
    if (inputs.rank() == 0) return ms::InvalidArgument("inputs must have a dimension of channels");
    const int64_t channels = inputs.dim(inputs.rank() - 1);
    for (uint32_t i = 0; i < 2; ++i) {
      const ms::View ends = frame.input(row_.inputs + i);
      if (ends.rank() == 1 && ends.dim(0) == channels) continue;
      return ms::InvalidArgument(i == 0 ? "min" : "max", " must be a vector of ", channels,
                                 ", one a channel of inputs, but has shape ",
                                 ends.shape().ToString());
    }
    const float* const low = frame.input(row_.inputs).data<float>();
    const float* const high = frame.input(row_.inputs + 1).data<float>();
    for (int64_t c = 0; c < channels; ++c) {
      ranges->push_back(Nudge(low[c], high[c], least_, most_));
    }
    return ms::Status();
  }

  float least_ = 0;
  float most_ = 0;
  float args_[2] = {};
};

class FakeQuantize : public FakeQuantizeBase {
 public:
  using FakeQuantizeBase::FakeQuantizeBase;

  ms::Status Compute(ms::Frame& frame) const {
    std::vector<NudgedRange> ranges;
    MS_TRY(ReadRanges(frame, &ranges));
    const ms::View inputs = frame.input(0);
    ms::View outputs;
    MS_TRY(frame.Output(0, inputs.shape(), &outputs));
    if (inputs.size() == 0) return ms::Status();
    const auto channels = static_cast<int64_t>(ranges.size());
    const float* const from = inputs.data<float>();
    float* const to = outputs.data<float>();
    constexpr int64_t kPicoseconds = 3000;
    return ParallelRows(frame, inputs.size() / channels, channels, kPicoseconds,
                        [&](int64_t begin, int64_t end) {
                          for (int64_t row = begin; row < end; ++row) {
                            for (int64_t c = 0; c < channels; ++c) {
                              const int64_t i = row * channels + c;
                              to[i] = Round(from[i], ranges[c]);
                            }
                          }
                        });
  }

 private:
  // Zero is a level, and exact.
  static float Round(float number, const NudgedRange& range) {
    if (range.is_zero) return 0;
    const float clamped = number < range.low    ? range.low
                          : number > range.high ? range.high
                                                : number;
    const float level = (clamped - range.low) * range.per_step - range.level_of_zero;
    return std::floor(level + 0.5f) * range.step;
  }
};

// Inside of the range the gradient is that of the result. What is below belongs to min, what is
// above to max.
class FakeQuantizeGradient : public FakeQuantizeBase {
 public:
  using FakeQuantizeBase::FakeQuantizeBase;

  ms::Status Compute(ms::Frame& frame) const {
    MS_TRY(CheckGradients(frame));
    std::vector<NudgedRange> ranges;
    MS_TRY(ReadRanges(frame, &ranges));
    const ms::View inputs = frame.input(1);
    ms::View outputs[3];
    MS_TRY(frame.Output(0, inputs.shape(), outputs));
    for (uint32_t i = 1; i < frame.num_outputs(); ++i) {
      MS_TRY(frame.Output(i, frame.input(row_.inputs).shape(), outputs + i));
    }
    const auto channels = static_cast<int64_t>(ranges.size());
    const int64_t rows = channels == 0 ? 0 : inputs.size() / channels;
    // Blocks of rows do not depend on the number of threads, so neither do sums of their sums.
    const int64_t rows_a_block = kElementsPerUnit / (channels + 1) + 1;
    const int64_t blocks = (rows + rows_a_block - 1) / rows_a_block;
    std::vector<double> sums(static_cast<size_t>(2 * channels * blocks));
    const Pass pass = {frame.input(0).data<float>(), inputs.data<float>(), ranges.data(), channels,
                       outputs[0].data<float>()};
    constexpr int64_t kNanoseconds = 2;
    MS_TRY(StoppableFor(frame, static_cast<uint64_t>(blocks),
                        static_cast<uint64_t>(kNanoseconds * kElementsPerUnit),
                        [&](uint64_t begin, uint64_t end) {
                          for (auto block = static_cast<int64_t>(begin);
                               block < static_cast<int64_t>(end); ++block) {
                            const int64_t last = std::min(rows, (block + 1) * rows_a_block);
                            for (int64_t row = block * rows_a_block; row < last; ++row) {
                              PassRow(pass, row, sums.data() + 2 * channels * block);
                            }
                          }
                        }));
    for (uint32_t i = 1; i < frame.num_outputs(); ++i) {
      for (int64_t c = 0; c < channels; ++c) {
        double sum = 0;
        for (int64_t block = 0; block < blocks; ++block) {
          sum += sums[static_cast<size_t>(2 * (channels * block + c) + i - 1)];
        }
        outputs[i].data<float>()[c] = static_cast<float>(sum);
      }
    }
    return ms::Status();
  }

 private:
  struct Pass {
    const float* gradients;
    const float* inputs;
    const NudgedRange* ranges;
    int64_t channels;
    float* backprops;
  };

  // `sums` are those below and above the range of each channel.
  static void PassRow(const Pass& pass, int64_t row, double* sums) {
    for (int64_t c = 0; c < pass.channels; ++c) {
      const int64_t i = row * pass.channels + c;
      const NudgedRange& range = pass.ranges[c];
      const float number = pass.inputs[i];
      const bool is_inside = range.is_zero || (number >= range.low && number <= range.high);
      pass.backprops[i] = is_inside ? pass.gradients[i] : 0;
      if (is_inside) continue;
      if (number < range.low) sums[2 * c] += static_cast<double>(pass.gradients[i]);
      if (number > range.high) sums[2 * c + 1] += static_cast<double>(pass.gradients[i]);
    }
  }
};

constexpr FakeQuantizeBase::Row kArgs = {1, true, false};
constexpr FakeQuantizeBase::Row kVars = {1, false, false};
constexpr FakeQuantizeBase::Row kChannels = {1, false, true};
constexpr FakeQuantizeBase::Row kArgsGradient = {2, true, false};
constexpr FakeQuantizeBase::Row kVarsGradient = {2, false, false};
constexpr FakeQuantizeBase::Row kChannelsGradient = {2, false, true};

const ms::Registered args = ms::RegisterRow<FakeQuantize>("FakeQuantWithMinMaxArgs", kArgs);
const ms::Registered vars =
    ms::RegisterRow<FakeQuantize>("FakeQuantWithMinMaxVars", kVars, ReadsFirst({"min", "max"}));
const ms::Registered channels = ms::RegisterRow<FakeQuantize>(
    "FakeQuantWithMinMaxVarsPerChannel", kChannels, ReadsFirst({"min", "max"}));
const ms::Registered args_gradient =
    ms::RegisterRow<FakeQuantizeGradient>("FakeQuantWithMinMaxArgsGradient", kArgsGradient);
const ms::Registered vars_gradient = ms::RegisterRow<FakeQuantizeGradient>(
    "FakeQuantWithMinMaxVarsGradient", kVarsGradient, ReadsFirst({"min", "max"}));
const ms::Registered channels_gradient = ms::RegisterRow<FakeQuantizeGradient>(
    "FakeQuantWithMinMaxVarsPerChannelGradient", kChannelsGradient, ReadsFirst({"min", "max"}));

}  // namespace
}  // namespace millstream::kernels
