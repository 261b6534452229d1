#include "distributed_runtime/bounded_flow.h"

#include <utility>

namespace millstream {

bool BoundedFlow::Begin(size_t bytes, Send send) {
  absl::MutexLock lock(&mutex_);
  if (is_closed_) return false;
  if (waiting_.empty() && HasRoom(bytes)) {
    on_its_way_ += bytes;
    return true;
  }
  waiting_.push_back({bytes, std::move(send)});
  return false;
}

void BoundedFlow::SetNumber(uint64_t number, size_t bytes) {
  absl::MutexLock lock(&mutex_);
  const auto [at, is_new] = numbered_.try_emplace(number, bytes);
  if (is_new) return;
  // The memory is used again, so the receiver has the message before: its word may still be on the
  // socket, while that of the release came through the ring. It then stands for this message.
  on_its_way_ -= at->second;
  at->second = bytes;
}

std::vector<BoundedFlow::Send> BoundedFlow::Arrive(uint64_t number) {
  absl::MutexLock lock(&mutex_);
  const auto found = numbered_.find(number);
  if (found == numbered_.end()) return {};
  on_its_way_ -= found->second;
  numbered_.erase(found);
  return TakeReady();
}

std::vector<BoundedFlow::Send> BoundedFlow::GiveUp(size_t bytes) {
  absl::MutexLock lock(&mutex_);
  on_its_way_ -= bytes;
  return TakeReady();
}

std::vector<BoundedFlow::Send> BoundedFlow::TakeReady() {
  std::vector<Send> ready;
  while (!waiting_.empty() && HasRoom(waiting_.front().bytes)) {
    on_its_way_ += waiting_.front().bytes;
    ready.push_back(std::move(waiting_.front().send));
    waiting_.pop_front();
  }
  return ready;
}

void BoundedFlow::Close() {
  std::deque<Waiting> dropped;  // destroyed without the lock
  absl::MutexLock lock(&mutex_);
  is_closed_ = true;
  dropped.swap(waiting_);
}

}  // namespace millstream
