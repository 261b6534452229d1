// Plans of transforms that are kept from one call to the next.
#ifndef MILLSTREAM_KERNELS_SIGNAL_KEPT_PLANS_H_
#define MILLSTREAM_KERNELS_SIGNAL_KEPT_PLANS_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

namespace millstream::kernels {

// A Plan that is made of the length n, and says it by size().
template <typename Plan>
std::shared_ptr<const Plan> PlanOfLength(int64_t n) {
  constexpr int64_t kLongestKept = 1 << 16;
  constexpr size_t kMostKept = 16;
  if (n > kLongestKept) return std::make_shared<const Plan>(n);
  static std::mutex mutex;
  static std::vector<std::shared_ptr<const Plan>> kept;  // those used last come last
  const std::lock_guard<std::mutex> lock(mutex);
  const auto found =
      std::find_if(kept.begin(), kept.end(), [n](const auto& plan) { return plan->size() == n; });
  if (found != kept.end()) {
    std::rotate(found, found + 1, kept.end());
    return kept.back();
  }
  if (kept.size() == kMostKept) kept.erase(kept.begin());
  kept.push_back(std::make_shared<const Plan>(n));
  return kept.back();
}

}  // namespace millstream::kernels

#endif  // MILLSTREAM_KERNELS_SIGNAL_KEPT_PLANS_H_
