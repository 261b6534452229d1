#include "framework/plugin/crash_handler.h"

#include <signal.h>

#include <cstdlib>
#include <thread>

#include "framework/plugin/host_interfaces.h"
#include "framework/plugin/running_code.h"
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
