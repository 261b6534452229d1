#include "core/state_budget.h"

#include <algorithm>
#include <vector>

#include "core/plan.h"

namespace millstream {
namespace {

constexpr int64_t kStatesOfTheLargest = 4;
constexpr int64_t kBytesBesides = int64_t{64} << 20;

}  // namespace

void StateBudget::SetLimit() {
  const int64_t largest = sizes_.empty() ? 0 : *sizes_.rbegin();
  limit_.store(kStatesOfTheLargest * largest + kBytesBesides, std::memory_order_relaxed);
}

void StateBudget::Add(Plan* plan) {
  absl::MutexLock lock(&mutex_);
  plans_.insert(plan);
  sizes_.insert(plan->state_bytes());
  SetLimit();
}

void StateBudget::Remove(Plan* plan) {
  absl::MutexLock lock(&mutex_);
  plans_.erase(plan);
  sizes_.erase(sizes_.find(plan->state_bytes()));
  SetLimit();
}

void StateBudget::Reserve(int64_t bytes) {
  time_.fetch_add(1, std::memory_order_relaxed);
  bytes_.fetch_add(bytes, std::memory_order_relaxed);
  if (!IsExceeded()) return;
  absl::MutexLock lock(&mutex_);
  std::vector<Plan*> by_use(plans_.begin(), plans_.end());
  std::sort(by_use.begin(), by_use.end(),
            [](Plan* a, Plan* b) { return a->last_used() < b->last_used(); });
  for (Plan* plan : by_use) {
    if (!IsExceeded()) return;
    plan->DropKeptStates();
  }
}

void StateBudget::DropKeptStates() {
  absl::MutexLock lock(&mutex_);
  for (Plan* plan : plans_) plan->DropKeptStates();
}

}  // namespace millstream
