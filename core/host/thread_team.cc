#include "core/host/thread_team.h"

#include <linux/futex.h>
#include <pthread.h>
#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <climits>
#include <cstdio>
#include <memory>
#include <thread>

#include "core/graph/fork_guard.h"
#include "core/step/float_control.h"
#include "framework/plugin/signal_stack.h"

namespace millstream {
namespace {

// How long a worker looks for the next loop before it sleeps.
constexpr int kSpins = 2000;

constexpr uint64_t kMaxWorkers = 1 << 16;

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

uint64_t ThreadTeam::Next(const Loop& loop) {
  return next_.fetch_add(loop.piece, std::memory_order_relaxed);
}

void ThreadTeam::TakePieces() {
  const Loop loop = loop_;
  const RunningScope running(loop.code);
  const uint32_t control = FloatControl();
  for (uint64_t begin = Next(loop); begin < loop.total; begin = Next(loop)) {
    loop.function(loop.user, begin, std::min(begin + loop.piece, loop.total));
  }
  if (FloatControl() == control) return;
  CrashLine line;
  if (loop.code != nullptr) loop.code->describe(loop.code->what, &line);
  RestoreFloatControl(control, line.text().empty() ? "a parallel loop" : line.text());
}

// Returns when another loop than `seen` is announced. The announcing thread changes the word before
// it reads the number of sleepers. A sleeper increments the number before it reads the word. So at
// least one of the two sees the other.
void ThreadTeam::AwaitLoop(uint64_t seen) {
  for (int spin = 0; spin < kSpins; ++spin) {
    if (announced_.load(std::memory_order_acquire) != seen) return;
  }
  sleepers_.fetch_add(1, std::memory_order_seq_cst);
  while (true) {
    const uint32_t word = wake_.load(std::memory_order_seq_cst);
    if (announced_.load(std::memory_order_seq_cst) != seen) break;
    syscall(SYS_futex, reinterpret_cast<uint32_t*>(&wake_), FUTEX_WAIT_PRIVATE, word, nullptr,
            nullptr, 0);
  }
  sleepers_.fetch_sub(1, std::memory_order_relaxed);
}

void ThreadTeam::Work(int worker) {
  uint64_t seen = 0;
  EnsureSignalStack();
  while (true) {
    AwaitLoop(seen);
    seen = announced_.load(std::memory_order_acquire);
    if (worker < static_cast<int>(seen % kMaxWorkers)) {
      TakePieces();
      running_.fetch_sub(1, std::memory_order_acq_rel);
    }
  }
}

void ThreadTeam::Run(int threads, uint64_t total, uint64_t piece, Function function, void* user) {
  // The workers of a process are not those of its child.
  if (ForkGuard::Forked()) return function(user, 0, total);
  if (is_busy_.exchange(true, std::memory_order_acquire)) return function(user, 0, total);
  StartWorkers(std::min<int>(threads - 1, kMaxWorkers - 1));
  const int workers = std::min(threads - 1, workers_);
  loop_ = Loop{function, user, total, piece, running_code};
  next_.store(0, std::memory_order_relaxed);
  running_.store(workers, std::memory_order_relaxed);
  const uint64_t number = announced_.load(std::memory_order_relaxed) / kMaxWorkers + 1;
  announced_.store(number * kMaxWorkers + workers, std::memory_order_seq_cst);
  wake_.fetch_add(1, std::memory_order_seq_cst);
  if (sleepers_.load(std::memory_order_seq_cst) > 0) {
    syscall(SYS_futex, reinterpret_cast<uint32_t*>(&wake_), FUTEX_WAKE_PRIVATE, INT_MAX, nullptr,
            nullptr, 0);
  }
  TakePieces();
  while (running_.load(std::memory_order_acquire) != 0) std::this_thread::yield();
  is_busy_.store(false, std::memory_order_release);
}

}  // namespace millstream
