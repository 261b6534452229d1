// Forks in tests.
#ifndef MILLSTREAM_CORE_TESTING_FORK_H_
#define MILLSTREAM_CORE_TESTING_FORK_H_

#include <sys/wait.h>
#include <unistd.h>

#include <csignal>

#include "framework/testing/hang_guard.h"
#include "gtest/gtest.h"

namespace millstream {

// Runs `body` in a forked child; true when it returned true there.
template <typename Body>
bool InChild(Body body) {
  const pid_t child = fork();
  if (child == 0) {
    alarm(kHangGuardMillis / 1000);
    _exit(body() ? 0 : 1);
  }
  int status = 0;
  EXPECT_EQ(waitpid(child, &status, 0), child);
  EXPECT_TRUE(!WIFSIGNALED(status) || WTERMSIG(status) != SIGALRM || HangGuardFailure());
  return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

}  // namespace millstream

#endif  // MILLSTREAM_CORE_TESTING_FORK_H_
