#include "distributed_runtime/client_runs.h"

#include <utility>
#include <vector>

namespace millstream {

StatusOr<std::shared_ptr<Cancellation>> ClientRuns::Begin(uint64_t number,
                                                          absl::Span<const uint64_t> running) {
  std::shared_ptr<Cancellation> cancellation;
  std::vector<std::shared_ptr<Cancellation>> ended;
  {
    absl::MutexLock lock(&mutex_);
    if (record_.HasEnded(number)) {
      return errors::Cancelled("the client has ended its run ", number,
                               " before the request for it came");
    }
    const bool is_newest = record_.Begin(number, running);
    for (auto at = runs_.begin(); is_newest && at != runs_.end();) {
      const auto present = at++;
      if (!record_.HasEnded(present->first)) continue;
      ended.push_back(std::move(present->second));
      runs_.erase(present);
    }
    std::shared_ptr<Cancellation>& kept = runs_[number];
    if (kept == nullptr) kept = std::make_shared<Cancellation>();
    cancellation = kept;
  }
  for (const std::shared_ptr<Cancellation>& one : ended) one->Cancel();
  return cancellation;
}

void ClientRuns::End(uint64_t number) {
  absl::MutexLock lock(&mutex_);
  runs_.erase(number);
}

void ClientRuns::Cancel(uint64_t number) {
  std::shared_ptr<Cancellation> cancellation;
  {
    absl::MutexLock lock(&mutex_);
    if (record_.HasEnded(number)) return;
    std::shared_ptr<Cancellation>& kept = runs_[number];
    if (kept == nullptr) kept = std::make_shared<Cancellation>();
    cancellation = kept;
  }
  cancellation->Cancel();
}

}  // namespace millstream
