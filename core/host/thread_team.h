// Parallelism inside kernels: the process has one team of threads and one permit to use it.
#ifndef MILLSTREAM_CORE_HOST_THREAD_TEAM_H_
#define MILLSTREAM_CORE_HOST_THREAD_TEAM_H_

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "core/host/spin_patience.h"
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
// when they are first needed. Between loops they look for the next one for a while
// (core/host/spin_patience.h) and then sleep. A worker that comes when no piece is left, because it
// slept or another process has its processor, is not waited for. There are no locks: a caller that
// finds the team busy runs its loop alone, and workers sleep on a futex.
//
// A thread begins with the pieces that are its own, the same in each loop of as many pieces,
// because what they read may be in its cache still. Then it takes those that others have not begun.
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
    int threads;              // that may take part
    const RunningCode* code;  // of the caller, for crash messages
  };
  void StartWorkers(int workers);  // or fewer, if the system provides no more threads
  void Work(int worker);
  void AwaitLoop(uint64_t seen, SpinPatience* patience);
  bool Look(uint64_t seen, int64_t since, SpinPatience* patience) const;
  void Sleep(uint64_t seen);
  bool Join(uint64_t announced);
  void AwaitJoined();
  void TakePieces(int thread);
  void TakeOwnPieces(const Loop& loop, int thread);
  void TakeNextPieces(const Loop& loop);
  void TakeIfLeft(const Loop& loop, uint64_t number);

  // Members of different lines of the cache are written by different threads at different times.
  static constexpr size_t kCacheLine = 64;

  std::atomic<bool> is_busy_{false};  // a thread is in Run
  int workers_ = 0;  // number of started workers; only the thread that set is_busy_ accesses it
  std::atomic<uint32_t> wake_{0};  // changes with every loop for which workers are woken
  std::atomic<int> sleepers_{0};

  // The loop's number times 2^16, plus the number of workers that may take part in it.
  alignas(kCacheLine) std::atomic<uint64_t> announced_{0};
  // The caller writes it before it changes announced_, and when nobody takes part.
  Loop loop_{};

  // The pieces that have been taken: a bit for each, or where the next one begins if there are
  // many.
  alignas(kCacheLine) std::atomic<uint64_t> taken_{0};
  // The number of the loop that workers may join, times 2^16, plus those that did. When the loop
  // has no piece left, the caller closes it: kClosed is set.
  std::atomic<uint64_t> joined_{kClosed};
  std::atomic<uint64_t> finished_{0};  // of those that joined

  static constexpr uint64_t kClosed = uint64_t{1} << 63;
};

// The host's "ms.threads/1".
const MS_ThreadsApi* ThreadsApi();

}  // namespace millstream

#endif  // MILLSTREAM_CORE_HOST_THREAD_TEAM_H_
