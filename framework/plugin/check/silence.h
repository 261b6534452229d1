// Tells a process that hangs from one that waits for its turn on a busy machine.
#ifndef MILLSTREAM_FRAMEWORK_PLUGIN_CHECK_SILENCE_H_
#define MILLSTREAM_FRAMEWORK_PLUGIN_CHECK_SILENCE_H_

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string>

#include "absl/time/time.h"

namespace millstream::plugin_check {

// What a process does at a moment.
struct Activity {
  bool is_runnable = false;     // a thread of it runs, or waits for a processor, a page or a disk
  int64_t processor_ticks = 0;  // that its threads have used
};

// By /proc; none where it says nothing of the process.
std::optional<Activity> ActivityOf(pid_t process);

// How long a process says nothing. Times are of any clock that never goes back.
class Silence {
 public:
  Silence(absl::Duration patience, absl::Duration now) : patience_(patience) { Break(now); }

  // It said something.
  void Break(absl::Duration now);

  // How often to look.
  absl::Duration interval() const { return patience_ / kLooks; }

  // One look at what it does: how it hangs, or nothing if it does not. It hangs if it was idle in
  // all looks for the patience, or has computed in silence for ten times as long.
  std::string HangAt(absl::Duration now, const std::optional<Activity>& activity);

 private:
  static constexpr int kLooks = 10;

  const absl::Duration patience_;
  absl::Duration silent_since_;
  absl::Duration last_look_;
  absl::Duration idle_;
  int64_t processor_ticks_ = 0;  // at the last look
};

}  // namespace millstream::plugin_check

#endif  // MILLSTREAM_FRAMEWORK_PLUGIN_CHECK_SILENCE_H_
