#include "kernels/nn/ctc_beams.h"

#include <algorithm>
#include <cmath>

namespace millstream::kernels {

CtcBeams::CtcBeams(int64_t classes, int64_t width)
    : blank_(classes - 1), width_(width), prefixes_(1), followed_(1, 0) {
  prefixes_[0].now = {0, 0, kLogZero};  // the empty prefix
}

bool CtcBeams::IsBetter(int64_t a, int64_t b) const {
  const double first = prefixes_[a].now.total;
  const double second = prefixes_[b].now.total;
  return first > second || (first == second && a < b);
}

bool CtcBeams::IsCandidate(const Probability& probability) const {
  if (!(probability.total > kLogZero)) return false;
  return static_cast<int64_t>(followed_.size()) < width_ ||
         probability.total > prefixes_[followed_.front()].now.total;
}

void CtcBeams::Follow(int64_t prefix) {
  const auto is_better = [this](int64_t a, int64_t b) { return IsBetter(a, b); };
  if (static_cast<int64_t>(followed_.size()) == width_) {
    std::pop_heap(followed_.begin(), followed_.end(), is_better);
    prefixes_[followed_.back()].now = Probability();
    followed_.pop_back();
  }
  followed_.push_back(prefix);
  std::push_heap(followed_.begin(), followed_.end(), is_better);
}

void CtcBeams::Step(const double* log_probabilities) {
  std::vector<int64_t> branches = std::move(followed_);
  followed_.clear();
  std::sort(branches.begin(), branches.end(),
            [this](int64_t a, int64_t b) { return IsBetter(a, b); });
  for (const int64_t branch : branches) prefixes_[branch].before = prefixes_[branch].now;
  for (const int64_t branch : branches) Continue(&prefixes_[branch], log_probabilities);
  for (const int64_t branch : branches) Follow(branch);
  for (const int64_t branch : branches) {
    if (IsCandidate(prefixes_[branch].before)) Extend(branch, log_probabilities);
  }
}

// A prefix goes on by a blank, by its last label again, or by that label after its parent.
void CtcBeams::Continue(Prefix* prefix, const double* log_probabilities) const {
  Probability& now = prefix->now;
  if (prefix->parent >= 0) {
    const Prefix& parent = prefixes_[prefix->parent];
    if (IsFollowed(parent)) {
      now.label = LogSumExp(
          now.label, prefix->label == parent.label ? parent.before.blank : parent.before.total);
    }
    now.label += log_probabilities[prefix->label];
  }
  now.blank = prefix->before.total + log_probabilities[blank_];
  now.total = LogSumExp(now.blank, now.label);
  if (std::isnan(now.total)) now.total = kLogZero;
}

// A repeated label needs a blank in between.
void CtcBeams::Extend(int64_t parent, const double* log_probabilities) {
  if (prefixes_[parent].first_child < 0) {
    const auto first = static_cast<int64_t>(prefixes_.size());
    prefixes_[parent].first_child = first;
    prefixes_.resize(first + blank_);
    for (int64_t label = 0; label < blank_; ++label) {
      prefixes_[first + label].parent = parent;
      prefixes_[first + label].label = label;
    }
  }
  const Prefix& from = prefixes_[parent];
  for (int64_t label = 0; label < blank_; ++label) {
    Prefix& child = prefixes_[from.first_child + label];
    if (IsFollowed(child)) continue;
    const double before = label == from.label ? from.before.blank : from.before.total;
    const double probability = log_probabilities[label] + before;
    child.now = {probability, kLogZero, probability};
    if (IsCandidate(child.now)) {
      Follow(from.first_child + label);
    } else {
      child.before = child.now = Probability();
    }
  }
}

std::vector<CtcBeams::Path> CtcBeams::Best(int64_t count, bool merge_repeated) const {
  std::vector<int64_t> order = followed_;
  std::sort(order.begin(), order.end(), [this](int64_t a, int64_t b) { return IsBetter(a, b); });
  order.resize(std::min<size_t>(order.size(), count));
  std::vector<Path> paths;
  for (const int64_t best : order) {
    Path path;
    path.log_probability = prefixes_[best].now.total;
    int64_t last = -1;
    for (int64_t at = best; prefixes_[at].parent >= 0; at = prefixes_[at].parent) {
      const int64_t label = prefixes_[at].label;
      if (!merge_repeated || label != last) path.labels.push_back(label);
      last = label;
    }
    std::reverse(path.labels.begin(), path.labels.end());
    paths.push_back(std::move(path));
  }
  return paths;
}

}  // namespace millstream::kernels
