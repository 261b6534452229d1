#include <unistd.h>

#include <cstdint>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "distributed_runtime/simulation/schedule.h"
#include "distributed_runtime/simulation/sim_ledger.h"
#include "distributed_runtime/simulation/sim_sum_ledger.h"
#include "distributed_runtime/simulation/virtual_threads.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace millstream {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;

// ---- Threads ----

TEST(VirtualThreadsTest, AWaitTakesVirtualTime) {
  VirtualThreads threads(1);
  const absl::Time begin = threads.now();
  absl::Mutex mutex;
  bool never = false;
  bool came = true;
  absl::Time end;
  threads.Start("waits", [&] {
    absl::MutexLock lock(&mutex);
    came = mutex.AwaitWithTimeout(absl::Condition(&never), absl::Hours(1));
    end = absl::Now();
  });
  EXPECT_TRUE(threads.RunUntil(begin + absl::Hours(2)));
  EXPECT_THAT(threads.Alive(), IsEmpty());
  EXPECT_FALSE(came);
  EXPECT_GE(end - begin, absl::Hours(1));
  EXPECT_LT(end - begin, absl::Hours(1) + absl::Seconds(1));
}

TEST(VirtualThreadsTest, AWaitWithALimitEndsAtATenthOfASecond) {
  VirtualThreads threads(1);
  absl::Time end;
  threads.Start("waits", [&] {
    absl::Mutex mutex;
    const bool never = false;
    absl::MutexLock lock(&mutex);
    EXPECT_FALSE(mutex.AwaitWithTimeout(absl::Condition(&never), absl::Milliseconds(20)));
    end = absl::Now();
  });
  const absl::Time tenth = threads.now() + absl::Milliseconds(100);
  EXPECT_TRUE(threads.RunUntil(tenth + absl::Seconds(1)));
  EXPECT_GE(end, tenth);
  EXPECT_LT(end, tenth + absl::Milliseconds(1));
}

TEST(VirtualThreadsTest, AThreadThatWaitsGoesOnWhenAnotherActs) {
  VirtualThreads threads(1);
  absl::Mutex mutex;
  bool is_set = false;
  std::vector<std::string> events;
  threads.Start("waits", [&] {
    absl::MutexLock lock(&mutex);
    mutex.Await(absl::Condition(&is_set));
    events.push_back("came");
  });
  threads.Start("acts", [&] {
    VirtualThreads::Sleep(absl::Seconds(1));
    events.push_back("acts");
    absl::MutexLock lock(&mutex);
    is_set = true;
  });
  EXPECT_TRUE(threads.RunUntil(threads.now() + absl::Seconds(2)));
  EXPECT_THAT(threads.Alive(), IsEmpty());
  EXPECT_THAT(events, ElementsAre("acts", "came"));
}

TEST(VirtualThreadsTest, AThreadThatWaitsForAMutexIsAlive) {
  VirtualThreads threads(1);
  absl::Mutex mutex;
  mutex.Lock();
  threads.Start("waits", [&] { absl::MutexLock lock(&mutex); });
  EXPECT_TRUE(threads.RunUntil(threads.now() + absl::Seconds(1)));
  EXPECT_THAT(threads.Alive(), ElementsAre("waits"));
  mutex.Unlock();
  EXPECT_TRUE(threads.RunUntil(threads.now() + absl::Seconds(1)));
  EXPECT_THAT(threads.Alive(), IsEmpty());
}

// An event is called by whoever waits, whose threads and time it does not have.
TEST(VirtualThreadsTest, AnEventIsOnNoThread) {
  VirtualThreads threads(1);
  bool is_thread = true;
  bool has_started = false;
  threads.Start("waits", [] { VirtualThreads::Sleep(absl::Seconds(2)); });
  threads.At(threads.now() + absl::Seconds(1), [&] {
    is_thread = VirtualThreads::Yield();
    threads.Start("begins", [&has_started] { has_started = true; });
  });
  EXPECT_TRUE(threads.RunUntil(threads.now() + absl::Seconds(3)));
  EXPECT_FALSE(is_thread);
  EXPECT_TRUE(has_started);
}

TEST(VirtualThreadsTest, AThreadMayBeWokenByAnEventThatItCalls) {
  VirtualThreads threads(1);
  absl::Mutex mutex;
  bool is_set = false;
  bool came = false;
  threads.Start("waits", [&] {
    absl::MutexLock lock(&mutex);
    mutex.Await(absl::Condition(&is_set));
    came = true;
  });
  threads.At(threads.now() + absl::Seconds(1), [&] {
    absl::MutexLock lock(&mutex);
    is_set = true;
  });
  EXPECT_TRUE(threads.RunUntil(threads.now() + absl::Seconds(2)));
  EXPECT_TRUE(came);
}

