// The sessions of the process: what resets all of them, and what ends them before the process does.
#ifndef MILLSTREAM_CORE_SESSION_LIVE_SESSIONS_H_
#define MILLSTREAM_CORE_SESSION_LIVE_SESSIONS_H_

#include <string>

#include "absl/base/thread_annotations.h"
#include "absl/container/flat_hash_set.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "absl/types/span.h"

namespace millstream {

// A session as the others see it. Thread-safe.
class LiveSession {
 public:
  // Cancels the steps that run and refuses further ones. Waits for none.
  virtual void Shut() = 0;
  virtual void ResetAndShut(absl::Span<const std::string> containers) = 0;
  // No step runs any more and what the session held is freed; or it is this thread that is inside
  // of a step.
  virtual bool IsOver() = 0;

 protected:
  ~LiveSession() = default;
};

// Thread-safe.
class LiveSessions {
 public:
  static LiveSessions* Global();  // lives for ever

  void Add(LiveSession* session) ABSL_LOCKS_EXCLUDED(mutex_);
  void Remove(LiveSession* session) ABSL_LOCKS_EXCLUDED(mutex_);
  void Reset(absl::Span<const std::string> containers) ABSL_LOCKS_EXCLUDED(mutex_);

  // Shuts them and waits until all are over; false when some are not after `patience`.
  bool EndAll(absl::Duration patience) ABSL_LOCKS_EXCLUDED(mutex_);

  // As the process exits, threads that it does not wait for may still be within steps, while the
  // libraries that kernels call are taken down one by one. From now on exit() ends all sessions
  // before it takes down what is loaded and set up by now; to be called again when there is more.
  // When a step does not end for long, the process ends without taking anything down.
  static void EndBeforeLibraries();

 private:
  bool AreOver() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  absl::Mutex mutex_;
  absl::flat_hash_set<LiveSession*> sessions_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace millstream

#endif  // MILLSTREAM_CORE_SESSION_LIVE_SESSIONS_H_
