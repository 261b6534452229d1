#include "kernels/strings/hashes.h"

#include <cstring>
#include <utility>

namespace millstream::kernels {
namespace {

uint64_t Word(const char* at) {
  uint64_t word;
  std::memcpy(&word, at, sizeof(word));
  return word;
}
uint64_t HalfWord(const char* at) {
  uint32_t word;
  std::memcpy(&word, at, sizeof(word));
  return word;
}
uint64_t Byte(char c) { return static_cast<unsigned char>(c); }
uint64_t Right(uint64_t x, int by) { return x >> by | x << (64 - by); }
uint64_t Left(uint64_t x, int by) { return x << by | x >> (64 - by); }

// ---- FarmHash ----

constexpr uint64_t kFarm0 = 0xc3a5c85c97cb3127;
constexpr uint64_t kFarm1 = 0xb492b66fbe98f273;
constexpr uint64_t kFarm2 = 0x9ae16a3b2f90404f;

uint64_t ShiftMix(uint64_t x) { return x ^ x >> 47; }

uint64_t MixPair(uint64_t x, uint64_t y, uint64_t factor) {
  const uint64_t mixed = ShiftMix((x ^ y) * factor);
  return ShiftMix((y ^ mixed) * factor) * factor;
}

uint64_t FarmUpTo16(const char* s, uint64_t n) {
  const uint64_t factor = kFarm2 + n * 2;
  if (n >= 8) {
    const uint64_t a = Word(s) + kFarm2;
    const uint64_t b = Word(s + n - 8);
    return MixPair(Right(b, 37) * factor + a, (Right(a, 25) + b) * factor, factor);
  }
  if (n >= 4) return MixPair(n + (HalfWord(s) << 3), HalfWord(s + n - 4), factor);
  if (n == 0) return kFarm2;
  const uint64_t y = Byte(s[0]) + (Byte(s[n >> 1]) << 8);
  const uint64_t z = n + (Byte(s[n - 1]) << 2);
  return ShiftMix(y * kFarm2 ^ z * kFarm0) * kFarm2;
}

uint64_t FarmUpTo32(const char* s, uint64_t n) {
  const uint64_t factor = kFarm2 + n * 2;
  const uint64_t a = Word(s) * kFarm1;
  const uint64_t b = Word(s + 8);
  const uint64_t c = Word(s + n - 8) * factor;
  const uint64_t d = Word(s + n - 16) * kFarm2;
  return MixPair(Right(a + b, 43) + Right(c, 30) + d, a + Right(b + kFarm2, 18) + c, factor);
}

uint64_t FarmUpTo64(const char* s, uint64_t n) {
  const uint64_t factor = kFarm2 + n * 2;
  const uint64_t a = Word(s) * kFarm2;
  const uint64_t b = Word(s + 8);
  const uint64_t c = Word(s + n - 8) * factor;
  const uint64_t d = Word(s + n - 16) * kFarm2;
  const uint64_t y = Right(a + b, 43) + Right(c, 30) + d;
  const uint64_t z = MixPair(y, a + Right(b + kFarm2, 18) + c, factor);
  const uint64_t e = Word(s + 16) * factor;
  const uint64_t f = Word(s + 24);
  const uint64_t g = (y + Word(s + n - 32)) * factor;
  const uint64_t h = (z + Word(s + n - 24)) * factor;
  return MixPair(Right(e + f, 43) + Right(g, 30) + h, e + Right(f + a, 18) + g, factor);
}

// 32 bytes and two numbers, mixed.
using Pair = std::pair<uint64_t, uint64_t>;
Pair MixWords(const char* s, uint64_t a, uint64_t b) {
  a += Word(s);
  b = Right(b + a + Word(s + 24), 21);
  const uint64_t before = a;
  a += Word(s + 8);
  a += Word(s + 16);
  b += Right(a, 44);
  return {a + Word(s + 24), b + before};
}

struct FarmState {
  uint64_t x = 0;
  uint64_t y = 0;
  uint64_t z = 0;
  Pair v;
  Pair w;

