#include "distributed_runtime/thread_cache.h"

#include <thread>
#include <utility>

#include "absl/time/time.h"

namespace millstream {
namespace {

constexpr absl::Duration kPatience = absl::Seconds(10);

}  // namespace

ThreadCache* ThreadCache::Global() {
  static auto* const cache = new ThreadCache;
  return cache;
}

void ThreadCache::Run(std::function<void()> work) {
  std::function<void(std::function<void()>)> take;
  {
    absl::MutexLock lock(&mutex_);
    take = take_;
  }
  if (take != nullptr) return take(std::move(work));
  {
    absl::MutexLock lock(&mutex_);
    waiting_.push_back(std::move(work));
    if (waiting_.size() <= idle_) return;
  }
  std::thread([this] { Loop(); }).detach();
}

void ThreadCache::GiveTo(std::function<void(std::function<void()>)> take) {
  absl::MutexLock lock(&mutex_);
  take_ = std::move(take);
}

void ThreadCache::Loop() {
  while (true) {
    std::function<void()> work;
    {
      absl::MutexLock lock(&mutex_);
      ++idle_;
      const bool has_work =
          mutex_.AwaitWithTimeout(absl::Condition(this, &ThreadCache::HasWork), kPatience);
      --idle_;
      if (!has_work) return;
      work = std::move(waiting_.front());
      waiting_.pop_front();
    }
    work();
  }
}

}  // namespace millstream
