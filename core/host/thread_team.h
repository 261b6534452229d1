// Parallelism inside kernels: one team of threads, one permit to use it.
#ifndef MILLSTREAM_CORE_HOST_THREAD_TEAM_H_
#define MILLSTREAM_CORE_HOST_THREAD_TEAM_H_

#include <atomic>
#include <cstdint>

#include "framework/plugin/plugin.h"
#include "framework/plugin/running_code.h"

namespace millstream {

// Threads that this process may use: its affinity, bounded by the cgroup's cpu quota; at least 1.
int AvailableThreads();

// The permit for parallelism inside kernels. At most one step in the process holds it; the others
// run their kernels on one thread, so that teams never fight over cores.
class ParallelPermit {
 public:
  static bool TryAcquire() { return !taken_.exchange(true, std::memory_order_acquire); }
  static void Release() { taken_.store(false, std::memory_order_release); }

 private:
  static std::atomic<bool> taken_;
};

// Worker threads that share one loop at a time with the permit's holder. Workers are started when
// they are first needed, and sleep between loops after a short spin. No lock is taken: there is one
// caller at a time, and sleepers wait in the kernel.
class ThreadTeam {
 public:
  using Function = void (*)(void* user, uint64_t begin, uint64_t end);
  static ThreadTeam* Global();  // lives for ever

  // Runs function over [0, total) in pieces of `piece`, on `threads` threads, the caller among
  // them; returns when all are done. Fewer when the system gives no more threads. REQUIRES: the
  // caller holds the permit.
  void Run(int threads, uint64_t total, uint64_t piece, Function function, void* user);

 private:
  struct Loop {
    Function function;
    void* user;
    uint64_t total;
    uint64_t piece;
    const RunningCode* code;  // what the caller runs
  };
  void StartWorkers(int workers);  // as many as can be had
  void Work(int worker);
  void AwaitLoop(uint64_t seen);
  void TakePieces();

  int workers_ = 0;  // started; the caller's
  // The loop's number times 2^16, plus how many workers take part in it.
  std::atomic<uint64_t> announced_{0};
  std::atomic<uint32_t> wake_{0};  // changes with every loop; sleepers wait on it
  std::atomic<int> sleepers_{0};
  std::atomic<int> running_{0};  // of those that take part, how many have not finished
  std::atomic<uint64_t> next_{0};
  Loop loop_{};  // written by the caller before announced_ moves
};

// The host's "ms.threads/1".
const MS_ThreadsApi* ThreadsApi();

}  // namespace millstream

#endif  // MILLSTREAM_CORE_HOST_THREAD_TEAM_H_
