// The candidate samplers: classes drawn from a distribution, and how often they are expected.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <memory>
#include <mutex>
#include <unordered_set>

#include "framework/plugin/plugin.hpp"
#include "kernels/random/class_distribution.h"
#include "kernels/random/philox_words.h"

namespace millstream::kernels {
namespace {

// Every execution uses up this much of the node's stream for each class. A unique sample that needs
// more draws goes on behind it, in what the next execution gets as well.
constexpr uint64_t kReservedBlocksPerClass = 512;

ms::Status CheckTrueClasses(const ms::View& classes, int64_t num_true) {
  if (classes.rank() == 2 && classes.dim(1) == num_true) return ms::Status();
  return ms::InvalidArgument("true_classes must be a matrix of num_true = ", num_true,
                             " columns, but has shape ", classes.shape().ToString());
}

// The three outputs, of which some may be unused.
struct SamplerOutputs {
  ms::Status Init(ms::Frame& frame, int64_t num_sampled) {
    MS_TRY(frame.Output(0, {num_sampled}, &sampled));
    MS_TRY(frame.Output(1, frame.input(0).shape(), &true_count));
    return frame.Output(2, {num_sampled}, &sampled_count);
  }
  ms::View sampled;
  ms::View true_count;
  ms::View sampled_count;
};

// How often a class of probability p is expected in a sample of `size` that took `draws` draws.
float ExpectedCount(float p, int64_t size, int64_t draws) {
  if (draws == size) return p * static_cast<float>(size);
  return -std::expm1(static_cast<float>(draws) * std::log1p(-p));
}

using MakeDistribution = ms::Status (*)(const ms::KernelInfo& info, int64_t range,
                                        std::unique_ptr<ClassDistribution>* out);

// Input: true_classes.
class CandidateSampler {
 public:
  struct Row {
    MakeDistribution make;
  };

  explicit CandidateSampler(const Row& row) : row_(row) {}

  ms::Status Init(const ms::KernelInfo& info) {
    MS_TRY(info.Attr("num_true", &num_true_));
    MS_TRY(info.Attr("num_sampled", &num_sampled_));
    MS_TRY(info.Attr("unique", &unique_));
    MS_TRY(info.Attr("range_max", &range_));
    MS_TRY(row_.make(info, range_, &distribution_));
    if (!unique_ || num_sampled_ <= distribution_->CountPossible()) return ms::Status();
    return ms::InvalidArgument("Sampler's range is too small: num_sampled = ", num_sampled_,
                               " different classes of ", distribution_->CountPossible());
  }

  ms::Status Compute(ms::Frame& frame) const {
    const ms::View classes = frame.input(0);
    MS_TRY(CheckTrueClasses(classes, num_true_));
    SamplerOutputs outputs;
    MS_TRY(outputs.Init(frame, num_sampled_));
    if (distribution_->learns()) MS_TRY(CheckRange(classes));
    PhiloxPosition position;
    MS_TRY(frame.ReserveRandom(static_cast<uint64_t>(num_sampled_) * kReservedBlocksPerClass,
                               &position.key, position.counter.data()));
    PhiloxWords words(position);
    // A distribution that learns is one for steps at the same time.
    std::unique_lock<std::mutex> lock(mutex_, std::defer_lock);
    if (distribution_->learns()) lock.lock();
    int64_t draws = num_sampled_;
    MS_TRY(unique_ ? DrawUnique(frame, outputs.sampled, &words, &draws)
                   : Draw(frame, outputs.sampled, &words));
    WriteCounts(classes, draws, outputs.true_count);
    WriteCounts(outputs.sampled, draws, outputs.sampled_count);
    if (!distribution_->learns()) return ms::Status();
    const int64_t* learned = classes.data<int64_t>();
    for (int64_t i = 0; i < classes.size(); ++i) distribution_->Learn(learned[i]);
    return ms::Status();
  }

 private:
  // Between so many draws it is asked whether the step goes on.
  static constexpr int64_t kDrawsBetweenChecks = 1 << 16;

  ms::Status CheckRange(const ms::View& classes) const {
    for (int64_t i = 0; i < classes.size(); ++i) {
      const int64_t value = classes.data<int64_t>()[i];
      if (value < 0 || value >= range_) {
        return ms::InvalidArgument("true_classes: element ", i, " = ", value, " is not in [0, ",
                                   range_, ")");
      }
    }
    return ms::Status();
  }

