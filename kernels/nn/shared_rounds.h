// Work in rounds, each of which needs all of the one before, as the steps of a recurrent network
// do.
#ifndef MILLSTREAM_KERNELS_NN_SHARED_ROUNDS_H_
#define MILLSTREAM_KERNELS_NN_SHARED_ROUNDS_H_

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <thread>

#include "framework/plugin/plugin.hpp"

namespace millstream::kernels {

// The blocks of a round that threads have taken, and how many of them are done. A cache line,
// because threads look at it while they wait.
struct alignas(64) Round {
  std::atomic<uint64_t> taken{0};  // a bit for each block
  std::atomic<int64_t> done{0};
};

// Rounds of up to 64 blocks that several threads share out. One team does all rounds: to start a
// team for each takes about as long as 100 KB of weights, and here a thread waits for another's
// write alone. A thread begins with blocks that are its own, the same ones in each round, because
// what they read may be in its cache still. Then it takes those that others have not begun. So the
// rounds end whether all threads come or one.
template <typename Fn>
class SharedRounds {
 public:
  static constexpr int64_t kMostBlocks = 64;

  // fn(round, block) for blocks [0, blocks). REQUIRES: blocks is from 1 to kMostBlocks, and
  // `rounds` are `count` new ones.
  SharedRounds(Round* rounds, int64_t first, int64_t count, int64_t blocks, int64_t threads,
               const Fn& fn)
      : rounds_(rounds),
        first_(first),
        count_(count),
        blocks_(blocks),
        threads_(threads),
        fn_(fn) {}

  // The part of a thread, one of [0, threads). Returns when all rounds are done.
  void Run(int64_t thread) const {
    const int64_t own = thread * blocks_ / threads_;
    for (int64_t i = 0; i < count_; ++i) {
      Round& round = rounds_[i];
      for (int64_t k = 0; k < blocks_; ++k) {
        const int64_t block = (own + k) % blocks_;
        if (!Take(&round, block)) continue;
        fn_(first_ + i, block);
        round.done.fetch_add(1, std::memory_order_acq_rel);
      }
      Await(round);
    }
  }

 private:
  static bool Take(Round* round, int64_t block) {
    const uint64_t bit = uint64_t{1} << block;
    if ((round->taken.load(std::memory_order_relaxed) & bit) != 0) return false;
    return (round->taken.fetch_or(bit, std::memory_order_relaxed) & bit) == 0;
  }

  // Other threads compute what is left. They may have lost their processor.
  void Await(const Round& round) const {
    constexpr int kLooks = 1024;  // some tens of microseconds, more than a block of a small network
    int looks = 0;
    while (round.done.load(std::memory_order_acquire) != blocks_) {
      if (++looks <= kLooks) {
        Relax();
      } else {
        std::this_thread::yield();
      }
    }
  }

  static void Relax() {
#if defined(__x86_64__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    asm volatile("yield");
#endif
  }

  Round* const rounds_;
  const int64_t first_;
  const int64_t count_;
  const int64_t blocks_;
  const int64_t threads_;
  const Fn& fn_;
};

// Calls fn(round, block) for the blocks [0, blocks) of each round, all of a round before those of
// the next one. A block costs about `nanoseconds`. Gives the error of a step that is to end early.
// `fn` throws nothing.
template <typename Fn>
ms::Status ForEachRound(ms::Frame& frame, int64_t rounds, int64_t blocks, uint64_t nanoseconds,
                        const Fn& fn) {
  constexpr int64_t kMostAtOnce = 64;                    // rounds of one team
  constexpr uint64_t kHandedOut = 20000;                 // enough for a thread to be asked
  constexpr uint64_t kBetweenChecks = 10 * 1000 * 1000;  // nanoseconds
  const uint64_t cost = std::max<uint64_t>(static_cast<uint64_t>(blocks) * nanoseconds, 1);
  const int64_t at_once =
      std::clamp<int64_t>(static_cast<int64_t>(kBetweenChecks / cost), 1, kMostAtOnce);
  const int64_t threads = std::min<int64_t>(frame.num_threads(), blocks);
  const bool are_shared =
      threads > 1 && blocks <= SharedRounds<Fn>::kMostBlocks && cost > kHandedOut;
  for (int64_t first = 0; first < rounds; first += at_once) {
    if (first > 0) MS_TRY(frame.CheckCancelled());
    const int64_t end = std::min(first + at_once, rounds);
    if (are_shared) {
      Round shared[kMostAtOnce];
      const SharedRounds<Fn> all(shared, first, end - first, blocks, threads, fn);
      frame.ParallelFor(static_cast<uint64_t>(threads), kHandedOut,
                        [&](uint64_t from, uint64_t to) {
                          for (uint64_t i = from; i < to; ++i) all.Run(static_cast<int64_t>(i));
                        });
      continue;
    }
    for (int64_t round = first; round < end; ++round) {
      frame.ParallelFor(static_cast<uint64_t>(blocks), nanoseconds,
                        [&](uint64_t from, uint64_t to) {
                          for (uint64_t i = from; i < to; ++i) fn(round, static_cast<int64_t>(i));
                        });
    }
  }
  return ms::Status();
}

}  // namespace millstream::kernels

#endif  // MILLSTREAM_KERNELS_NN_SHARED_ROUNDS_H_
