#include "core/session/live_sessions.h"

#include <stdlib.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>

#include "absl/time/clock.h"
#include "core/graph/fork_guard.h"
#include "framework/steady_time.h"

namespace millstream {
namespace {

// Much longer than a kernel that asks whether to go on takes to do so.
constexpr absl::Duration kPatienceAtExit = absl::Seconds(10);

constexpr absl::Duration kLookInterval = absl::Milliseconds(1);

void EndSessions(int exit_code, void*) {
  // A child's copies of its parent's sessions have no threads.
  if (ForkGuard::Forked()) return;
  if (LiveSessions::Global()->EndAll(kPatienceAtExit)) return;
  std::fflush(nullptr);
  _exit(exit_code);
}

}  // namespace

LiveSessions* LiveSessions::Global() {
  static auto* const sessions = new LiveSessions();
  return sessions;
}

void LiveSessions::Add(LiveSession* session) {
  absl::MutexLock lock(&mutex_);
  sessions_.insert(session);
}

void LiveSessions::Remove(LiveSession* session) {
  absl::MutexLock lock(&mutex_);
  sessions_.erase(session);
}

// The lock keeps sessions from going away meanwhile; nothing is waited for under it.
void LiveSessions::Reset(absl::Span<const std::string> containers) {
  absl::MutexLock lock(&mutex_);
  for (LiveSession* session : sessions_) session->ResetAndShut(containers);
}

bool LiveSessions::AreOver() const {
  return std::all_of(sessions_.begin(), sessions_.end(),
                     [](LiveSession* session) { return session->IsOver(); });
}

bool LiveSessions::EndAll(absl::Duration patience) {
  const absl::Time end = SteadyNow() + patience;
  absl::MutexLock lock(&mutex_);
  for (LiveSession* session : sessions_) session->Shut();
  while (!AreOver()) {
    if (SteadyNow() > end) return false;
    mutex_.Unlock();
    absl::SleepFor(kLookInterval);
    mutex_.Lock();
  }
  return true;
}

void LiveSessions::EndBeforeLibraries() { on_exit(&EndSessions, nullptr); }

}  // namespace millstream