TEST(VirtualThreadsTest, TheSeedChoosesTheOrder) {
  const auto order = [](uint64_t seed) {
    VirtualThreads threads(seed);
    std::string text;
    for (const char* name : {"a", "b", "c", "d", "e", "f"}) {
      threads.Start(name, [&text, name] {
        text += name;
        VirtualThreads::Yield();
        text += name;
      });
    }
    EXPECT_TRUE(threads.RunUntil(threads.now() + absl::Seconds(1)));
    return text;
  };
  EXPECT_THAT(order(1), SizeIs(12));
  EXPECT_EQ(order(1), order(1));
  EXPECT_NE(order(1), order(2));
}

TEST(VirtualThreadsTest, AGroupThatIsFrozenStandsStill) {
  VirtualThreads threads(1);
  const absl::Time begin = threads.now();
  std::vector<std::string> events;
  absl::Time woken;
  threads.StartIn(1, "still", [&] {
    VirtualThreads::Sleep(absl::Seconds(1));
    events.push_back("still");
    woken = threads.now();
  });
  threads.StartIn(2, "goes on", [&] {
    VirtualThreads::Sleep(absl::Seconds(2));
    events.push_back("goes on");
  });
  threads.At(begin + absl::Milliseconds(500), [&] { threads.Freeze(1); });
  threads.At(begin + absl::Seconds(3), [&] { threads.Thaw(1); });
  EXPECT_TRUE(threads.RunUntil(begin + absl::Seconds(4)));
  EXPECT_THAT(events, ElementsAre("goes on", "still"));
  EXPECT_GE(woken - begin, absl::Seconds(3));
}

TEST(VirtualThreadsTest, AThreadIsOfTheGroupOfWhoStartsIt) {
  VirtualThreads threads(1);
  threads.StartIn(1, "outer", [&] {
    threads.Start("inner", [] { VirtualThreads::Sleep(absl::Seconds(1)); });
    threads.StartIn(2, "other", [] { VirtualThreads::Sleep(absl::Seconds(1)); });
  });
  EXPECT_TRUE(threads.RunUntil(threads.now() + absl::Milliseconds(500)));
  threads.Freeze(1);
  EXPECT_TRUE(threads.RunUntil(threads.now() + absl::Seconds(2)));
  EXPECT_THAT(threads.Alive(), ElementsAre("inner"));
  threads.Thaw(1);
  EXPECT_TRUE(threads.RunUntil(threads.now() + absl::Seconds(1)));
  EXPECT_THAT(threads.Alive(), IsEmpty());
}

// ---- What is judged by ----

TEST(SimLedgerTest, ValuesThatASerialOrderExplains) {
  SimLedger ledger;
  const int base = ledger.NextBase();
  ledger.BeginSet(0, base);
  ledger.EndSet(base);
  ledger.BeginAdd(0);
  EXPECT_EQ(ledger.EndAdd(static_cast<float>(base + 1), false), absl::OkStatus());
  ledger.BeginAdd(0);  // fails
  ledger.BeginAdd(0);
  EXPECT_EQ(ledger.EndAdd(static_cast<float>(base + 3), false), absl::OkStatus());
  ledger.BeginAdd(0);
  EXPECT_FALSE(ledger.EndAdd(static_cast<float>(base + 2), false).ok());
  ledger.BeginAdd(0);
  EXPECT_FALSE(ledger.EndAdd(static_cast<float>(base + 6), false).ok());
}

TEST(SimLedgerTest, AStepHasNoEffectAfterLaterOnesThatHaveEndedIt) {
  for (const int came : {0, 1}) {  // at about the time of the next step
    SimLedger ledger;
    const int base = ledger.NextBase();
    ledger.BeginSet(0, base);
    ledger.EndSet(base);
    ledger.BeginAdd(0);  // fails
    ledger.BeginAdd(0);
    EXPECT_EQ(ledger.EndAdd(static_cast<float>(base + 1), true), absl::OkStatus());
    ledger.BeginAdd(0);
    EXPECT_EQ(ledger.EndAdd(static_cast<float>(base + 2 + came), true), absl::OkStatus());
    ledger.BeginAdd(0);
    EXPECT_EQ(ledger.EndAdd(static_cast<float>(base + 3 + came), true), absl::OkStatus());
    ledger.BeginAdd(0);
    EXPECT_FALSE(ledger.EndAdd(static_cast<float>(base + 5 + came), true).ok());
  }
}

