// Random numbers of the runtime's own: streams of Philox4x32-10, the counter-based generator of
// Salmon, Moraes, Dror and Shaw, "Parallel Random Numbers: As Easy as 1, 2, 3" (SC'11). Kernels of
// plugins get a position of such a stream (plugin.h, rng_reserve).
#ifndef MILLSTREAM_CORE_DEVICE_RANDOM_STREAM_H_
#define MILLSTREAM_CORE_DEVICE_RANDOM_STREAM_H_

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

#include "framework/attr_value.h"

namespace millstream {

// A kernel's Philox stream: 64-bit key, and a counter of which the upper half is the second seed
// and the lower half moves on with every reservation. Thread-safe.
class RandomStream {
 public:
  // From the attributes seed and seed2; both zero: another stream every time.
  explicit RandomStream(const AttrMap& attrs);
  void Reserve(uint64_t blocks, uint64_t* key, uint64_t counter[2]) {
    *key = key_;
    counter[0] = used_.fetch_add(blocks, std::memory_order_relaxed);
    counter[1] = upper_counter_;
  }

 private:
  uint64_t key_;
  uint64_t upper_counter_;
  std::atomic<uint64_t> used_{0};
};

// The 32-bit numbers of a stream, one after the other. Not thread-safe.
class RandomNumbers {
 public:
  static constexpr uint64_t kPerBlock = 4;
  // Reserves `blocks` blocks of kPerBlock numbers. More numbers may be drawn if no other part of
  // the stream is used.
  explicit RandomNumbers(RandomStream* stream, uint64_t blocks = 0) {
    stream->Reserve(blocks, &key_, counter_.data());
  }
  uint32_t Next();
  // A number in [0, n). Slightly uneven unless n is a power of two. REQUIRES: n > 0.
  uint32_t Below(uint32_t n) { return Next() % n; }

 private:
  uint64_t key_ = 0;
  std::array<uint64_t, 2> counter_{};  // of the next block
  std::array<uint32_t, kPerBlock> block_{};
  size_t num_used_ = kPerBlock;  // numbers of block_
};

}  // namespace millstream

#endif  // MILLSTREAM_CORE_DEVICE_RANDOM_STREAM_H_
