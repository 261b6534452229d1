// The plugin code that the calling thread runs, for the crash handler.
#ifndef MILLSTREAM_FRAMEWORK_PLUGIN_RUNNING_CODE_H_
#define MILLSTREAM_FRAMEWORK_PLUGIN_RUNNING_CODE_H_

#include <algorithm>
#include <cstddef>
#include <cstring>

#include "absl/strings/string_view.h"

namespace millstream {

// A line of text for signal handlers: its functions neither allocate nor lock. Longer text is cut.
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

// Describes the running code, as "plugin acme, kernel Conv2D, node layer/conv". `describe` is
// called in a signal handler, so it may only read memory and append.
struct RunningCode {
  void (*describe)(const void* what, CrashLine* line);
  const void* what;
};

// The code of the calling thread; null: no plugin code. A crash handler reads it, so it must not be
// allocated at its first use. The initial-exec model makes it a part of the thread from its start.
extern __thread const RunningCode* running_code __attribute__((tls_model("initial-exec")));

// Marks that the thread runs this code until the end of the scope. Costs a few stores.
class RunningScope {
 public:
  RunningScope(void (*describe)(const void* what, CrashLine* line), const void* what)
      : code_{describe, what}, outer_(running_code) {
    running_code = &code_;
  }
  // Marks the code of another thread, which waits for this one. May be null.
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