TEST(SimLedgerTest, AStepOfAnEarlierSessionMayHaveItsEffectLater) {
  SimLedger ledger;
  const int first = ledger.NextBase();
  ledger.BeginSet(0, first);
  ledger.EndSet(first);
  ledger.BeginAdd(0);  // fails
  const int second = ledger.NextBase();
  ledger.BeginSet(0, second);
  ledger.EndSet(second);
  for (const int steps : {1, 2, 3}) {
    ledger.BeginAdd(0);
    EXPECT_EQ(ledger.EndAdd(static_cast<float>(second + steps), true), absl::OkStatus());
  }
  ledger.BeginAdd(0);
  EXPECT_EQ(ledger.EndAdd(static_cast<float>(second + 5), true), absl::OkStatus());
  ledger.BeginAdd(0);
  EXPECT_FALSE(ledger.EndAdd(static_cast<float>(second + 7), true).ok());
}

TEST(SimLedgerTest, AStepOfAnEarlierProcessExplainsNothing) {
  SimLedger ledger;
  const int first = ledger.NextBase();
  ledger.BeginSet(0, first);
  ledger.EndSet(first);
  ledger.BeginAdd(0);  // fails
  const int second = ledger.NextBase();
  EXPECT_NE(second, first);
  ledger.BeginSet(1, second);
  ledger.EndSet(second);
  ledger.BeginAdd(1);
  EXPECT_FALSE(ledger.EndAdd(static_cast<float>(second + 2), true).ok());
  ledger.BeginAdd(1);
  EXPECT_FALSE(ledger.EndAdd(static_cast<float>(first + 1), true).ok());
}

// ---- Schedules ----

class ScheduleTest : public ::testing::Test {
 protected:
  ScheduleTest() {
    StayOnOneProcessor(static_cast<int>(getpid()));  // perhaps another one than other tests
    PrepareSchedules();
  }

  using Runner = ScheduleResult (*)(uint64_t seed, Sabotage sabotage,
                                    std::vector<std::string>* log);

  // The first seed whose schedule finds what has `text`; -1: there is none.
  static int64_t FirstThatFinds(const std::string& text, Sabotage sabotage,
                                Runner run = &RunSchedule) {
    for (int64_t seed = 0; seed < 500; ++seed) {
      const ScheduleResult result = run(static_cast<uint64_t>(seed), sabotage, nullptr);
      for (const std::string& finding : result.findings) {
        if (absl::StrContains(finding, text)) return seed;
      }
    }
    return -1;
  }
};

// Seeds that found something once, besides the first ones.
const std::vector<uint64_t>& KeptSeeds() {
  static const auto* const seeds = new std::vector<uint64_t>{278, 374, 392, 2760, 75896};
  return *seeds;
}

TEST_F(ScheduleTest, StepsEndRightAndLeaveNothing) {
  std::vector<uint64_t> seeds = KeptSeeds();
  for (uint64_t seed = 0; seed < 200; ++seed) seeds.push_back(seed);
  int64_t steps = 0;
  int64_t failed = 0;
  int faults = 0;
  for (const uint64_t seed : seeds) {
    const ScheduleResult result = RunSchedule(seed);
    EXPECT_THAT(result.findings, IsEmpty()) << "seed " << seed;
    steps += result.steps;
    failed += result.failed;
    faults += result.faults;
  }
  // Otherwise nothing was tried.
  EXPECT_GT(steps, 200);
  EXPECT_GT(failed, 20);
  EXPECT_GT(faults, 200);
}

TEST_F(ScheduleTest, ASeedGivesTheSameScheduleAgain) {
  for (uint64_t seed = 0; seed < 10; ++seed) {
    std::vector<std::string> first;
    std::vector<std::string> second;
    RunSchedule(seed, Sabotage::kNothing, &first);
    RunSchedule(seed, Sabotage::kNothing, &second);
    EXPECT_EQ(first, second) << "seed " << seed;
  }
}

TEST_F(ScheduleTest, ARequestThatArrivesTwiceIsFound) {
  EXPECT_GE(FirstThatFinds("a variable has the value", Sabotage::kTwice), 0);
}

