// QuantizedBatchNormWithGlobalNormalization and QuantizedInstanceNorm.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

#include "framework/plugin/plugin.hpp"
#include "kernels/quantized/levels.h"

namespace millstream::kernels {
namespace {

// Inputs: images, means, variances, offsets and scales, each followed by the ends of its range.
class GlobalBatchNorm {
 public:
  ms::Status Init(const ms::KernelInfo& info) {
    MS_TRY(info.Attr("variance_epsilon", &epsilon_));
    MS_TRY(info.Attr("scale_after_normalization", &has_scale_));
    MS_TRY(FindLevelType(info.input_dtype(0), &from_));
    return FindLevelType(info.output_dtype(0), &to_);
  }

  ms::Status Compute(ms::Frame& frame) const {
    const ms::View images = frame.input(0);
    if (images.rank() != 4) {
      return ms::InvalidArgument("t must have 4 dimensions, but is ", images.shape().ToString());
    }
    const int64_t channels = images.dim(3);
    float ends[2];
    MS_TRY(ReadScalars(frame, 1, {"t_min", "t_max"}, ends));
    const Levels from(*from_, ends[0], ends[1]);
    std::vector<float> numbers[4];
    for (uint32_t k = 0; k < 4; ++k) MS_TRY(ReadVector(frame, k, channels, &numbers[k]));
    // The range is wide enough for any result that is not extreme.
    constexpr float kExtent = 1 << 20;
    const Levels to(*to_, -kExtent, kExtent);
    ms::View output;
    MS_TRY(frame.Output(0, images.shape(), &output));
    MS_TRY(SetRange(frame, -kExtent, kExtent));
    for (int64_t i = 0; i < channels; ++i) {
      const auto c = static_cast<size_t>(i);
      const float scale = 1.0f / std::sqrt(numbers[1][c] + epsilon_);
      numbers[1][c] = has_scale_ ? scale * numbers[3][c] : scale;
    }
    constexpr int64_t kPicoseconds = 8000;
    return MapLevels(frame, *from_, images, *to_, output, kPicoseconds,
                     [&](int32_t level, int64_t i) {
                       const auto c = static_cast<size_t>(i % channels);
                       const float centered = from.Number(level) - numbers[0][c];
                       return to.Level(centered * numbers[1][c] + numbers[2][c]);
                     });
  }

 private:
  // The numbers of vector `k`, the means being the first.
  ms::Status ReadVector(const ms::Frame& frame, uint32_t k, int64_t channels,
                        std::vector<float>* numbers) const {
    constexpr const char* kNames[4][3] = {{"m", "m_min", "m_max"},
                                          {"v", "v_min", "v_max"},
                                          {"beta", "beta_min", "beta_max"},
                                          {"gamma", "gamma_min", "gamma_max"}};
    const uint32_t input = 3 * (k + 1);
    float ends[2];
    MS_TRY(ReadScalars(frame, input + 1, {kNames[k][1], kNames[k][2]}, ends));
    const ms::View vector = frame.input(input);
    if (vector.rank() != 1 || vector.dim(0) != channels) {
      return ms::InvalidArgument(kNames[k][0], " must be a vector of ", channels,
                                 ", one a channel of t, but has shape ", vector.shape().ToString());
    }
    const Levels range(*from_, ends[0], ends[1]);
    for (int64_t c = 0; c < channels; ++c) {
      int32_t level = 0;
      from_->widen(vector.raw(), c, 1, &level);
      numbers->push_back(range.Number(level));
    }
    return ms::Status();
  }

  float epsilon_ = 0;
  bool has_scale_ = false;
  const LevelType* from_ = nullptr;
  const LevelType* to_ = nullptr;
};

// Each channel of each image gets mean 0 and variance 1.
class InstanceNorm {
 public:
  ms::Status Init(const ms::KernelInfo& info) {
    MS_TRY(info.Attr("output_range_given", &is_given_));
    MS_TRY(info.Attr("given_y_min", &given_[0]));
    MS_TRY(info.Attr("given_y_max", &given_[1]));
    MS_TRY(info.Attr("variance_epsilon", &epsilon_));
    MS_TRY(info.Attr("min_separation", &separation_));
    return FindLevelType(info.input_dtype(0), &type_);
  }

