#include "framework/plugin/crash_handler.h"

#include <signal.h>

#include <cstdlib>
#include <thread>

#include "framework/plugin/host_interfaces.h"
#include "framework/plugin/running_code.h"
#include "framework/plugin/signal_stack.h"
#include "framework/plugin/testing/loader_fixture.h"
#include "gtest/gtest.h"

namespace millstream {
namespace {

using CrashHandlerDeathTest = LoaderTest;

TEST_F(CrashHandlerDeathTest, ThePluginIsNamedThatCrashesWhileItLoads) {
  EXPECT_EXIT(loader_->Load(FixturePath("crashes")).IgnoreError(),
              ::testing::KilledBySignal(SIGILL),
              "millstream error: SIGILL in plugin .*libcrashes.so while it is loaded");
}

TEST_F(CrashHandlerDeathTest, WhatAPluginSaysThatItDoesIsNamed) {
  EXPECT_EXIT(
      {
        InstallCrashHandler();
        SetHostBreadcrumb("plugin acme, kernel Conv2D, node layer/conv");
        std::abort();
      },
      ::testing::KilledBySignal(SIGABRT), "SIGABRT in plugin acme, kernel Conv2D, node layer/conv");
}

void DescribeText(const void* what, CrashLine* line) {
  line->Append(static_cast<const char*>(what));
}

TEST_F(CrashHandlerDeathTest, TheCodeThatRunsIsNamedBeforeWhatItSays) {
  EXPECT_EXIT(
      {
        InstallCrashHandler();
        const RunningScope outer(&DescribeText, "plugin acme, kernel Conv2D, node a");
        { const RunningScope inner(&DescribeText, "plugin other"); }
        SetHostBreadcrumb("second pass");
        std::thread([code = running_code] {
          const RunningScope shared(code);
          std::abort();
        }).join();
      },
      ::testing::KilledBySignal(SIGABRT), "SIGABRT in plugin acme, kernel Conv2D, node a\n");
  EXPECT_EXIT(
      {
        InstallCrashHandler();
        const RunningScope scope(&DescribeText, "plugin acme, kernel Conv2D, node a");
        SetHostBreadcrumb("second pass");
        std::abort();
      },
      ::testing::KilledBySignal(SIGABRT), "kernel Conv2D, node a: second pass\n");
}

// More than any stack has.
__attribute__((noinline)) int Overflow(int depth) {
  volatile char frame[4096];
  frame[0] = static_cast<char>(depth);
  return depth < 0 ? 0 : Overflow(depth + 1) + frame[0];
}
// Called as a plugin's function is: the compiler cannot know that it reads nothing of the caller's,
// and leave out what the caller writes before.
int (*volatile overflow)(int) = &Overflow;

TEST_F(CrashHandlerDeathTest, APluginThatOverflowsTheStackIsNamed) {
  EXPECT_EXIT(
      {
        InstallCrashHandler();
        const RunningScope scope(&DescribeText, "plugin acme, kernel Deep, node a");
        overflow(0);
      },
      ::testing::KilledBySignal(SIGSEGV), "SIGSEGV in plugin acme, kernel Deep, node a\n");
  EXPECT_EXIT(
      {
        InstallCrashHandler();
        std::thread([] {
          EnsureSignalStack();
          const RunningScope scope(&DescribeText, "plugin acme, kernel Deep, node b");
          overflow(0);
        }).join();
      },
      ::testing::KilledBySignal(SIGSEGV), "SIGSEGV in plugin acme, kernel Deep, node b\n");
}

TEST_F(CrashHandlerDeathTest, AThreadThatHasASignalStackKeepsIt) {
  std::thread([] {
    static char own[size_t{64} << 10];
    stack_t stack = {};
    stack.ss_sp = own;
    stack.ss_size = sizeof(own);
    ASSERT_EQ(sigaltstack(&stack, nullptr), 0);
    EnsureSignalStack();
    stack_t present = {};
    ASSERT_EQ(sigaltstack(nullptr, &present), 0);
    EXPECT_EQ(present.ss_sp, own);
  }).join();
}

TEST_F(CrashHandlerDeathTest, APluginThatEndsTheProcessIsNamedAndItFails) {
  for (const char* fixture : {"init_exits", "register_leaves"}) {
    EXPECT_EXIT(loader_->Load(FixturePath(fixture)).IgnoreError(),
                ::testing::ExitedWithCode(EXIT_FAILURE),
                "millstream error: exit in plugin .* while it is loaded");
  }
  EXPECT_EXIT(
      {
        InstallCrashHandler();
        std::exit(0);
      },
      ::testing::ExitedWithCode(0), "^$");
}

TEST_F(CrashHandlerDeathTest, NothingIsSaidOfOtherThreads) {
  ASSERT_TRUE(loader_->Load(FixturePath("good")).ok());
  EXPECT_EQ(HostBreadcrumb(), "") << "loading is over";
  EXPECT_EXIT(
      {
        SetHostBreadcrumb("plugin acme");
        std::thread([] { std::abort(); }).join();
      },
      ::testing::KilledBySignal(SIGABRT), "^$");
}

}  // namespace
}  // namespace millstream
