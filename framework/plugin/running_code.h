// What the calling thread runs of a plugin, for the crash handler.
#ifndef MILLSTREAM_FRAMEWORK_PLUGIN_RUNNING_CODE_H_
#define MILLSTREAM_FRAMEWORK_PLUGIN_RUNNING_CODE_H_

#include <algorithm>
#include <cstddef>
#include <cstring>

#include "absl/strings/string_view.h"

namespace millstream {

// A line that is written in a signal handler: nothing allocates or locks. What is too long is cut.
class CrashLine {
 public:
  void Append(absl::string_view text) {
    const size_t size = std::min(text.size(), sizeof(text_) - size_);
    if (size > 0) std::memcpy(text_ + size_, text.data(), size);
    size_ += size;
  }
  absl::string_view text() const { return absl::string_view(text_, size_); }

 private:
  char text_[1024];
  size_t size_ = 0;
};

// Says what is running, as "plugin acme, kernel Conv2D, node layer/conv". Called in a signal
// handler, so `describe` may only read memory and append.
struct RunningCode {
  void (*describe)(const void* what, CrashLine* line);
  const void* what;
};

// Of the calling thread; null: nothing of a plugin. A crash handler reads it, so that it must not
// need to be made when it is first used: it is part of the thread from its start.
extern __thread const RunningCode* running_code __attribute__((tls_model("initial-exec")));

// From now on to the end of the scope the thread runs this code. A few stores.
class RunningScope {
 public:
  RunningScope(void (*describe)(const void* what, CrashLine* line), const void* what)
      : code_{describe, what}, outer_(running_code) {
    running_code = &code_;
  }
  // The same as another thread runs, which waits for this one; may be null.
  explicit RunningScope(const RunningCode* code) : code_{}, outer_(running_code) {
    running_code = code;
  }
  ~RunningScope() { running_code = outer_; }
  RunningScope(const RunningScope&) = delete;
  RunningScope& operator=(const RunningScope&) = delete;

 private:
  const RunningCode code_;
  const RunningCode* const outer_;
};

}  // namespace millstream

#endif  // MILLSTREAM_FRAMEWORK_PLUGIN_RUNNING_CODE_H_
