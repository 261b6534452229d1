#include "distributed_runtime/outgoing_tensors.h"

#include <cstddef>
#include <utility>

namespace millstream {
namespace {

// Larger ones are asked for one by one, at the same time.
constexpr size_t kMostBytesOfOne = size_t{32} << 10;
constexpr size_t kMostBytes = size_t{256} << 10;

}  // namespace

Status OutgoingTensors::Send(const std::string& key, const std::string& destination,
                             Parcel parcel) {
  Take take;
  Answer answer;
  {
    absl::MutexLock lock(&mutex_);
    if (!aborted_.ok()) return absl::OkStatus();
    const auto found = askers_.find(key);
    if (found == askers_.end()) {
      if (!given_.contains(key) && items_.try_emplace(key, Item{destination, parcel}).second) {
        return absl::OkStatus();
      }
      return absl::AlreadyExistsError("a tensor was sent twice over the same edge of a step");
    }
    take = std::move(found->second.take);
    if (found->second.takes_more) answer.more = TakeMore(destination);
    askers_.erase(found);
  }
  answer.parcel = std::move(parcel);
  take(absl::OkStatus(), std::move(answer));
  return absl::OkStatus();
}

void OutgoingTensors::Ask(const std::string& key, bool takes_more, Take take) {
  Status status;
  Answer answer;
  {
    absl::MutexLock lock(&mutex_);
    const auto found = items_.find(key);
    if (!aborted_.ok()) {
      status = aborted_;
    } else if (found != items_.end()) {
      const std::string destination = std::move(found->second.destination);
      answer.parcel = std::move(found->second.parcel);
      items_.erase(found);
      if (takes_more) answer.more = TakeMore(destination);
    } else if (given_.erase(key) > 0) {
      answer.came_before = true;
    } else if (askers_.try_emplace(key, Asker{takes_more, take}).second) {
      return;
    } else {
      status = errors::Internal("two receivers await the same tensor of a step");
    }
  }
  take(status, std::move(answer));
}

std::vector<OutgoingTensors::Named> OutgoingTensors::TakeMore(const std::string& destination) {
  std::vector<Named> more;
  size_t left = kMostBytes;
  for (auto at = items_.begin(); at != items_.end();) {
    const auto present = at++;
    const Tensor& tensor = present->second.parcel.tensor;
    const size_t bytes = tensor.has_value() ? tensor.bytes() : 0;
    if (present->second.destination != destination || bytes > kMostBytesOfOne || bytes > left) {
      continue;
    }
    left -= bytes;
    given_.insert(present->first);
    more.push_back({present->first, std::move(present->second.parcel)});
    items_.erase(present);
  }
  return more;
}

void OutgoingTensors::Abort(const Status& error) {
  absl::flat_hash_map<std::string, Asker> waiting;
  absl::flat_hash_map<std::string, Item> dropped;  // destroyed without the lock
  {
    absl::MutexLock lock(&mutex_);
    if (!aborted_.ok()) return;
    aborted_ = error;
    waiting.swap(askers_);
    dropped.swap(items_);
  }
  for (const auto& [key, asker] : waiting) asker.take(error, Answer());
}

}  // namespace millstream
