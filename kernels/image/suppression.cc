#include "kernels/image/suppression.h"

#include <cmath>
#include <queue>

namespace millstream::kernels {
namespace {

struct Candidate {
  int32_t box;
  float score;
  size_t compared;  // chosen boxes that it was compared with
};

// Of equal scores the first box comes first.
struct IsWorse {
  bool operator()(const Candidate& a, const Candidate& b) const {
    return a.score < b.score || (a.score == b.score && a.box > b.box);
  }
};

// Compares a candidate with what was chosen since the last time, the latest first. False if it is
// left out; its score may become smaller.
bool Compare(const Chosen& chosen, const std::function<float(int64_t, int64_t)>& overlap,
             const Rule& rule, Candidate* candidate) {
  const bool is_soft = rule.sigma > 0;
  const float scale = is_soft ? -0.5f / rule.sigma : 0;
  for (size_t j = chosen.boxes.size(); j-- > candidate->compared;) {
    const float similarity = overlap(candidate->box, chosen.boxes[j]);
    if (!is_soft && similarity > rule.overlap) return false;
    if (is_soft) {
      candidate->score *= std::exp(scale * similarity * similarity);
      if (rule.round != nullptr) candidate->score = rule.round(candidate->score);
      if (!(candidate->score > rule.score)) return false;  // NaN as well
    }
  }
  candidate->compared = chosen.boxes.size();
  return true;
}

}  // namespace

Chosen ChooseBoxes(const std::vector<float>& scores,
                   const std::function<float(int64_t, int64_t)>& overlap, const Rule& rule) {
  std::priority_queue<Candidate, std::vector<Candidate>, IsWorse> candidates;
  for (size_t i = 0; i < scores.size(); ++i) {
    if (scores[i] > rule.score) candidates.push({static_cast<int32_t>(i), scores[i], 0});
  }
  Chosen chosen;
  while (static_cast<int64_t>(chosen.boxes.size()) < rule.most && !candidates.empty()) {
    Candidate best = candidates.top();
    candidates.pop();
    const float score = best.score;
    if (!Compare(chosen, overlap, rule, &best)) continue;
    if (best.score != score) {
      candidates.push(best);  // another one may be better now
      continue;
    }
    chosen.boxes.push_back(best.box);
    chosen.scores.push_back(best.score);
  }
  return chosen;
}

}  // namespace millstream::kernels
