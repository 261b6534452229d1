// How numbers of a distribution are made from Philox's 32-bit words. Streams are shared with other
// programs and devices, so each formula, its order of operations included, is part of the contract.
#ifndef MILLSTREAM_KERNELS_RANDOM_DISTRIBUTIONS_H_
#define MILLSTREAM_KERNELS_RANDOM_DISTRIBUTIONS_H_

#include <cmath>
#include <cstdint>
#include <cstring>
#include <type_traits>

#include "kernels/common/narrow_float.h"
#include "kernels/random/philox.h"

namespace millstream::kernels {

// Uniform in [0, 1), from the low 23 bits: they become the mantissa of a number in [1, 2).
inline float UniformFloat(uint32_t word) {
  const uint32_t bits = (word & 0x7FFFFFu) | 0x3F800000u;
  float value;
  std::memcpy(&value, &bits, sizeof(value));
  return value - 1.0f;
}

// Uniform in [0, 1), from 20 bits of the first word, in front, and all of the second.
inline double UniformDouble(uint32_t first, uint32_t second) {
  const uint64_t mantissa = (uint64_t{first & 0xFFFFFu} << 32) | second;
  const uint64_t bits = mantissa | (uint64_t{0x3FF} << 52);
  double value;
  std::memcpy(&value, &bits, sizeof(value));
  return value - 1.0;
}

// Uniform in [0, 1), from as many low bits as the fraction has; exact.
inline Float16 UniformFloat16(uint32_t word) {
  return Float16(Float16::FromBits(static_cast<uint16_t>(0x3C00u | (word & 0x3FFu))) - 1.0f);
}
inline BFloat16 UniformBFloat16(uint32_t word) {
  return BFloat16(BFloat16::FromBits(static_cast<uint16_t>(0x3F80u | (word & 0x7Fu))) - 1.0f);
}

inline constexpr double kTwoPi = 6.283185307179586476925286766559;
// Uniform numbers below it are raised to it before their logarithm is taken.
inline constexpr double kSmallestUniform = 1e-7;

// Box and Muller, "A Note on the Generation of Random Normal Deviates" (1958): two independent
// standard normal numbers from two uniform ones.
inline void BoxMuller(float uniform0, float uniform1, float normal[2]) {
  const float floor = static_cast<float>(kSmallestUniform);
  const float angle = static_cast<float>(kTwoPi * static_cast<double>(uniform1));
  const float radius = std::sqrt(-2.0f * std::log(uniform0 < floor ? floor : uniform0));
  normal[0] = std::sin(angle) * radius;
  normal[1] = std::cos(angle) * radius;
}
inline void BoxMuller(double uniform0, double uniform1, double normal[2]) {
  const double angle = kTwoPi * uniform1;
  const double radius =
      std::sqrt(-2.0 * std::log(uniform0 < kSmallestUniform ? kSmallestUniform : uniform0));
  normal[0] = std::sin(angle) * radius;
  normal[1] = std::cos(angle) * radius;
}

// Words that one uniform number of type T takes.
template <typename T>
inline constexpr int kWordsPerUniform = sizeof(T) > sizeof(uint32_t) ? 2 : 1;

template <typename T>
T UniformFrom(const uint32_t* words) {
  if constexpr (std::is_same_v<T, Float16>) {
    return UniformFloat16(words[0]);
  } else if constexpr (std::is_same_v<T, BFloat16>) {
    return UniformBFloat16(words[0]);
  } else if constexpr (std::is_same_v<T, float>) {
    return UniformFloat(words[0]);
  } else {
    return UniformDouble(words[0], words[1]);
  }
}

// Two normal numbers for type T, not yet rounded to it, from the words of two uniform ones.
template <typename T>
void NormalPairFrom(const uint32_t* words, ComputeTypeOf<T> normal[2]) {
  using Number = ComputeTypeOf<T>;
  BoxMuller(UniformFrom<Number>(words), UniformFrom<Number>(words + kWordsPerUniform<T>), normal);
}

// The samplers turn `count` numbers' worth of words into `output`. Each block gives a whole number
// of outputs; `words` holds whole blocks.

template <typename T>
struct UniformSampler {
  static constexpr int64_t kOutputsPerBlock = 4 / kWordsPerUniform<T>;
  static constexpr uint64_t kCostPerOutput = 2 * kWordsPerUniform<T>;
  void operator()(const uint32_t* words, int64_t count, T* output) const {
    for (int64_t i = 0; i < count; ++i) output[i] = UniformFrom<T>(words + kWordsPerUniform<T> * i);
  }
};

template <typename T>
struct NormalSampler {
  static constexpr int64_t kOutputsPerBlock = 4 / kWordsPerUniform<T>;
  static constexpr uint64_t kCostPerOutput = 16;
  void operator()(const uint32_t* words, int64_t count, T* output) const {
    for (int64_t i = 0; i < count; i += 2) {
      ComputeTypeOf<T> normal[2];
      NormalPairFrom<T>(words + kWordsPerUniform<T> * i, normal);
      output[i] = T(normal[0]);
      if (i + 1 < count) output[i + 1] = T(normal[1]);
    }
  }
};

// Whole numbers in [low, low + range), by remainder. REQUIRES: range > 0.
template <typename T>
struct IntegerSampler {
  static constexpr int64_t kOutputsPerBlock = 16 / sizeof(T);
  static constexpr uint64_t kCostPerOutput = 4;
  using Unsigned = std::make_unsigned_t<T>;
  Unsigned low;
  Unsigned range;
  void operator()(const uint32_t* words, int64_t count, T* output) const {
    for (int64_t i = 0; i < count; ++i) {
      Unsigned bits;
      std::memcpy(&bits, words + i * kWordsPerUniform<T>, sizeof(bits));
      output[i] = static_cast<T>(low + bits % range);
    }
  }
};

// Normal numbers of magnitude below 2 (before they are rounded to T), by rejection: words from
// `position` on are used up until `count` numbers were kept. Needs a stretch of its own of the
// stream, since nobody knows how many words it takes.
template <typename T>
void TruncatedNormals(PhiloxPosition position, int64_t count, T* output) {
  using Number = ComputeTypeOf<T>;
  constexpr Number kLimit = 2;
  constexpr int kWordsPerPair = 2 * kWordsPerUniform<T>;
  int64_t kept = 0;
  for (;; position = position.Advanced(1)) {
    const PhiloxBlock block = PhiloxAt(position);
    for (int word = 0; word < 4; word += kWordsPerPair) {
      Number normal[2];
      NormalPairFrom<T>(block.data() + word, normal);
      for (Number value : normal) {
        if (!(std::abs(value) < kLimit)) continue;
        output[kept++] = T(value);
        if (kept == count) return;
      }
    }
  }
}

}  // namespace millstream::kernels

#endif  // MILLSTREAM_KERNELS_RANDOM_DISTRIBUTIONS_H_
