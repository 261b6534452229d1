#include "kernels/random/philox.h"

#include <cstring>

#if defined(__SSE2__)
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

// As many 64-bit lanes as a register has. Lane i holds one 32-bit word of block i in its low half;
// the high half is of no meaning between rounds.
#if defined(__AVX512F__)
constexpr int kVectorBytes = 64;
#elif defined(__AVX2__)
constexpr int kVectorBytes = 32;
#else
constexpr int kVectorBytes = 16;
#endif
typedef uint64_t Vector __attribute__((vector_size(kVectorBytes)));
constexpr int kLanes = kVectorBytes / sizeof(uint64_t);

// The 64-bit products of the lanes' low halves. Spelled out, because GCC multiplies 64-bit lanes in
// full even where their high halves are known to be zero.
Vector MultiplyLow(Vector a, Vector b) {
#if defined(__AVX512F__)
  return reinterpret_cast<Vector>(
      _mm512_mul_epu32(reinterpret_cast<__m512i>(a), reinterpret_cast<__m512i>(b)));
#elif defined(__AVX2__)
  return reinterpret_cast<Vector>(
      _mm256_mul_epu32(reinterpret_cast<__m256i>(a), reinterpret_cast<__m256i>(b)));
#elif defined(__SSE2__)
  return reinterpret_cast<Vector>(
      _mm_mul_epu32(reinterpret_cast<__m128i>(a), reinterpret_cast<__m128i>(b)));
#else
  const Vector low_half = Vector{} + 0xFFFFFFFFu;
  return (a & low_half) * (b & low_half);
#endif
}

// The counters or results of kLanes blocks, word by word.
struct Lanes {
  Vector word[4];
};

// The counters from `position` on. REQUIRES: counter[0] does not overflow on the way.
Lanes Counters(const PhiloxPosition& position) {
  Vector low = Vector{} + position.counter[0];
  for (int i = 0; i < kLanes; ++i) low[i] += i;
  return {
      {low, low >> 32, Vector{} + Low(position.counter[1]), Vector{} + High(position.counter[1])}};
}

// Several registers of each word are worked on at once, so that multiplications overlap.
constexpr int kGroups = 2;
constexpr uint64_t kBlocksAtOnce = kGroups * kLanes;

void Scramble(uint64_t key, Lanes (&groups)[kGroups]) {
  const Vector multiplier0 = Vector{} + kMultiplier0;
  const Vector multiplier1 = Vector{} + kMultiplier1;
  uint32_t key0 = Low(key);
  uint32_t key1 = High(key);
  for (int round = 0; round < kRounds; ++round) {
    for (Lanes& lanes : groups) {
      const Vector product0 = MultiplyLow(multiplier0, lanes.word[0]);
      const Vector product1 = MultiplyLow(multiplier1, lanes.word[2]);
      lanes.word[0] = (product1 >> 32) ^ lanes.word[1] ^ key0;
      lanes.word[1] = product1;
      lanes.word[2] = (product0 >> 32) ^ lanes.word[3] ^ key1;
      lanes.word[3] = product0;
    }
    key0 += kKeyStep0;
    key1 += kKeyStep1;
  }
}

void Store(const Lanes& lanes, uint32_t* output) {
  const Vector low_half = Vector{} + 0xFFFFFFFFu;
  const Vector front = (lanes.word[0] & low_half) | (lanes.word[1] << 32);
  const Vector back = (lanes.word[2] & low_half) | (lanes.word[3] << 32);
  for (int i = 0; i < kLanes; ++i) {
    const uint64_t block[2] = {front[i], back[i]};
    std::memcpy(output + 4 * i, block, sizeof(block));
  }
}

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
  uint64_t done = 0;
  const bool overflows = position.counter[0] + count < count;
  for (; !overflows && done + kBlocksAtOnce <= count; done += kBlocksAtOnce) {
    Lanes groups[kGroups];
    for (int i = 0; i < kGroups; ++i) groups[i] = Counters(position.Advanced(done + i * kLanes));
    Scramble(position.key, groups);
    for (int i = 0; i < kGroups; ++i) Store(groups[i], output + 4 * (done + i * kLanes));
  }
  for (; done < count; ++done) {
    const PhiloxBlock block = PhiloxAt(position.Advanced(done));
    for (int word = 0; word < 4; ++word) output[4 * done + word] = block[word];
  }
}

}  // namespace millstream::kernels
