#include "kernels/random/class_distribution.h"

#include <cmath>
#include <limits>
#include <unordered_map>

namespace millstream::kernels {
namespace {

class Uniform final : public ClassDistribution {
 public:
  explicit Uniform(int64_t range) : range_(range) {}
  int64_t Sample(PhiloxWords* words) const override {
    return static_cast<int64_t>(words->Below(static_cast<uint64_t>(range_)));
  }
  float Probability(int64_t /*value*/) const override {
    return static_cast<float>(1.0 / static_cast<double>(range_));
  }
  int64_t CountPossible() const override { return range_; }

 private:
  const int64_t range_;
};

class LogUniform final : public ClassDistribution {
 public:
  explicit LogUniform(int64_t range)
      : range_(range), log_range_(std::log1p(static_cast<double>(range))) {}
  // The logarithm of the class after the drawn one is uniform.
  int64_t Sample(PhiloxWords* words) const override {
    const double next = std::exp(words->NextDouble() * log_range_);
    // Rounding may give the class after the last one.
    return (static_cast<int64_t>(next) - 1) % range_;
  }
  float Probability(int64_t value) const override {
    const auto c = static_cast<double>(value);
    return static_cast<float>(std::log((c + 2) / (c + 1)) / log_range_);
  }
  int64_t CountPossible() const override { return range_; }

 private:
  const int64_t range_;
  const double log_range_;
};

// A class is drawn by a number below the sum of all counts: it is the one where the sum of the
// counts up to it exceeds the number. The sums are those of a binary indexed tree (P. Fenwick, "A
// New Data Structure for Cumulative Frequency Tables", 1994), of which only the nodes are kept that
// have more than the one count for each class.
class Learned final : public ClassDistribution {
 public:
  explicit Learned(int64_t range) : range_(range), total_(range) {
    while (2 * top_ <= range) top_ *= 2;
  }

  int64_t Sample(PhiloxWords* words) const override {
    int64_t left = words->Below(static_cast<uint32_t>(total_));
    int64_t place = 0;  // so many classes are before the drawn one
    for (int64_t step = top_; step > 0; step /= 2) {
      // Node place + step has the sum of the `step` classes from `place` on.
      if (place + step > range_) continue;
      const int64_t sum = step + CountIn(nodes_, place + step);
      if (sum > left) continue;
      left -= sum;
      place += step;
    }
    return place;
  }

  float Probability(int64_t value) const override {
    return static_cast<float>(1 + CountIn(counts_, value)) / static_cast<float>(total_);
  }
  int64_t CountPossible() const override { return range_; }

  bool learns() const override { return true; }
  void Learn(int64_t value) override {
    if (total_ == std::numeric_limits<int32_t>::max()) return;
    ++total_;
    ++counts_[value];
    for (int64_t node = value + 1; node <= range_; node += node & -node) ++nodes_[node];
  }

 private:
  using Counts = std::unordered_map<int64_t, int32_t>;

  static int64_t CountIn(const Counts& counts, int64_t key) {
    const auto found = counts.find(key);
    return found == counts.end() ? 0 : found->second;
  }

  const int64_t range_;
  int64_t top_ = 1;  // the largest power of two that is not above the range
  int64_t total_;    // below 2^31; nothing is learned any more when it has come there
  Counts counts_;    // of each class, less one
  Counts nodes_;     // of the tree, less the number of their classes
};

}  // namespace

std::unique_ptr<ClassDistribution> MakeUniform(int64_t range) {
  return std::make_unique<Uniform>(range);
}
std::unique_ptr<ClassDistribution> MakeLogUniform(int64_t range) {
  return std::make_unique<LogUniform>(range);
}
std::unique_ptr<ClassDistribution> MakeLearned(int64_t range) {
  return std::make_unique<Learned>(range);
}

}  // namespace millstream::kernels
