// Streams of random numbers whose places are in variables.
#ifndef MILLSTREAM_KERNELS_RANDOM_RANDOM_STATE_H_
#define MILLSTREAM_KERNELS_RANDOM_RANDOM_STATE_H_

#include <cstdint>
#include <cstring>

#include "framework/plugin/plugin.hpp"
#include "kernels/random/philox.h"

namespace millstream::kernels {

// The place that the variable of input 0 has, which moves on by `blocks`. The variable is a vector
// of int64: the counter, its low half first, and the key. Input 1 is the algorithm; in an op of two
// inputs the variable has that in front.
ms::Status MoveState(ms::Frame& frame, uint64_t blocks, PhiloxPosition* position);

// Whole numbers of all bits.
template <typename T>
struct FullIntegerSampler {
  static constexpr int64_t kOutputsPerBlock = 16 / sizeof(T);
  static constexpr uint64_t kCostPerOutput = 1;
  void operator()(const uint32_t* words, int64_t count, T* output) const {
    std::memcpy(output, words, static_cast<size_t>(count) * sizeof(T));
  }
};

}  // namespace millstream::kernels

#endif  // MILLSTREAM_KERNELS_RANDOM_RANDOM_STATE_H_
