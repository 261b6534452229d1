// Parallelism inside kernels: the process has one team of threads and one permit to use it.
#ifndef MILLSTREAM_CORE_HOST_THREAD_TEAM_H_
#define MILLSTREAM_CORE_HOST_THREAD_TEAM_H_

#include <atomic>
#include <cstdint>

#include "framework/plugin/plugin.h"
#include "framework/plugin/running_code.h"

namespace millstream {

// The number of threads that this process may use: its affinity, bounded by the CPU quota of its
// cgroup; at least 1.
int AvailableThreads();

// The permit for parallelism inside kernels. At most one step of the process holds it. Other steps
// run their kernels on one thread, so that they do not compete for cores. Thread-safe.
class ParallelPermit {
 public:
  static bool TryAcquire() { return !taken_.exchange(true, std::memory_order_acquire); }
  static void Release() { taken_.store(false, std::memory_order_release); }

 private:
  static std::atomic<bool> taken_;
};

// Worker threads that run one loop at a time together with the caller of Run. Workers are started
// when they are first needed. Between loops they spin for a short time and then sleep. There are no
// locks: a caller that finds the team busy runs its loop alone, and workers sleep on a futex.
class ThreadTeam {
 public:
  using Function = void (*)(void* user, uint64_t begin, uint64_t end);
  static ThreadTeam* Global();  // never destroyed

  // Calls `function` once for each unit of [0, total), in pieces of `piece`, on `threads` threads
  // including the caller's. Returns when all pieces are done. Uses fewer threads if the system
  // provides no more. Uses the caller's thread alone, in one piece, if the team is busy: with a
  // loop that this call is nested in, or with a loop of another thread. Callers hold the permit, so
  // that this is rare.
  void Run(int threads, uint64_t total, uint64_t piece, Function function, void* user);

 private:
  struct Loop {
    Function function;
    void* user;
    uint64_t total;
    uint64_t piece;
    const RunningCode* code;  // of the caller, for crash messages
  };
  void StartWorkers(int workers);  // or fewer, if the system provides no more threads
  void Work(int worker);
  void AwaitLoop(uint64_t seen);
  void TakePieces();
  uint64_t Next(const Loop& loop);  // where the piece begins that the caller takes

  std::atomic<bool> is_busy_{false};  // a thread is in Run
  int workers_ = 0;  // number of started workers; only the thread that set is_busy_ accesses it
  // The loop's number times 2^16, plus the number of workers that take part in it.
  std::atomic<uint64_t> announced_{0};
  std::atomic<uint32_t> wake_{0};  // changes with every loop; sleepers wait on it
  std::atomic<int> sleepers_{0};
  std::atomic<int> running_{0};  // workers of this loop that have not finished
  std::atomic<uint64_t> next_{0};
  Loop loop_{};  // the caller writes it before it changes announced_
};

// The host's "ms.threads/1".
const MS_ThreadsApi* ThreadsApi();

}  // namespace millstream

#endif  // MILLSTREAM_CORE_HOST_THREAD_TEAM_H_
