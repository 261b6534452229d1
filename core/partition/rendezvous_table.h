// A table of sent tensors and waiting receivers by key, for rendezvous within one process.
#ifndef MILLSTREAM_CORE_PARTITION_RENDEZVOUS_TABLE_H_
#define MILLSTREAM_CORE_PARTITION_RENDEZVOUS_TABLE_H_

#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/container/flat_hash_map.h"
#include "absl/synchronization/mutex.h"
#include "core/partition/rendezvous.h"
#include "framework/status.h"

namespace millstream {

// The methods are those of Rendezvous. Thread-safe.
template <typename Key>
class RendezvousTable {
 public:
  Status Send(const Key& key, Parcel&& parcel) ABSL_LOCKS_EXCLUDED(mutex_) {
    Rendezvous::Receiver* receiver = nullptr;
    {
      absl::MutexLock lock(&mutex_);
      if (!aborted_.ok()) return absl::OkStatus();
      auto found = items_.find(key);
      if (found == items_.end()) {
        items_.emplace(key, Item{nullptr, std::move(parcel)});
        return absl::OkStatus();
      }
      receiver = found->second.receiver;
      if (receiver == nullptr) {
        return absl::AlreadyExistsError("a tensor was sent twice over the same edge of a step");
      }
      items_.erase(found);
    }
    receiver->Receive(absl::OkStatus(), std::move(parcel));
    return absl::OkStatus();
  }

  StatusOr<bool> Receive(const Key& key, Rendezvous::Receiver* receiver, Parcel* parcel)
      ABSL_LOCKS_EXCLUDED(mutex_) {
    absl::MutexLock lock(&mutex_);
    if (!aborted_.ok()) return aborted_;
    auto found = items_.find(key);
    if (found == items_.end()) {
      items_.emplace(key, Item{receiver, Parcel()});
      return false;
    }
    if (found->second.receiver != nullptr) {
      return errors::Internal("two receivers await the same tensor of a step");
    }
    *parcel = std::move(found->second.parcel);
    items_.erase(found);
    return true;
  }

  void Abort(const Status& error) ABSL_LOCKS_EXCLUDED(mutex_) {
    std::vector<Rendezvous::Receiver*> waiting;
    {
      absl::MutexLock lock(&mutex_);
      if (!aborted_.ok()) return;
      aborted_ = error;
      for (const auto& [key, item] : items_) {
        if (item.receiver != nullptr) waiting.push_back(item.receiver);
      }
      items_.clear();
    }
    for (Rendezvous::Receiver* receiver : waiting) receiver->Receive(error, Parcel());
  }

 private:
  struct Item {
    Rendezvous::Receiver* receiver = nullptr;  // null: `parcel` has the tensor
    Parcel parcel;
  };
  absl::Mutex mutex_;
  absl::flat_hash_map<Key, Item> items_ ABSL_GUARDED_BY(mutex_);
  Status aborted_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace millstream

#endif  // MILLSTREAM_CORE_PARTITION_RENDEZVOUS_TABLE_H_
