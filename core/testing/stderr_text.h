// Captures the text that the process writes to stderr.
#ifndef MILLSTREAM_CORE_TESTING_STDERR_TEXT_H_
#define MILLSTREAM_CORE_TESTING_STDERR_TEXT_H_

#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

#include <cstdint>
#include <string>

#include "absl/strings/match.h"
#include "absl/strings/string_view.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "framework/testing/hang_guard.h"
#include "gtest/gtest.h"

namespace millstream {

// From its making to its end stderr is a pipe that the test reads. What was not read is passed on
// at the end. For one thread at a time, and one of them in a process.
class StderrText {
 public:
  StderrText() : stderr_(dup(STDERR_FILENO)) {
    EXPECT_EQ(pipe2(pipe_, O_CLOEXEC), 0);
    EXPECT_GE(dup2(pipe_[1], STDERR_FILENO), 0);
  }
  ~StderrText() {
    dup2(stderr_, STDERR_FILENO);
    close(pipe_[1]);
    std::string rest;
    while (Read(&rest)) {
    }
    if (!rest.empty() && write(stderr_, rest.data(), rest.size()) < 0) ADD_FAILURE();
    close(pipe_[0]);
    close(stderr_);
  }
  StderrText(const StderrText&) = delete;
  StderrText& operator=(const StderrText&) = delete;

  // Reads until `text` has come. False, with a message, when it does not.
  ::testing::AssertionResult Await(absl::string_view text) {
    const absl::Time end = absl::Now() + kHangGuard;
    while (!absl::StrContains(text_, text)) {
      pollfd readable = {pipe_[0], POLLIN, 0};
      const int64_t left = absl::ToInt64Milliseconds(end - absl::Now());
      if (left <= 0) return HangGuardFailure();
      if (poll(&readable, 1, static_cast<int>(left)) == 1) Read(&text_);
    }
    return ::testing::AssertionSuccess();
  }
  // All that was read.
  const std::string& text() const { return text_; }

  // Writes until there is no room: who writes to stderr now waits until something is read.
  void Fill() {
    const int flags = fcntl(pipe_[1], F_GETFL);
    fcntl(pipe_[1], F_SETFL, flags | O_NONBLOCK);
    while (write(pipe_[1], "\n", 1) == 1) {
    }
    fcntl(pipe_[1], F_SETFL, flags);
  }

 private:
  // False at the end.
  bool Read(std::string* to) {
    char block[4096];
    const ssize_t size = read(pipe_[0], block, sizeof(block));
    if (size > 0) to->append(block, static_cast<size_t>(size));
    return size > 0;
  }

  const int stderr_;
  int pipe_[2] = {-1, -1};
  std::string text_;
};

}  // namespace millstream

#endif  // MILLSTREAM_CORE_TESTING_STDERR_TEXT_H_
