#include "kernels/random/philox.h"

#include <cstring>

#include "kernels/simd/vector.h"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace millstream::kernels {
namespace {

// The constants of the paper: two multipliers, and what the key grows by in every round.
constexpr uint32_t kMultiplier0 = 0xD2511F53;
constexpr uint32_t kMultiplier1 = 0xCD9E8D57;
constexpr uint32_t kKeyStep0 = 0x9E3779B9;
constexpr uint32_t kKeyStep1 = 0xBB67AE85;
constexpr int kRounds = 10;

uint32_t Low(uint64_t value) { return static_cast<uint32_t>(value); }
uint32_t High(uint64_t value) { return static_cast<uint32_t>(value >> 32); }

// 64-bit lanes. Lane i holds one 32-bit word of block i in its low half; the high half is of no
// meaning between rounds.
template <int kBytes>
using Words = Vector<uint64_t, kBytes>;
template <int kBytes>
constexpr int kBlocks = kLanes<uint64_t, kBytes>;

// The 64-bit products of the lanes' low halves. Spelled out, because GCC multiplies 64-bit lanes in
// full even where their high halves are known to be zero. Vectors come by reference: how they are
// passed by value depends on a function's target.
#if defined(__x86_64__)
inline void MultiplyLow(const Words<16>& a, const Words<16>& b, Words<16>* product) {
  *product = (Words<16>)_mm_mul_epu32((__m128i)a, (__m128i)b);
}
__attribute__((target("avx2"))) inline void MultiplyLow(const Words<32>& a, const Words<32>& b,
                                                        Words<32>* product) {
  *product = (Words<32>)_mm256_mul_epu32((__m256i)a, (__m256i)b);
}
__attribute__((target("avx2,fma,avx512f"))) inline void MultiplyLow(const Words<64>& a,
                                                                    const Words<64>& b,
                                                                    Words<64>* product) {
  *product = (Words<64>)_mm512_mul_epu32((__m512i)a, (__m512i)b);
}
#else
template <typename V>
void MultiplyLow(const V& a, const V& b, V* product) {
  const V low_half = V{} + 0xFFFFFFFFu;
  *product = (a & low_half) * (b & low_half);
}
#endif

// The counters or results of kBlocks blocks, word by word.
template <int kBytes>
struct Lanes {
  Words<kBytes> word[4];
};

// The counters from `position` on. REQUIRES: counter[0] does not overflow on the way.
template <int kBytes>
Lanes<kBytes> Counters(const PhiloxPosition& position) {
  using V = Words<kBytes>;
  V low = V{} + position.counter[0];
  for (int i = 0; i < kBlocks<kBytes>; ++i) low[i] += i;
  return {{low, low >> 32, V{} + Low(position.counter[1]), V{} + High(position.counter[1])}};
}

// Several registers of each word are worked on at once, so that multiplications overlap.
constexpr int kGroups = 2;

template <int kBytes>
void Scramble(uint64_t key, Lanes<kBytes> (&groups)[kGroups]) {
  using V = Words<kBytes>;
  const V multiplier0 = V{} + kMultiplier0;
  const V multiplier1 = V{} + kMultiplier1;
  uint32_t key0 = Low(key);
  uint32_t key1 = High(key);
  for (int round = 0; round < kRounds; ++round) {
    for (Lanes<kBytes>& lanes : groups) {
      V product0;
      V product1;
      MultiplyLow(multiplier0, lanes.word[0], &product0);
      MultiplyLow(multiplier1, lanes.word[2], &product1);
      lanes.word[0] = (product1 >> 32) ^ lanes.word[1] ^ key0;
      lanes.word[1] = product1;
      lanes.word[2] = (product0 >> 32) ^ lanes.word[3] ^ key1;
      lanes.word[3] = product0;
    }
    key0 += kKeyStep0;
    key1 += kKeyStep1;
  }
}

template <int kBytes>
void StoreBlocks(const Lanes<kBytes>& lanes, uint32_t* output) {
  using V = Words<kBytes>;
  const V low_half = V{} + 0xFFFFFFFFu;
  const V front = (lanes.word[0] & low_half) | (lanes.word[1] << 32);
  const V back = (lanes.word[2] & low_half) | (lanes.word[3] << 32);
  for (int i = 0; i < kBlocks<kBytes>; ++i) {
    const uint64_t block[2] = {front[i], back[i]};
    std::memcpy(output + 4 * i, block, sizeof(block));
  }
}

// Writes as many of the blocks as fill vectors; returns how many.
template <int kBytes>
struct FillGroups {
  static uint64_t Run(const PhiloxPosition& position, uint64_t count, uint32_t* output) {
    constexpr uint64_t kAtOnce = kGroups * kBlocks<kBytes>;
    uint64_t done = 0;
    for (; done + kAtOnce <= count; done += kAtOnce) {
      Lanes<kBytes> groups[kGroups];
      for (int i = 0; i < kGroups; ++i) {
        groups[i] = Counters<kBytes>(position.Advanced(done + i * kBlocks<kBytes>));
      }
      Scramble(position.key, groups);
      for (int i = 0; i < kGroups; ++i) {
        StoreBlocks(groups[i], output + 4 * (done + i * kBlocks<kBytes>));
      }
    }
    return done;
  }
};

}  // namespace

PhiloxBlock PhiloxAt(const PhiloxPosition& position) {
  PhiloxBlock block{Low(position.counter[0]), High(position.counter[0]), Low(position.counter[1]),
                    High(position.counter[1])};
  uint32_t key0 = Low(position.key);
  uint32_t key1 = High(position.key);
  for (int round = 0; round < kRounds; ++round) {
    const uint64_t product0 = uint64_t{kMultiplier0} * block[0];
    const uint64_t product1 = uint64_t{kMultiplier1} * block[2];
    block = {High(product1) ^ block[1] ^ key0, Low(product1), High(product0) ^ block[3] ^ key1,
             Low(product0)};
    key0 += kKeyStep0;
    key1 += kKeyStep1;
  }
  return block;
}

void PhiloxFill(const PhiloxPosition& position, uint64_t count, uint32_t* output) {
  const bool overflows = position.counter[0] + count < count;
  uint64_t done = overflows ? 0 : RunVectorLoop<FillGroups>(position, count, output);
  for (; done < count; ++done) {
    const PhiloxBlock block = PhiloxAt(position.Advanced(done));
    for (int word = 0; word < 4; ++word) output[4 * done + word] = block[word];
  }
}

}  // namespace millstream::kernels
