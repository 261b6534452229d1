#include "core/host/thread_team.h"

#include <linux/futex.h>
#include <pthread.h>
#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>
#if defined(__x86_64__)
#include <immintrin.h>
#endif

#include <algorithm>
#include <climits>
#include <cstdio>
#include <ctime>
#include <memory>
#include <thread>

#include "core/graph/fork_guard.h"
#include "core/step/float_control.h"
#include "framework/plugin/signal_stack.h"

namespace millstream {
namespace {

// Loads between two looks at the clock, about half a microsecond.
constexpr int kLoadsAtOnce = 32;
// How often the caller looks whether the workers are done before it gives way to others.
constexpr int kLooksForWorkers = 64;

constexpr uint64_t kMaxWorkers = 1 << 16;

constexpr uint64_t kMostOwnPieces = 64;  // bits of a word

int64_t Nanoseconds() {
  timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return int64_t{now.tv_sec} * 1'000'000'000 + now.tv_nsec;
}

// Tells the processor that the thread waits for another.
inline void Relax() {
#if defined(__x86_64__)
  _mm_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#endif
}

int AffinityThreads() {
  cpu_set_t set;
  CPU_ZERO(&set);
  if (sched_getaffinity(0, sizeof(set), &set) != 0) return 1;
  return CPU_COUNT(&set);
}

// cgroup v2's cpu.max holds "QUOTA PERIOD" or "max PERIOD"; 0 when there is no bound.
int QuotaThreads() {
  std::unique_ptr<FILE, int (*)(FILE*)> file(std::fopen("/sys/fs/cgroup/cpu.max", "r"),
                                             &std::fclose);
  if (file == nullptr) return 0;
  long quota = 0;
  long period = 0;
  if (std::fscanf(file.get(), "%ld %ld", &quota, &period) != 2 || period <= 0) return 0;
  return static_cast<int>((quota + period - 1) / period);
}

}  // namespace

int AvailableThreads() {
  int threads = AffinityThreads();
  const int quota = QuotaThreads();
  if (quota > 0) threads = std::min(threads, quota);
  return std::max(threads, 1);
}

std::atomic<bool> ParallelPermit::taken_{false};

ThreadTeam* ThreadTeam::Global() {
  static ThreadTeam* const team = new ThreadTeam();
  return team;
}

// pthread_create and not std::thread: kernels call this through C, which no exception may cross.
void ThreadTeam::StartWorkers(int workers) {
  struct Start {
    ThreadTeam* team;
    int worker;
  };
  const auto work = +[](void* argument) -> void* {
    const std::unique_ptr<const Start> start(static_cast<const Start*>(argument));
    start->team->Work(start->worker);
    return nullptr;
  };
  while (workers_ < workers) {
    auto start = std::make_unique<Start>(Start{this, workers_});
    pthread_t thread;
    if (pthread_create(&thread, nullptr, work, start.get()) != 0) return;
    pthread_detach(thread);
    start.release();
    ++workers_;
  }
}

void ThreadTeam::TakePieces(int thread) {
  const Loop loop = loop_;
  const RunningScope running(loop.code);
  const uint32_t control = FloatControl();
  if (loop.total <= kMostOwnPieces * loop.piece) {
    TakeOwnPieces(loop, thread);
  } else {
    TakeNextPieces(loop);
  }
  if (FloatControl() == control) return;
  CrashLine line;
  if (loop.code != nullptr) loop.code->describe(loop.code->what, &line);
  RestoreFloatControl(control, line.text().empty() ? "a parallel loop" : line.text());
}

// Each thread owns as many pieces, side by side, the caller one at least. Those of others are taken
// from their ends, at which the others come last.
void ThreadTeam::TakeOwnPieces(const Loop& loop, int thread) {
  const uint64_t pieces = loop.total / loop.piece + (loop.total % loop.piece != 0 ? 1 : 0);
  const auto threads = static_cast<uint64_t>(loop.threads);
  const auto first_of = [&](int t) {
    return (static_cast<uint64_t>(t) * pieces + threads - 1) / threads;
  };
  const uint64_t first = first_of(thread);
  const uint64_t end = first_of(thread + 1);
  for (uint64_t number = first; number < end; ++number) TakeIfLeft(loop, number);
  for (uint64_t number = first; number > 0; --number) TakeIfLeft(loop, number - 1);
  for (uint64_t number = pieces; number > end; --number) TakeIfLeft(loop, number - 1);
}

void ThreadTeam::TakeIfLeft(const Loop& loop, uint64_t number) {
  const uint64_t bit = uint64_t{1} << number;
  if ((taken_.load(std::memory_order_relaxed) & bit) != 0) return;
  if ((taken_.fetch_or(bit, std::memory_order_relaxed) & bit) != 0) return;
  const uint64_t begin = number * loop.piece;
  loop.function(loop.user, begin, std::min(begin + loop.piece, loop.total));
}

void ThreadTeam::TakeNextPieces(const Loop& loop) {
  const auto next = [&] { return taken_.fetch_add(loop.piece, std::memory_order_relaxed); };
  for (uint64_t begin = next(); begin < loop.total; begin = next()) {
    loop.function(loop.user, begin, std::min(begin + loop.piece, loop.total));
  }
}

// Returns when another loop than `seen` is announced.
void ThreadTeam::AwaitLoop(uint64_t seen, SpinPatience* patience) {
  const int64_t since = Nanoseconds();
  if (Look(seen, since, patience)) return;
  Sleep(seen);
  patience->Ended(Nanoseconds() - since);
}

// True when another loop than `seen` is announced, false when the patience is at its end. Threads
// that want this processor get it soon: those of a library that a kernel calls, or of a busy
// machine. A loop that is announced is not kept waiting for a look at the clock.
bool ThreadTeam::Look(uint64_t seen, int64_t since, SpinPatience* patience) const {
  const int64_t end = since + patience->limit();
  int64_t now = since;
  while (now < end) {
    for (int i = 0; i < kLoadsAtOnce; ++i) {
      if (announced_.load(std::memory_order_acquire) != seen) {
        patience->Ended(now - since);
        return true;
      }
      Relax();
    }
    const int64_t before = Nanoseconds();
    std::this_thread::yield();
    now = Nanoseconds();
    if (now - before > SpinPatience::kInterruption) {
      patience->Interrupted();
      return false;
    }
  }
  return false;
}

// Sleeps until another loop than `seen` is announced. The announcing thread changes the number of
// the loop before it reads that of the sleepers. A sleeper increments the latter before it reads
// the former. So at least one of the two sees the other.
void ThreadTeam::Sleep(uint64_t seen) {
  sleepers_.fetch_add(1, std::memory_order_seq_cst);
  while (true) {
    const uint32_t word = wake_.load(std::memory_order_seq_cst);
    if (announced_.load(std::memory_order_seq_cst) != seen) break;
    syscall(SYS_futex, reinterpret_cast<uint32_t*>(&wake_), FUTEX_WAIT_PRIVATE, word, nullptr,
            nullptr, 0);
  }
  sleepers_.fetch_sub(1, std::memory_order_relaxed);
}

// True if the worker takes part in the loop, which has not been closed. Its caller waits for it
// from now on.
bool ThreadTeam::Join(uint64_t announced) {
  const uint64_t number = announced / kMaxWorkers;
  uint64_t joined = joined_.load(std::memory_order_acquire);
  while (joined / kMaxWorkers == number) {
    if (joined_.compare_exchange_weak(joined, joined + 1, std::memory_order_acq_rel)) return true;
  }
  return false;
}

void ThreadTeam::Work(int worker) {
  uint64_t seen = 0;
  SpinPatience patience;
  EnsureSignalStack();
  while (true) {
    AwaitLoop(seen, &patience);
    seen = announced_.load(std::memory_order_acquire);
    if (worker < static_cast<int>(seen % kMaxWorkers) && Join(seen)) {
      TakePieces(worker + 1);
      finished_.fetch_add(1, std::memory_order_acq_rel);
    }
  }
}

// Closes the loop, in which no piece is left, and waits for the workers that take part in it.
void ThreadTeam::AwaitJoined() {
  const uint64_t joined = joined_.fetch_or(kClosed, std::memory_order_acq_rel) % kMaxWorkers;
  int looks = 0;
  while (finished_.load(std::memory_order_acquire) != joined) {
    if (++looks <= kLooksForWorkers) {
      Relax();
    } else {
      std::this_thread::yield();
    }
  }
}

void ThreadTeam::Run(int threads, uint64_t total, uint64_t piece, Function function, void* user) {
  // The workers of a process are not those of its child.
  if (ForkGuard::Forked()) return function(user, 0, total);
  if (is_busy_.exchange(true, std::memory_order_acquire)) return function(user, 0, total);
  StartWorkers(std::min<int>(threads - 1, kMaxWorkers - 1));
  const int workers = std::min(threads - 1, workers_);
  loop_ = Loop{function, user, total, piece, workers + 1, running_code};
  taken_.store(0, std::memory_order_relaxed);
  finished_.store(0, std::memory_order_relaxed);
  const uint64_t number = announced_.load(std::memory_order_relaxed) / kMaxWorkers + 1;
  joined_.store(number * kMaxWorkers, std::memory_order_release);
  announced_.store(number * kMaxWorkers + workers, std::memory_order_seq_cst);
  if (sleepers_.load(std::memory_order_seq_cst) > 0) {
    wake_.fetch_add(1, std::memory_order_seq_cst);
    syscall(SYS_futex, reinterpret_cast<uint32_t*>(&wake_), FUTEX_WAKE_PRIVATE, INT_MAX, nullptr,
            nullptr, 0);
  }
  TakePieces(0);
  AwaitJoined();
  is_busy_.store(false, std::memory_order_release);
}

}  // namespace millstream