  // Mixes 64 bytes. The last ones are mixed with other factors.
  void Mix(const char* s, uint64_t factor, uint64_t weight) {
    x = Right(x + y + v.first + Word(s + 8), 37) * factor;
    y = Right(y + v.second + Word(s + 48), 42) * factor;
    x ^= w.second * weight;
    y += v.first * weight + Word(s + 40);
    z = Right(z + w.first, 33) * factor;
    v = MixWords(s, v.second * factor, x + w.first);
    w = MixWords(s + 32, z + w.second, y + Word(s + 16));
    std::swap(z, x);
  }
};

uint64_t FarmAbove64(const char* s, uint64_t n) {
  constexpr uint64_t kSeed = 81;
  FarmState state;
  state.y = kSeed * kFarm1 + 113;
  state.z = ShiftMix(state.y * kFarm2 + 113) * kFarm2;
  state.x = kSeed * kFarm2 + Word(s);
  const char* const last = s + n - 64;
  const char* const end = s + (n - 1) / 64 * 64;
  for (; s != end; s += 64) state.Mix(s, kFarm1, 1);
  const uint64_t factor = kFarm1 + ((state.z & 0xff) << 1);
  state.w.first += (n - 1) & 63;
  state.v.first += state.w.first;
  state.w.first += state.v.first;
  state.Mix(last, factor, 9);
  return MixPair(
      MixPair(state.v.first, state.w.first, factor) + ShiftMix(state.y) * kFarm0 + state.z,
      MixPair(state.v.second, state.w.second, factor) + state.x, factor);
}

// ---- SipHash ----

struct SipState {
  uint64_t v0, v1, v2, v3;

  void Round() {
    v0 += v1;
    v1 = Left(v1, 13) ^ v0;
    v0 = Left(v0, 32);
    v2 += v3;
    v3 = Left(v3, 16) ^ v2;
    v0 += v3;
    v3 = Left(v3, 21) ^ v0;
    v2 += v1;
    v1 = Left(v1, 17) ^ v2;
    v2 = Left(v2, 32);
  }
  void Add(uint64_t word) {
    v3 ^= word;
    Round();
    Round();
    v0 ^= word;
  }
};

}  // namespace

uint64_t FarmFingerprint64(std::string_view text) {
  const char* const s = text.data();
  const uint64_t n = text.size();
  if (n <= 16) return FarmUpTo16(s, n);
  if (n <= 32) return FarmUpTo32(s, n);
  return n <= 64 ? FarmUpTo64(s, n) : FarmAbove64(s, n);
}

uint64_t MurmurHash64(std::string_view text) {
  constexpr uint64_t kSeed = 0xDECAFCAFFE;
  constexpr uint64_t kFactor = 0xc6a4a7935bd1e995;
  const auto shifted = [](uint64_t x) { return x ^ x >> 47; };
  uint64_t hash = kSeed ^ text.size() * kFactor;
  for (; text.size() >= 8; text.remove_prefix(8)) {
    hash = (hash ^ shifted(Word(text.data()) * kFactor) * kFactor) * kFactor;
  }
  if (!text.empty()) {
    for (size_t i = 0; i < text.size(); ++i) hash ^= Byte(text[i]) << (8 * i);
    hash *= kFactor;
  }
  return shifted(shifted(hash) * kFactor);
}

uint64_t SipHash(uint64_t key0, uint64_t key1, std::string_view text) {
  SipState state = {key0 ^ 0x736f6d6570736575, key1 ^ 0x646f72616e646f6d, key0 ^ 0x6c7967656e657261,
                    key1 ^ 0x7465646279746573};
  uint64_t last = static_cast<uint64_t>(text.size()) << 56;
  for (; text.size() >= 8; text.remove_prefix(8)) state.Add(Word(text.data()));
  for (size_t i = 0; i < text.size(); ++i) last |= Byte(text[i]) << (8 * i);
  state.Add(last);
  state.v2 ^= 0xff;
  for (int i = 0; i < 4; ++i) state.Round();
  return state.v0 ^ state.v1 ^ state.v2 ^ state.v3;
}

}  // namespace millstream::kernels
