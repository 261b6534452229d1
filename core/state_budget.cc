#include "core/state_budget.h"

#include <algorithm>

#include "core/plan.h"

namespace millstream {
namespace {

constexpr int64_t kStatesOfTheLargest = 4;
constexpr int64_t kBytesBesides = int64_t{64} << 20;

}  // namespace

void StateBudget::Add(Plan* plan, int64_t bytes) {
  absl::MutexLock lock(&mutex_);
  plans_.push_back(plan);
  const int64_t limit = kStatesOfTheLargest * bytes + kBytesBesides;
  limit_.store(std::max(limit, limit_.load(std::memory_order_relaxed)), std::memory_order_relaxed);
}

void StateBudget::Remove(Plan* plan) {
  absl::MutexLock lock(&mutex_);
  plans_.erase(std::find(plans_.begin(), plans_.end(), plan));
}

void StateBudget::Reserve(int64_t bytes) {
  time_.fetch_add(1, std::memory_order_relaxed);
  bytes_.fetch_add(bytes, std::memory_order_relaxed);
  if (!IsExceeded()) return;
  absl::MutexLock lock(&mutex_);
  std::vector<Plan*> by_use = plans_;
  std::stable_sort(by_use.begin(), by_use.end(),
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
