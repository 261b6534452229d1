#include "core/host/thread_team.h"

#include <pthread.h>
#include <sched.h>
#include <signal.h>

#include <atomic>
#include <chrono>
#include <thread>
#include <vector>

#include "gtest/gtest.h"

namespace millstream {
namespace {

// Counts how often each index is visited.
struct Visits {
  explicit Visits(uint64_t total) : counts(total) {}
  static void Visit(void* user, uint64_t begin, uint64_t end) {
    for (uint64_t i = begin; i < end; ++i) ++static_cast<Visits*>(user)->counts[i];
  }
  bool AllOnce() const {
    for (const int count : counts) {
      if (count != 1) return false;
    }
    return true;
  }
  std::vector<int> counts;
};

TEST(ThreadTeamTest, VisitsEveryIndexOnce) {
  ThreadTeam* const team = ThreadTeam::Global();
  for (const int threads : {1, 2, 3, 5}) {
    for (const uint64_t total : {1, 7, 1000}) {
      for (const uint64_t piece : {1, 3, 2000}) {
        Visits visits(total);
        team->Run(threads, total, piece, &Visits::Visit, &visits);
        EXPECT_TRUE(visits.AllOnce()) << threads << " threads, " << total << " by " << piece;
      }
    }
  }
}

TEST(ThreadTeamTest, RunsManyLoopsOneAfterAnother) {
  ThreadTeam* const team = ThreadTeam::Global();
  for (int loop = 0; loop < 20000; ++loop) {
    Visits visits(8);
    team->Run(2 + loop % 2, 8, 1, &Visits::Visit, &visits);
    ASSERT_TRUE(visits.AllOnce()) << "loop " << loop;
  }
}

TEST(ThreadTeamTest, WakesWorkersThatSleep) {
  ThreadTeam* const team = ThreadTeam::Global();
  for (int loop = 0; loop < 20; ++loop) {
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
    Visits visits(64);
    team->Run(3, 64, 1, &Visits::Visit, &visits);
    ASSERT_TRUE(visits.AllOnce()) << "loop " << loop;
  }
}

// Both threads of a loop of two units, each of which waits for the other.
struct Meeting {
  static void Visit(void* user, uint64_t, uint64_t) {
    auto* const meeting = static_cast<Meeting*>(user);
    if (!pthread_equal(pthread_self(), meeting->caller)) meeting->worker = pthread_self();
    ++meeting->arrived;
    while (meeting->arrived < 2) std::this_thread::yield();
  }
  const pthread_t caller = pthread_self();
  std::atomic<pthread_t> worker{};
  std::atomic<int> arrived{0};
};

// A loop of four units, two of each thread. The first waits for the last.
struct Halves {
  static void Visit(void* user, uint64_t begin, uint64_t) {
    auto* const halves = static_cast<Halves*>(user);
    if (begin == 1) halves->second_has_begun = true;
    if (begin == 3) {
      halves->second_was_first = halves->second_has_begun.load();
      halves->last_has_begun = true;
    }
    while (begin == 0 && !halves->last_has_begun) std::this_thread::yield();
  }
  std::atomic<bool> second_has_begun{false};
  std::atomic<bool> last_has_begun{false};
  bool second_was_first = false;
};

TEST(ThreadTeamTest, AThreadTakesItsOwnPiecesBeforeThoseOfOthers) {
  for (int loop = 0; loop < 100; ++loop) {
    Halves halves;
    ThreadTeam::Global()->Run(2, 4, 1, &Halves::Visit, &halves);
    ASSERT_FALSE(halves.second_was_first) << "loop " << loop;
  }
}

std::atomic<bool> is_held{false};
std::atomic<bool> is_released{false};

// Holds the thread that gets the signal.
void Hold(int) {
  is_held = true;
  while (!is_released) sched_yield();
}

TEST(ThreadTeamTest, DoesNotWaitForAWorkerThatComesWhenAllIsDone) {
  auto* const team = new ThreadTeam();  // its thread lives as long as the process
  Meeting meeting;
  team->Run(2, 2, 1, &Meeting::Visit, &meeting);
  struct sigaction hold = {};
  struct sigaction usual = {};
  hold.sa_handler = &Hold;
  ASSERT_EQ(sigaction(SIGUSR1, &hold, &usual), 0);
  ASSERT_EQ(pthread_kill(meeting.worker, SIGUSR1), 0);
  while (!is_held) std::this_thread::yield();
  for (int loop = 0; loop < 3; ++loop) {
    Visits alone(100);
    team->Run(2, 100, 1, &Visits::Visit, &alone);
    EXPECT_TRUE(alone.AllOnce()) << "loop " << loop;
  }
  is_released = true;
  Meeting again;
  team->Run(2, 2, 1, &Meeting::Visit, &again);
  EXPECT_TRUE(pthread_equal(again.worker, meeting.worker));
  ASSERT_EQ(sigaction(SIGUSR1, &usual, nullptr), 0);
}

// Each unit of a loop is a loop of its own.
struct Nested {
  explicit Nested(uint64_t outer) : inner(outer, Visits(64)) {}
  static void Visit(void* user, uint64_t begin, uint64_t end) {
    for (uint64_t i = begin; i < end; ++i) {
      Visits& visits = static_cast<Nested*>(user)->inner[i];
      ThreadTeam::Global()->Run(3, visits.counts.size(), 1, &Visits::Visit, &visits);
    }
  }
  std::vector<Visits> inner;
};

TEST(ThreadTeamTest, ALoopInsideALoopVisitsEveryIndexOnce) {
  Nested nested(64);
  ThreadTeam::Global()->Run(3, nested.inner.size(), 1, &Nested::Visit, &nested);
  for (const Visits& visits : nested.inner) EXPECT_TRUE(visits.AllOnce());
  Visits after(64);
  ThreadTeam::Global()->Run(3, 64, 1, &Visits::Visit, &after);
  EXPECT_TRUE(after.AllOnce()) << "the team is free again";
}

TEST(ThreadTeamTest, LoopsOfSeveralThreadsVisitEveryIndexOnce) {
  std::vector<std::thread> callers;
  std::atomic<int> wrong{0};
  for (int caller = 0; caller < 4; ++caller) {
    callers.emplace_back([&wrong] {
      for (int loop = 0; loop < 2000; ++loop) {
        Visits visits(32);
        ThreadTeam::Global()->Run(3, 32, 1, &Visits::Visit, &visits);
        if (!visits.AllOnce()) ++wrong;
      }
    });
  }
  for (std::thread& caller : callers) caller.join();
  EXPECT_EQ(wrong, 0);
}

TEST(ThreadTeamTest, MakesDoWithTheThreadsThatThereAre) {
  pthread_attr_t usual;
  ASSERT_EQ(pthread_getattr_default_np(&usual), 0);
  pthread_attr_t endless = usual;
  // Stacks for which no address space is large enough: no thread can be had.
  ASSERT_EQ(pthread_attr_setstacksize(&endless, size_t{1} << 47), 0);
  auto* const team = new ThreadTeam();  // threads of it may live as long as the process
  ASSERT_EQ(pthread_setattr_default_np(&endless), 0);
  Visits alone(100);
  team->Run(4, 100, 1, &Visits::Visit, &alone);
  ASSERT_EQ(pthread_setattr_default_np(&usual), 0);
  EXPECT_TRUE(alone.AllOnce());
  Visits together(100);
  team->Run(4, 100, 1, &Visits::Visit, &together);
  EXPECT_TRUE(together.AllOnce());
}

TEST(ParallelPermitTest, OneHoldsIt) {
  ASSERT_TRUE(ParallelPermit::TryAcquire());
  EXPECT_FALSE(ParallelPermit::TryAcquire());
  ParallelPermit::Release();
  EXPECT_TRUE(ParallelPermit::TryAcquire());
  ParallelPermit::Release();
}

TEST(AvailableThreadsTest, IsAtLeastOneAndNoMoreThanTheMachineHas) {
  EXPECT_GE(AvailableThreads(), 1);
  EXPECT_LE(AvailableThreads(), static_cast<int>(std::thread::hardware_concurrency()));
}

}  // namespace
}  // namespace millstream
