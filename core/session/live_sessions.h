// The open sessions of the process, to reset all of them, and to end them before the process ends.
#ifndef MILLSTREAM_CORE_SESSION_LIVE_SESSIONS_H_
#define MILLSTREAM_CORE_SESSION_LIVE_SESSIONS_H_

#include <string>

#include "absl/base/thread_annotations.h"
#include "absl/container/flat_hash_set.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "absl/types/span.h"

namespace millstream {

// The interface of an open session. Thread-safe.
class LiveSession {
 public:
  // Cancels the running steps and refuses further ones. Does not wait.
  virtual void Shut() = 0;
  // Removes the resources of the containers (all if none is named), then does as Shut.
  virtual void ResetAndShut(absl::Span<const std::string> containers) = 0;
  // True if no step runs and the state is freed, or if this thread is inside a step of the session.
  virtual bool IsOver() = 0;

 protected:
  ~LiveSession() = default;
};

// Thread-safe.
class LiveSessions {
 public:
  static LiveSessions* Global();  // never destroyed

  void Add(LiveSession* session) ABSL_LOCKS_EXCLUDED(mutex_);
  void Remove(LiveSession* session) ABSL_LOCKS_EXCLUDED(mutex_);
  void Reset(absl::Span<const std::string> containers) ABSL_LOCKS_EXCLUDED(mutex_);

  // Shuts all sessions and waits until they are over. Returns false if some are not after
  // `patience`.
  bool EndAll(absl::Duration patience) ABSL_LOCKS_EXCLUDED(mutex_);

  // Registers an exit handler that ends all sessions. It runs before the exit handlers and
  // destructors that exist now, so that the libraries which kernels call still work while steps end
  // on other threads. Call it again after more libraries were loaded. If a step does not end for a
  // long time, the handler ends the process without further handlers.
  static void EndBeforeLibraries();

 private:
  bool AreOver() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  absl::Mutex mutex_;
  absl::flat_hash_set<LiveSession*> sessions_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace millstream

#endif  // MILLSTREAM_CORE_SESSION_LIVE_SESSIONS_H_
