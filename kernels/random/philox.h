// Philox4x32-10, the counter-based generator of Salmon, Moraes, Dror and Shaw, "Parallel Random
// Numbers: As Easy as 1, 2, 3" (SC'11): block number n of a stream is a function of the key and n,
// so that any part of a stream can be made by any thread.
#ifndef MILLSTREAM_KERNELS_RANDOM_PHILOX_H_
#define MILLSTREAM_KERNELS_RANDOM_PHILOX_H_

#include <array>
#include <cstdint>

namespace millstream::kernels {

// Four 32-bit numbers: what one counter value gives.
using PhiloxBlock = std::array<uint32_t, 4>;

// A place in a stream. The 128-bit counter is (counter[1] << 64) + counter[0].
struct PhiloxPosition {
  uint64_t key = 0;
  std::array<uint64_t, 2> counter{};

  // The place `blocks` blocks further on.
  PhiloxPosition Advanced(uint64_t blocks) const {
    PhiloxPosition result = *this;
    result.counter[0] += blocks;
    if (result.counter[0] < blocks) ++result.counter[1];
    return result;
  }
};

// The block at `position`.
PhiloxBlock PhiloxAt(const PhiloxPosition& position);

// Writes `count` successive blocks from `position` on to output[0] to output[4 * count - 1].
void PhiloxFill(const PhiloxPosition& position, uint64_t count, uint32_t* output);

}  // namespace millstream::kernels

#endif  // MILLSTREAM_KERNELS_RANDOM_PHILOX_H_
