#include "core/structural/histogram.h"

#include <algorithm>
#include <array>
#include <cassert>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>

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

// The intervals, and where in them to look for a value: a search over all limits takes ten times as
// long as the rest of Histogram::Add.
class Intervals {
 public:
  Intervals() : limits_(MakeLimits()) {
    for (uint64_t cell = 0; cell < starts_[0].size(); ++cell) {
      const double low = Double((cell + kFirstCell) << kCellShift);
      // The smallest value of the cell below zero is the one before the next cell begins.
      const double next = Double((cell + 1 + kFirstCell) << kCellShift);
      starts_[0][cell] = static_cast<uint16_t>(Search(low));
      starts_[1][cell] = static_cast<uint16_t>(Search(-next));
    }
  }
  const std::vector<double>& limits() const { return limits_; }
  // The interval of a finite value.
  size_t Of(double value) const {
    const uint64_t bits = Bits(value);
    const uint64_t cell = ((bits & ~kSign) >> kCellShift) - kFirstCell;
    if (cell >= starts_[0].size()) return Search(value);
    size_t interval = starts_[(bits & kSign) != 0 ? 1 : 0][cell];
    while (limits_[interval] <= value) ++interval;
    return interval;
  }

 private:
  // Doubles whose sign, exponent and first three bits of the fraction are equal are a cell: the
  // largest is below 9/8 of the smallest, so that a cell meets three intervals at most.
  static constexpr int kCellShift = 49;
  static constexpr uint64_t kSign = uint64_t{1} << 63;
  // Cells from 2^-40, which is below 1e-12, to 2^66, which is below 1e20.
  static constexpr uint64_t kFirstCell = (1023 - 40) << 3;
  static constexpr size_t kCells = (66 + 40) << 3;

  static double Double(uint64_t bits) {
    double value;
    std::memcpy(&value, &bits, sizeof(value));
    return value;
  }
  static uint64_t Bits(double value) {
    uint64_t bits;
    std::memcpy(&bits, &value, sizeof(bits));
    return bits;
  }
  // Leaves out the last limit, so that the largest double falls into the last interval.
  size_t Search(double value) const {
    return std::upper_bound(limits_.begin(), limits_.end() - 1, value) - limits_.begin();
  }

  const std::vector<double> limits_;
  std::array<std::array<uint16_t, kCells>, 2> starts_;  // of values above and below zero
};

const Intervals& AllIntervals() {
  static const Intervals* const intervals = new Intervals;
  return *intervals;
}

const std::vector<double>& Limits() { return AllIntervals().limits(); }

}  // namespace

Histogram::Histogram() : counts_(Limits().size()) {}

void Histogram::Add(double value) {
  assert(std::isfinite(value));
  counts_[AllIntervals().Of(value)] += 1;
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
