#include "core/plan/state_budget.h"

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

#include "core/plan/plan.h"

namespace millstream {
namespace {

constexpr int64_t kStatesOfTheLargest = 4;
constexpr int64_t kBytesBesides = int64_t{64} << 20;
constexpr int64_t kBytesSpared = int64_t{16} << 20;

// The first power of two that is no smaller.
int SizeClass(int64_t bytes) {
  return bytes <= 1 ? 0 : 64 - __builtin_clzll(static_cast<uint64_t>(bytes - 1));
}

}  // namespace

void StateBudget::Count(int64_t state_bytes, int plans) {
  const int size_class = SizeClass(state_bytes);
  if (size_class < kSmallSizes) small_bytes_[size_class] += plans * Plan::kKeptStates * state_bytes;
}

void StateBudget::SetLimits() {
  const int64_t largest = sizes_.empty() ? 0 : *sizes_.rbegin();
  limit_.store(kStatesOfTheLargest * largest + kBytesBesides, std::memory_order_relaxed);
  int64_t sum = 0;
  int64_t spared = 0;
  for (int i = 0; i < kSmallSizes && sum + small_bytes_[i] <= kBytesSpared; ++i) {
    sum += small_bytes_[i];
    spared = int64_t{1} << i;
  }
  spared_.store(spared, std::memory_order_relaxed);
  none_kept_.store(false);  // by plans that were spared before
}

void StateBudget::Add(Plan* plan) {
  absl::MutexLock lock(&mutex_);
  plans_.insert(plan);
  sizes_.insert(plan->state_bytes());
  Count(plan->state_bytes(), 1);
  SetLimits();
}

void StateBudget::Remove(Plan* plan) {
  absl::MutexLock lock(&mutex_);
  plans_.erase(plan);
  sizes_.erase(sizes_.find(plan->state_bytes()));
  Count(plan->state_bytes(), -1);
  SetLimits();
}

void StateBudget::Reserve(int64_t bytes) {
  time_.fetch_add(1, std::memory_order_relaxed);
  bytes_.fetch_add(bytes, std::memory_order_relaxed);
  if (!IsExceeded() || none_kept_.load()) return;
  absl::MutexLock lock(&mutex_);
  if (IsExceeded()) DropLeastRecentlyUsed();
}

// Releases states until the budget holds, and at least an eighth of them, so that not every new
// state visits all plans.
void StateBudget::DropLeastRecentlyUsed() {
  // Before the first look: who keeps a state meanwhile, and is not seen, takes it back.
  none_kept_.store(true);
  // Steps that begin meanwhile change the time of last use, so it is read once for each plan.
  std::vector<std::pair<uint64_t, Plan*>> by_use;
  for (Plan* plan : plans_) {
    if (IsSpared(plan->state_bytes()) || !plan->KeepsStates()) continue;
    by_use.emplace_back(plan->last_used(), plan);
  }
  std::sort(by_use.begin(), by_use.end());
  const size_t fewest = by_use.size() / 8;
  for (size_t i = 0; i < by_use.size(); ++i) {
    if (i >= fewest && !IsExceeded()) {
      none_kept_.store(false);
      return;
    }
    by_use[i].second->DropKeptStates();
  }
}

void StateBudget::DropKeptStates() {
  absl::MutexLock lock(&mutex_);
  for (Plan* plan : plans_) plan->DropKeptStates();
}

}  // namespace millstream
