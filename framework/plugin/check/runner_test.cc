#include "framework/plugin/check/runner.h"

#include <dlfcn.h>
#include <unistd.h>

#include <cerrno>
#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace millstream::plugin_check {
namespace {

using ::testing::HasSubstr;

constexpr int kNoLimit = 1000;
int forks_left = kNoLimit;

}  // namespace
}  // namespace millstream::plugin_check

// In place of the C library's: fails as that does where a machine has no more processes.
extern "C" pid_t fork() noexcept {
  if (millstream::plugin_check::forks_left == 0) {
    errno = EAGAIN;
    return -1;
  }
  --millstream::plugin_check::forks_left;
  return reinterpret_cast<pid_t (*)()>(dlsym(RTLD_NEXT, "fork"))();
}

namespace millstream::plugin_check {
namespace {

// Two items, each in a process of its own. Both check LOAD-OPEN; the first alone breaks LOAD-INIT.
Suite TwoItems() {
  return {"load", /*loads_itself=*/true, /*compares=*/false, [](CheckContext*) { return 2; },
          [](CheckContext* context, int item) {
            context->report->Begin("LOAD-OPEN", item == 0 ? "first" : "second");
            if (item != 0) return;
            context->report->Begin("LOAD-INIT");
            context->report->Fail("it is broken");
          }};
}

class RunnerTest : public ::testing::Test {
 protected:
  ~RunnerTest() override { forks_left = kNoLimit; }

  // What becomes of the suite where so many processes can be started.
  void RunWith(int processes) {
    forks_left = processes;
    RunSuite(TwoItems(), CheckSettings(), absl::Seconds(30), &report_);
  }
  const RuleResult& Result(const std::string& rule) { return report_.results().at(rule); }

  Report report_;
};

TEST_F(RunnerTest, ARulePassesWhenAllItemsRan) {
  RunWith(2);
  EXPECT_EQ(Result("LOAD-OPEN").outcome(), Outcome::kPass);
  EXPECT_EQ(Result("LOAD-OPEN").Detail(3), "2 checks");
  EXPECT_FALSE(report_.IsCutShort());
  EXPECT_EQ(Result("LOAD-INIT").outcome(), Outcome::kFail);
}

TEST_F(RunnerTest, ARulePassesNotWhenAnItemHasNoProcess) {
  RunWith(1);
  EXPECT_EQ(Result("LOAD-OPEN").outcome(), Outcome::kSkip);
  EXPECT_EQ(Result("LOAD-OPEN").Detail(3),
            "1 check; not checked: a process cannot be started: Resource temporarily unavailable");
  EXPECT_EQ(Result("LOAD-INIT").outcome(), Outcome::kFail);
}

TEST_F(RunnerTest, WithoutProcessesAllRulesAreSkipped) {
  RunWith(0);
  EXPECT_EQ(Result("LOAD-OPEN").outcome(), Outcome::kSkip);
  EXPECT_THAT(Result("LOAD-INIT").Detail(3), HasSubstr("a process cannot be started"));
  EXPECT_FALSE(report_.HasFailures());
  EXPECT_TRUE(report_.IsCutShort());
}

}  // namespace
}  // namespace millstream::plugin_check