TEST_F(ScheduleTest, AnAnswerThatIsLostIsFound) {
  EXPECT_GE(FirstThatFinds("hangs: ", Sabotage::kLost), 0);
}

TEST_F(ScheduleTest, ATaskThatIsTakenForItsOldProcessIsFound) {
  EXPECT_GE(FirstThatFinds("a process that its session knew had ended", Sabotage::kOldTask), 0);
}

TEST_F(ScheduleTest, AClientWhoseHeartbeatsAreLostIsFound) {
  EXPECT_GE(FirstThatFinds("without a fault: UNAVAILABLE: the master at", Sabotage::kMute), 0);
}

TEST_F(ScheduleTest, AClientWhoseHeartbeatsAreRefusedIsFound) {
  EXPECT_GE(FirstThatFinds("without a fault: UNAVAILABLE: the master at", Sabotage::kUnheard), 0);
}

TEST_F(ScheduleTest, AStepThatRunsAfterLaterOnesIsFound) {
  EXPECT_GE(FirstThatFinds("a variable has the value", Sabotage::kUntold), 0);
}

TEST_F(ScheduleTest, ASessionOfAClientThatIsGoneIsFound) {
  EXPECT_GE(FirstThatFinds(" holds a session", Sabotage::kUnswept), 0);
}

TEST_F(ScheduleTest, AStepThatWaitsForATaskThatIsStoppedIsFound) {
  EXPECT_GE(FirstThatFinds("a step took", Sabotage::kAwake), 0);
}

TEST_F(ScheduleTest, AStepThatOutlivesTheConnectionToItsMasterIsFound) {
  EXPECT_GE(FirstThatFinds("without the connection to its master", Sabotage::kUnwatched), 0);
}

// ---- Schedules of sums ----

TEST(SimSumLedgerTest, MembersOfAMeetingAreToldTheSame) {
  SimSumLedger ledger;
  double sum = 0;
  for (int task = 0; task < SimSumLedger::kTasks; ++task) {
    sum += SimSumLedger::Given(task, ledger.Begin(task));
  }
  EXPECT_EQ(sum, 1001001);
  EXPECT_EQ(ledger.End(0, 1, sum), absl::OkStatus());
  EXPECT_EQ(ledger.End(2, 1, sum), absl::OkStatus());
  ASSERT_EQ(ledger.Begin(1), 2);
  const double other = sum + SimSumLedger::Given(1, 1);
  EXPECT_FALSE(ledger.End(1, 2, other).ok());  // task 0 was told the first one
}

TEST(SimSumLedgerTest, ASumWithoutTheMemberIsOfNoMeeting) {
  SimSumLedger ledger;
  for (int task = 0; task < SimSumLedger::kTasks; ++task) ledger.Begin(task);
  EXPECT_FALSE(ledger.End(0, 1, SimSumLedger::Given(1, 1)).ok());
  EXPECT_FALSE(ledger.End(1, 1, 2001001).ok());  // task 2 has no second member
}

TEST_F(ScheduleTest, SumsEndRightAndLeaveNothing) {
  std::vector<uint64_t> seeds = {403};  // which found something once
  for (uint64_t seed = 0; seed < 100; ++seed) seeds.push_back(seed);
  int64_t sums = 0;
  int64_t failed = 0;
  for (const uint64_t seed : seeds) {
    const ScheduleResult result = RunSumSchedule(seed);
    EXPECT_THAT(result.findings, IsEmpty()) << "seed " << seed;
    sums += result.steps;
    failed += result.failed;
  }
  EXPECT_GT(sums, 300);
  EXPECT_GT(failed, 10);
}

TEST_F(ScheduleTest, ASeedGivesTheSameSumsAgain) {
  for (uint64_t seed = 0; seed < 10; ++seed) {
    std::vector<std::string> first;
    std::vector<std::string> second;
    RunSumSchedule(seed, Sabotage::kNothing, &first);
    RunSumSchedule(seed, Sabotage::kNothing, &second);
    EXPECT_EQ(first, second) << "seed " << seed;
  }
}

TEST_F(ScheduleTest, APieceOfAnotherSumIsFound) {
  EXPECT_GE(FirstThatFinds(" meeting", Sabotage::kOldPiece, &RunSumSchedule), 0);
}

TEST_F(ScheduleTest, AProcessThatEndsBeforeOthersHaveTheirSumsIsFound) {
  EXPECT_GE(FirstThatFinds("without a fault", Sabotage::kHasty, &RunSumSchedule), 0);
}

}  // namespace
}  // namespace millstream
