// ParameterizedTruncatedNormal: normal numbers between two limits, by rejection. The stream is
// shared with other programs: each formula, its order of operations included, and the order in
// which words are used up, is part of the contract.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <utility>
#include <vector>

#include "framework/plugin/plugin.hpp"
#include "kernels/array/indices.h"
#include "kernels/common/narrow_float.h"
#include "kernels/random/distributions.h"
#include "kernels/random/philox.h"

namespace millstream::kernels {
namespace {

// After so many rejections in a row a number is taken as it is.
constexpr int kMostRejections = 1000;

struct Parameters {
  double mean;
  double deviation;
  double low;
  double high;
};

// Numbers of one batch, float or double.
template <typename Number>
class Batch {
 public:
  // Draws `count` numbers. Moves `position` behind the words that were used up.
  void Draw(const Parameters& given, int64_t count, PhiloxPosition* position, Number* output) {
    position_ = position;
    output_ = output;
    left_ = count;
    mean_ = static_cast<Number>(given.mean);
    deviation_ = static_cast<Number>(given.deviation);
    auto low = static_cast<Number>(given.low);
    auto high = static_cast<Number>(given.high);
    // Without this, each number would be rejected as often as possible.
    if (!std::isfinite(mean_)) {
      std::fill_n(output, count, std::numeric_limits<Number>::quiet_NaN());
      return;
    }
    // The limit that is nearer to the mean comes first.
    if ((std::isinf(low) && low < 0) || high < mean_) {
      std::swap(low, high);
      deviation_ = -deviation_;
    }
    low_ = (low - mean_) / deviation_;
    high_ = (high - mean_) / deviation_;
    constexpr auto kWide = Number(1.3);
    if ((low_ < -kWide && high_ >= 0) || (high_ > kWide && low_ <= 0)) return FromNormal();
    const Number root = std::sqrt(low_ * low_ + 4);
    const Number cutoff = 2 * std::exp(Number(0.5) + (low_ * (low_ - root)) / 4) / (low_ + root);
    return high_ - low_ < cutoff ? FromUniform() : FromExponential();
  }

 private:
  static constexpr int kUniforms = 4 / kWordsPerUniform<Number>;  // of a block

  PhiloxBlock NextBlock() {
    const PhiloxBlock block = PhiloxAt(*position_);
    *position_ = position_->Advanced(1);
    return block;
  }

  // Takes a number or not. Returns whether there are to be more.
  bool Judge(Number number, bool accept) {
    if (!accept && rejections_ + 1 < kMostRejections) {
      ++rejections_;
      return true;
    }
    rejections_ = 0;
    *output_++ = number * deviation_ + mean_;
    return --left_ > 0;
  }

  // Normal numbers, most of which are between the limits.
  void FromNormal() {
    for (;;) {
      const PhiloxBlock block = NextBlock();
      for (int word = 0; word < 4; word += 2 * kWordsPerUniform<Number>) {
        Number normal[2];
        NormalPairFrom<Number>(block.data() + word, normal);
        for (const Number number : normal) {
          if (!Judge(number, number >= low_ && number <= high_)) return;
        }
      }
    }
  }

  // Uniform numbers between the limits, for a short interval.
  void FromUniform() {
    const Number largest = low_ < 0 ? 0 : low_ * low_;
    for (;;) {
      const PhiloxBlock block = NextBlock();
      const PhiloxBlock chances = NextBlock();
      for (int i = 0; i < kUniforms; ++i) {
        const int word = i * kWordsPerUniform<Number>;
        const Number z = UniformFrom<Number>(block.data() + word) * (high_ - low_) + low_;
        const Number chance = UniformFrom<Number>(chances.data() + word);
        if (!Judge(z, chance <= std::exp((largest - z * z) / 2))) return;
      }
    }
  }

  // Exponential numbers from the first limit on, for a tail (C. Robert: Simulation of truncated
  // normal variables, 1995).
  void FromExponential() {
    const Number alpha = (low_ + std::sqrt(low_ * low_ + 4)) / 2;
    for (;;) {
      const PhiloxBlock block = NextBlock();
      for (int i = 0; i + 1 < kUniforms; i += 2) {
        const uint32_t* const words = block.data() + i * kWordsPerUniform<Number>;
        const Number z = -std::log(UniformFrom<Number>(words)) / alpha + low_;
        const Number x = low_ < alpha ? alpha - z : low_ - alpha;
        const Number chance = UniformFrom<Number>(words + kWordsPerUniform<Number>);
        if (!Judge(z, chance <= std::exp(-x * x / 2) && z < high_)) return;
      }
    }
  }