  ms::Status Draw(ms::Frame& frame, const ms::View& sampled, PhiloxWords* words) const {
    int64_t* to = sampled.data<int64_t>();
    for (int64_t i = 0; i < num_sampled_; ++i) {
      if (i % kDrawsBetweenChecks == kDrawsBetweenChecks - 1) MS_TRY(frame.CheckCancelled());
      to[i] = distribution_->Sample(words);
    }
    return ms::Status();
  }

  ms::Status DrawUnique(ms::Frame& frame, const ms::View& sampled, PhiloxWords* words,
                        int64_t* draws) const {
    int64_t* to = sampled.data<int64_t>();
    std::unordered_set<int64_t> drawn;
    int64_t picked = 0;
    for (*draws = 0; picked < num_sampled_; ++*draws) {
      if (*draws % kDrawsBetweenChecks == kDrawsBetweenChecks - 1) MS_TRY(frame.CheckCancelled());
      if (*draws == std::numeric_limits<int32_t>::max()) {
        return ms::InvalidArgument("num_sampled = ", num_sampled_, ": only ", picked,
                                   " different classes were found in ", *draws, " draws");
      }
      const int64_t value = distribution_->Sample(words);
      if (drawn.insert(value).second) to[picked++] = value;
    }
    return ms::Status();
  }

  void WriteCounts(const ms::View& classes, int64_t draws, const ms::View& counts) const {
    const int64_t* from = classes.data<int64_t>();
    float* to = counts.data<float>();
    for (int64_t i = 0; i < classes.size(); ++i) {
      to[i] = ExpectedCount(distribution_->Probability(from[i]), num_sampled_, draws);
    }
  }

  const Row& row_;
  int64_t num_true_ = 0;
  int64_t num_sampled_ = 0;
  int64_t range_ = 0;
  bool unique_ = false;
  mutable std::mutex mutex_;  // guards a distribution that learns
  std::unique_ptr<ClassDistribution> distribution_;
};

// Input: true_classes. All classes, each once.
class AllCandidates {
 public:
  ms::Status Init(const ms::KernelInfo& info) {
    MS_TRY(info.Attr("num_true", &num_true_));
    return info.Attr("num_sampled", &num_sampled_);
  }

  ms::Status Compute(ms::Frame& frame) const {
    MS_TRY(CheckTrueClasses(frame.input(0), num_true_));
    SamplerOutputs outputs;
    MS_TRY(outputs.Init(frame, num_sampled_));
    for (int64_t i = 0; i < num_sampled_; ++i) outputs.sampled.data<int64_t>()[i] = i;
    std::fill_n(outputs.true_count.data<float>(), outputs.true_count.size(), 1.0f);
    std::fill_n(outputs.sampled_count.data<float>(), num_sampled_, 1.0f);
    return ms::Status();
  }

 private:
  int64_t num_true_ = 0;
  int64_t num_sampled_ = 0;
};

template <std::unique_ptr<ClassDistribution> (*kMake)(int64_t range)>
ms::Status MakeOfRange(const ms::KernelInfo& /*info*/, int64_t range,
                       std::unique_ptr<ClassDistribution>* out) {
  *out = kMake(range);
  return ms::Status();
}

constexpr CandidateSampler::Row kUniform = {&MakeOfRange<&MakeUniform>};
constexpr CandidateSampler::Row kLogUniform = {&MakeOfRange<&MakeLogUniform>};
constexpr CandidateSampler::Row kLearned = {&MakeOfRange<&MakeLearned>};
constexpr CandidateSampler::Row kFixed = {&MakeFixed};

const ms::Registered uniform =
    ms::RegisterRow<CandidateSampler>("UniformCandidateSampler", kUniform);
const ms::Registered log_uniform =
    ms::RegisterRow<CandidateSampler>("LogUniformCandidateSampler", kLogUniform);
const ms::Registered learned =
    ms::RegisterRow<CandidateSampler>("LearnedUnigramCandidateSampler", kLearned);
const ms::Registered thread_unsafe =
    ms::RegisterRow<CandidateSampler>("ThreadUnsafeUnigramCandidateSampler", kLearned);
const ms::Registered fixed =
    ms::RegisterRow<CandidateSampler>("FixedUnigramCandidateSampler", kFixed);
const ms::Registered all = ms::Register<AllCandidates>("AllCandidateSampler");

}  // namespace
}  // namespace millstream::kernels