  ms::Status Compute(ms::Frame& frame) const {
    const ms::View x = frame.input(0);
    if (x.rank() != 4) {
      return ms::InvalidArgument("x must have 4 dimensions, but is ", x.shape().ToString());
    }
    float ends[2];
    MS_TRY(ReadScalars(frame, 1, {"x_min", "x_max"}, ends));
    const Levels from(*type_, ends[0], ends[1]);
    ms::View output;
    MS_TRY(frame.Output(0, x.shape(), &output));
    ms::View outputs[2];
    for (uint32_t i = 0; i < 2; ++i) MS_TRY(frame.Output(1 + i, ms::Shape(), outputs + i));
    float range[2] = {given_[0], given_[1]};
    std::vector<float> numbers(static_cast<size_t>(x.size()));
    Normalize(x, from, numbers.data());
    if (!is_given_) FindRange(numbers, range);
    for (uint32_t i = 0; i < 2; ++i) *outputs[i].data<float>() = range[i];
    const Levels to(*type_, range[0], range[1]);
    int32_t levels[kTile];
    for (int64_t at = 0; at < x.size(); at += kTile) {
      MS_TRY(frame.CheckCancelled());
      const int64_t n = std::min(kTile, x.size() - at);
      for (int64_t i = 0; i < n; ++i) levels[i] = to.Level(numbers[static_cast<size_t>(at + i)]);
      type_->narrow(levels, n, output.raw(), at);
    }
    return ms::Status();
  }

 private:
  void Normalize(const ms::View& x, const Levels& from, float* numbers) const {
    const int64_t channels = x.dim(3);
    const int64_t pixels = x.dim(1) * x.dim(2);
    for (int64_t i = 0; i < x.size(); ++i) {
      int32_t level = 0;
      type_->widen(x.raw(), i, 1, &level);
      numbers[i] = from.Number(level);
    }
    for (int64_t channel = 0; channel < x.dim(0) * channels && pixels > 0; ++channel) {
      float* const first = numbers + channel / channels * pixels * channels + channel % channels;
      double sum = 0;
      double squares = 0;
      for (int64_t i = 0; i < pixels; ++i) sum += static_cast<double>(first[i * channels]);
      const double mean = sum / static_cast<double>(pixels);
      for (int64_t i = 0; i < pixels; ++i) {
        const double distance = static_cast<double>(first[i * channels]) - mean;
        squares += distance * distance;
      }
      const double variance = squares / static_cast<double>(pixels);
      const double scale = 1 / std::sqrt(variance + static_cast<double>(epsilon_));
      for (int64_t i = 0; i < pixels; ++i) {
        float& number = first[i * channels];
        number = static_cast<float>((static_cast<double>(number) - mean) * scale);
      }
    }
  }

  void FindRange(const std::vector<float>& numbers, float range[2]) const {
    range[0] = range[1] = 0;
    if (!numbers.empty()) {
      range[0] = *std::min_element(numbers.begin(), numbers.end());
      range[1] = *std::max_element(numbers.begin(), numbers.end());
    }
    if (range[1] - range[0] < separation_) range[1] = range[0] + separation_;
  }

  bool is_given_ = false;
  float given_[2] = {};
  float epsilon_ = 0;
  float separation_ = 0;
  const LevelType* type_ = nullptr;
};

const ms::Registered global_batch_norm = ms::Register<GlobalBatchNorm>(
    "QuantizedBatchNormWithGlobalNormalization",
    ReadsFirst({"t_min", "t_max", "m", "m_min", "m_max", "v", "v_min", "v_max", "beta", "beta_min",
                "beta_max", "gamma", "gamma_min", "gamma_max"}));
const ms::Registered instance_norm =
    ms::Register<InstanceNorm>("QuantizedInstanceNorm", ReadsFirst({"x_min", "x_max"}));

}  // namespace
}  // namespace millstream::kernels
