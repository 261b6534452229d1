// The words of a Philox stream one after the other, and the numbers that samplers draw with them.
// As in distributions.h, each formula is part of the contract.
#ifndef MILLSTREAM_KERNELS_RANDOM_PHILOX_WORDS_H_
#define MILLSTREAM_KERNELS_RANDOM_PHILOX_WORDS_H_

#include <cstdint>
#include <type_traits>

#include "kernels/random/distributions.h"
#include "kernels/random/philox.h"

namespace millstream::kernels {

class PhiloxWords {
 public:
  explicit PhiloxWords(const PhiloxPosition& position) : position_(position) {}

  uint32_t Next() {
    if (used_ == block_.size()) {
      block_ = PhiloxAt(position_);
      position_ = position_.Advanced(1);
      used_ = 0;
    }
    return block_[used_++];
  }

  float NextFloat() { return UniformFloat(Next()); }
  double NextDouble() {
    const uint32_t first = Next();
    return UniformDouble(first, Next());
  }

  // Uniform in [0, n). REQUIRES: n > 0.
  uint32_t Below(uint32_t n) { return BelowOf(n); }
  uint64_t Below(uint64_t n) { return BelowOf(n); }

 private:
  template <typename T>
  T NextOf() {
    T value = Next();
    if constexpr (sizeof(T) == sizeof(uint64_t)) value |= T{Next()} << 32;
    return value;
  }

  // The numbers below 2^bits % n are drawn again, so that as many are left for each remainder.
  template <typename T>
  T BelowOf(T n) {
    if ((n & (n - 1)) == 0) return NextOf<T>() & (n - 1);
    const T rejected = static_cast<T>(-n) % n;
    T value = NextOf<T>();
    while (value < rejected) value = NextOf<T>();
    return value % n;
  }

  PhiloxPosition position_;  // of the next block
  PhiloxBlock block_{};
  size_t used_ = 4;  // words of block_
};

}  // namespace millstream::kernels

#endif  // MILLSTREAM_KERNELS_RANDOM_PHILOX_WORDS_H_
