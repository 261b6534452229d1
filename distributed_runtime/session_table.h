// The open sessions of a master or a worker.
#ifndef MILLSTREAM_DISTRIBUTED_RUNTIME_SESSION_TABLE_H_
#define MILLSTREAM_DISTRIBUTED_RUNTIME_SESSION_TABLE_H_

#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/container/flat_hash_map.h"
#include "absl/synchronization/mutex.h"
#include "distributed_runtime/thread_cache.h"

namespace millstream {

// Sessions by their handles. Session has a Close(), which is called without the lock.
template <typename Session>
class SessionTable {
 public:
  // False if there is a session with the handle.
  bool Add(uint64_t handle, std::shared_ptr<Session> session) ABSL_LOCKS_EXCLUDED(mutex_) {
    absl::MutexLock lock(&mutex_);
    return sessions_.try_emplace(handle, std::move(session)).second;
  }
  // Null if there is none.
  std::shared_ptr<Session> Find(uint64_t handle) const ABSL_LOCKS_EXCLUDED(mutex_) {
    absl::MutexLock lock(&mutex_);
    const auto found = sessions_.find(handle);
    return found == sessions_.end() ? nullptr : found->second;
  }
  std::vector<std::shared_ptr<Session>> All() const ABSL_LOCKS_EXCLUDED(mutex_) {
    std::vector<std::shared_ptr<Session>> all;
    absl::MutexLock lock(&mutex_);
    for (const auto& [handle, session] : sessions_) all.push_back(session);
    return all;
  }
  // Removes and closes the session. Returns false if there is none.
  bool Close(uint64_t handle) ABSL_LOCKS_EXCLUDED(mutex_) {
    std::shared_ptr<Session> session;
    {
      absl::MutexLock lock(&mutex_);
      session = Take(handle);
    }
    if (session == nullptr) return false;
    session->Close();
    return true;
  }
  // The same, but for the end of Close(), which may wait for a step: a thread of ThreadCache calls
  // it. `owner` keeps the table.
  bool CloseApart(uint64_t handle, std::shared_ptr<const void> owner) ABSL_LOCKS_EXCLUDED(mutex_) {
    std::shared_ptr<Session> session;
    {
      absl::MutexLock lock(&mutex_);
      session = Take(handle);
      if (session == nullptr) return false;
      ++closing_;
    }
    ThreadCache::Global()->Run(
        [this, owner = std::move(owner), session = std::move(session)]() mutable {
          session->Close();
          session.reset();
          absl::MutexLock lock(&mutex_);
          --closing_;
        });
    return true;
  }
  // Waits for what CloseApart has begun.
  void AwaitClosed() ABSL_LOCKS_EXCLUDED(mutex_) {
    absl::MutexLock lock(&mutex_);
    mutex_.Await(absl::Condition(this, &SessionTable::HasClosed));
  }
  void CloseAll() ABSL_LOCKS_EXCLUDED(mutex_) {
    absl::flat_hash_map<uint64_t, std::shared_ptr<Session>> sessions;
    {
      absl::MutexLock lock(&mutex_);
      sessions.swap(sessions_);
    }
    for (const auto& [handle, session] : sessions) session->Close();
  }

 private:
  // Removes it. Null if there is none.
  std::shared_ptr<Session> Take(uint64_t handle) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    const auto found = sessions_.find(handle);
    if (found == sessions_.end()) return nullptr;
    std::shared_ptr<Session> session = std::move(found->second);
    sessions_.erase(found);
    return session;
  }
  bool HasClosed() const ABSL_SHARED_LOCKS_REQUIRED(mutex_) { return closing_ == 0; }

  mutable absl::Mutex mutex_;
  absl::flat_hash_map<uint64_t, std::shared_ptr<Session>> sessions_ ABSL_GUARDED_BY(mutex_);
  int closing_ ABSL_GUARDED_BY(mutex_) = 0;  // by CloseApart
};

}  // namespace millstream

#endif  // MILLSTREAM_DISTRIBUTED_RUNTIME_SESSION_TABLE_H_