  PhiloxPosition* position_ = nullptr;
  Number* output_ = nullptr;
  int64_t left_ = 0;
  int rejections_ = 0;
  Number mean_ = 0;
  Number deviation_ = 1;
  Number low_ = 0;  // of the standard distribution
  Number high_ = 0;
};

double ReadNumber(const ms::View& view, int64_t i) {
  switch (view.dtype()) {
    case MS_FLOAT16: return static_cast<double>(static_cast<float>(view.data<Float16>()[i]));
    case MS_FLOAT32: return static_cast<double>(view.data<float>()[i]);
    default: return view.data<double>()[i];
  }
}

// Inputs: the shape, whose first dimension are batches, and the parameters, of one or all of them.
class ParameterizedTruncatedNormal {
 public:
  ms::Status Compute(ms::Frame& frame) const {
    ms::Shape shape;
    MS_TRY(ReadIndexVector(frame.input(0), "shape", &shape));
    if (shape.rank() == 0) return ms::InvalidArgument("shape must not be empty");
    int64_t elements = 1;
    for (const int64_t size : shape) {
      if (size < 0 || __builtin_mul_overflow(elements, size, &elements)) {
        return ms::InvalidArgument("shape ", shape.ToString(),
                                   " has a negative size or too many elements");
      }
    }
    for (uint32_t i = 1; i < 5; ++i) {
      const ms::View view = frame.input(i);
      if (view.rank() == 0 || (view.rank() == 1 && (view.dim(0) == 1 || view.dim(0) == shape[0]))) {
        continue;
      }
      return ms::InvalidArgument(kNames[i - 1], " must be one number or ", shape[0],
                                 ", one a batch, but has shape ", view.shape().ToString());
    }
    ms::View output;
    MS_TRY(frame.Output(0, shape, &output));
    return elements == 0 ? ms::Status() : Draw(frame, shape[0], elements / shape[0], output);
  }

 private:
  static constexpr const char* kNames[] = {"means", "stdevs", "minvals", "maxvals"};

  // Batches use up the stream one after the other.
  static ms::Status Draw(ms::Frame& frame, int64_t batches, int64_t samples,
                         const ms::View& output) {
    PhiloxPosition position;
    const auto blocks = static_cast<uint64_t>(batches) * 2 * kMostRejections *
                        (static_cast<uint64_t>(samples) + 3) / 4;
    MS_TRY(frame.ReserveRandom(blocks, &position.key, position.counter.data()));
    constexpr int64_t kNumbersAQuestion = 1 << 14;
    int64_t unasked = 0;
    for (int64_t b = 0; b < batches; ++b) {
      Parameters parameters = {};
      MS_TRY(ReadParameters(frame, b, &parameters));
      DrawBatch(parameters, samples, b * samples, &position, output);
      unasked += samples;
      if (unasked < kNumbersAQuestion) continue;
      unasked = 0;
      MS_TRY(frame.CheckCancelled());
    }
    return ms::Status();
  }

  // The numbers from element `begin` on.
  static void DrawBatch(const Parameters& parameters, int64_t count, int64_t begin,
                        PhiloxPosition* position, const ms::View& output) {
    if (output.dtype() == MS_FLOAT64) {
      Batch<double>().Draw(parameters, count, position, output.data<double>() + begin);
    } else if (output.dtype() == MS_FLOAT32) {
      Batch<float>().Draw(parameters, count, position, output.data<float>() + begin);
    } else {
      std::vector<float> numbers(static_cast<size_t>(count));
      Batch<float>().Draw(parameters, count, position, numbers.data());
      NarrowElements(numbers.data(), count, output.data<Float16>() + begin);
    }
  }

  static ms::Status ReadParameters(const ms::Frame& frame, int64_t batch, Parameters* parameters) {
    double numbers[4];
    for (uint32_t i = 0; i < 4; ++i) {
      const ms::View view = frame.input(1 + i);
      numbers[i] = ReadNumber(view, view.size() == 1 ? 0 : batch);
    }
    *parameters = {numbers[0], numbers[1], numbers[2], numbers[3]};
    const bool is_bounded = std::isfinite(parameters->low) || std::isfinite(parameters->high);
    if (parameters->deviation > 0 && parameters->low < parameters->high && is_bounded) {
      return ms::Status();
    }
    return ms::InvalidArgument("Invalid parameters of batch ", batch, ": stdevs ", numbers[1],
                               " must be positive, and minvals ", numbers[2], " below maxvals ",
                               numbers[3], ", not both infinite");
  }
};

const ms::Registered truncated = ms::Register<ParameterizedTruncatedNormal>(
    "ParameterizedTruncatedNormal", ms::KernelOptions()
                                        .Types("dtype", {MS_FLOAT16, MS_FLOAT32, MS_FLOAT64})
                                        .Types("T", IndexTypes())
                                        .HostArg("shape")
                                        .HostArg("means")
                                        .HostArg("stdevs")
                                        .HostArg("minvals")
                                        .HostArg("maxvals"));

}  // namespace
}  // namespace millstream::kernels
