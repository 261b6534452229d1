#include "core/structural/histogram.h"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <cstddef>

namespace millstream {
namespace {

// The upper ends of all intervals, increasing.
std::vector<double> MakeLimits() {
  std::vector<double> positive;
  for (double limit = 1e-12; limit < 1e20; limit *= 1.1) positive.push_back(limit);
  positive.push_back(std::numeric_limits<double>::max());
  std::vector<double> limits;
  for (auto limit = positive.rbegin(); limit != positive.rend(); ++limit) limits.push_back(-*limit);
  limits.push_back(0);
  limits.insert(limits.end(), positive.begin(), positive.end());
  return limits;
}

const std::vector<double>& Limits() {
  static const std::vector<double>* const limits = new std::vector<double>(MakeLimits());
  return *limits;
}

}  // namespace

Histogram::Histogram() : counts_(Limits().size()) {}

void Histogram::Add(double value) {
  assert(std::isfinite(value));
  const std::vector<double>& limits = Limits();
  // The search leaves out the last limit, so that the largest double falls into the last interval.
  const auto above = std::upper_bound(limits.begin(), limits.end() - 1, value);
  counts_[above - limits.begin()] += 1;
  min_ = std::min(min_, value);
  max_ = std::max(max_, value);
  count_ += 1;
  sum_ += value;
  sum_of_squares_ += value * value;
}

void Histogram::ToProto(proto::HistogramProto* message) const {
  const std::vector<double>& limits = Limits();
  message->set_min(min_);
  message->set_max(max_);
  message->set_num(count_);
  message->set_sum(sum_);
  message->set_sum_squares(sum_of_squares_);
  for (size_t i = 0; i < counts_.size(); ++i) {
    const bool empty_run_goes_on = counts_[i] == 0 && i + 1 < counts_.size() && counts_[i + 1] == 0;
    if (empty_run_goes_on) continue;
    message->add_bucket_limit(limits[i]);
    message->add_bucket(counts_[i]);
  }
}

}  // namespace millstream
