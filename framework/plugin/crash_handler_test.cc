#include "framework/plugin/crash_handler.h"

#include <signal.h>

#include <cstdlib>
#include <thread>

#include "framework/plugin/host_interfaces.h"
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
