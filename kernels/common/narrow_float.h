// The 16-bit floating-point numbers as element types of kernels.
//
//   Float16    IEEE 754-2008 binary16: 1 sign bit, 5 exponent bits (bias 15), 10 fraction bits
//   BFloat16   the upper half of a float: 1 sign bit, 8 exponent bits, 7 fraction bits
//
// Both are plain 16-bit patterns. One becomes a float by itself, exactly, so that arithmetic and
// comparisons on them are float's; a float becomes one only where that is written, T(x), rounded to
// the nearest (ties to even), with infinity for what is too large. So an expression says where it
// rounds: T(x + y), or T(x * y + z) with one rounding. A NaN stays one and keeps its sign and what
// fits of its payload, quiet. Subnormal numbers are kept, also in threads that flush those of
// float.
//
// Loops over many elements should convert a block at a time by WidenElements and NarrowElements and
// work on the floats: those are the fast way, and the float32 code can be shared.
#ifndef MILLSTREAM_KERNELS_COMMON_NARROW_FLOAT_H_
#define MILLSTREAM_KERNELS_COMMON_NARROW_FLOAT_H_

#include <cstdint>
#include <cstring>
#include <limits>
#include <type_traits>

#include "framework/plugin/plugin.hpp"

namespace millstream::kernels {

namespace narrow_float {

inline uint32_t BitsOfFloat(float x) {
  uint32_t bits;
  std::memcpy(&bits, &x, sizeof(bits));
  return bits;
}
inline float FloatOfBits(uint32_t bits) {
  float x;
  std::memcpy(&x, &bits, sizeof(x));
  return x;
}

inline constexpr uint32_t kFloatInfinity = 0x7f800000;

// Written without branches, and with no subnormal float on the way, so that the compiler vectorizes
// loops and flushing modes do not matter.
inline float Float16ToFloat(uint16_t half) {
  const uint32_t sign = static_cast<uint32_t>(half & 0x8000) << 16;
  // Exponent and fraction at float's places; the exponent's bias is still 15.
  const uint32_t magnitude = static_cast<uint32_t>(half & 0x7fff) << 13;
  constexpr uint32_t kRebias = (127 - 15) << 23;
  const uint32_t normal = magnitude + kRebias;
  // A subnormal number is fraction * 2^-24: with the smallest normal exponent it reads as
  // 2^-14 + fraction * 2^-24.
  constexpr uint32_t kSmallestNormal = (127 - 14) << 23;
  const uint32_t subnormal =
      BitsOfFloat(FloatOfBits(magnitude + kSmallestNormal) - FloatOfBits(kSmallestNormal));
  constexpr uint32_t kHalfInfinity = 0x7c00 << 13;
  constexpr uint32_t kHalfSmallestNormal = 0x0400 << 13;
  uint32_t bits = magnitude < kHalfSmallestNormal ? subnormal : normal;
  bits = magnitude >= kHalfInfinity ? magnitude | kFloatInfinity : bits;
  return FloatOfBits(sign | bits);
}

inline uint16_t Float16FromFloat(float x) {
  const uint32_t bits = BitsOfFloat(x);
  const uint32_t sign = (bits >> 16) & 0x8000;
  const uint32_t magnitude = bits & 0x7fffffff;
  // Half of the last kept bit, less one when the number would be left odd, carries upwards; the
  // carry also makes infinity of what rounds to 2^16.
  constexpr uint32_t kRebias = static_cast<uint32_t>(127 - 15) << 23;
  const uint32_t normal = (magnitude - kRebias + 0xfff + ((magnitude >> 13) & 1)) >> 13;
  // At 0.5 the last bit of a float counts 2^-24, the smallest subnormal number: the addition
  // rounds.
  constexpr uint32_t kHalf = 126 << 23;
  const uint32_t subnormal = BitsOfFloat(FloatOfBits(magnitude) + FloatOfBits(kHalf)) - kHalf;
  constexpr uint32_t kSmallestNormal = (127 - 14) << 23;
  constexpr uint32_t kTooLarge = (127 + 16) << 23;
  // All patterns are below 2^31: signed comparisons, which SSE2 has, will do.
  const int32_t order = static_cast<int32_t>(magnitude);
  uint32_t half = order < static_cast<int32_t>(kSmallestNormal) ? subnormal : normal;
  half = order >= static_cast<int32_t>(kTooLarge) ? 0x7c00 : half;
  half = order > static_cast<int32_t>(kFloatInfinity) ? 0x7e00 | ((magnitude >> 13) & 0x3ff) : half;
  return static_cast<uint16_t>(sign | half);
}

inline float BFloat16ToFloat(uint16_t brain) {
  return FloatOfBits(static_cast<uint32_t>(brain) << 16);
}

inline uint16_t BFloat16FromFloat(float x) {
  const uint32_t bits = BitsOfFloat(x);
  const uint32_t rounded = (bits + 0x7fff + ((bits >> 16) & 1)) >> 16;
  const bool nan = static_cast<int32_t>(bits & 0x7fffffff) > static_cast<int32_t>(kFloatInfinity);
  return static_cast<uint16_t>(nan ? (bits >> 16) | 0x40 : rounded);
}

}  // namespace narrow_float

struct Float16 {
  static constexpr MS_DType kDType = MS_FLOAT16;

  Float16() = default;
  explicit Float16(float x) : bits(narrow_float::Float16FromFloat(x)) {}
  static constexpr Float16 FromBits(uint16_t bits) { return Float16(bits, 0); }
  operator float() const {  // NOLINT(google-explicit-constructor)
    return narrow_float::Float16ToFloat(bits);
  }

  uint16_t bits;

 private:
  constexpr Float16(uint16_t pattern, int) : bits(pattern) {}
};

struct BFloat16 {
  static constexpr MS_DType kDType = MS_BFLOAT16;

  BFloat16() = default;
  explicit BFloat16(float x) : bits(narrow_float::BFloat16FromFloat(x)) {}
  static constexpr BFloat16 FromBits(uint16_t bits) { return BFloat16(bits, 0); }
  operator float() const {  // NOLINT(google-explicit-constructor)
    return narrow_float::BFloat16ToFloat(bits);
  }

  uint16_t bits;

 private:
  constexpr BFloat16(uint16_t pattern, int) : bits(pattern) {}
};

static_assert(sizeof(Float16) == 2 && std::is_trivial_v<Float16>, "an element of a tensor");
static_assert(sizeof(BFloat16) == 2 && std::is_trivial_v<BFloat16>, "an element of a tensor");

template <typename T>
inline constexpr bool kIsNarrowFloat = std::is_same_v<T, Float16> || std::is_same_v<T, BFloat16>;

// Real numbers of any width.
template <typename T>
inline constexpr bool kIsReal = std::is_floating_point_v<T> || kIsNarrowFloat<T>;

// The type that elements of T are computed with: float for the narrow ones, else T.
template <typename T>
using ComputeTypeOf = std::conditional_t<kIsNarrowFloat<T>, float, T>;

// Converts n elements; exact. The arrays do not overlap.
void WidenElements(const Float16* from, int64_t n, float* to);
void WidenElements(const BFloat16* from, int64_t n, float* to);

// Converts n elements, each rounded to the nearest. The arrays do not overlap.
void NarrowElements(const float* from, int64_t n, Float16* to);
void NarrowElements(const float* from, int64_t n, BFloat16* to);

}  // namespace millstream::kernels

// What reductions and pooling start from. An element type needs no more of numeric_limits.
template <>
class std::numeric_limits<millstream::kernels::Float16> {
  using Type = millstream::kernels::Float16;

 public:
  static constexpr bool is_specialized = true;
  static constexpr bool is_signed = true;
  static constexpr bool is_integer = false;
  static constexpr bool has_infinity = true;
  static constexpr bool has_quiet_NaN = true;
  static constexpr int digits = 11;
  static constexpr Type min() { return Type::FromBits(0x0400); }  // 2^-14
  static constexpr Type max() { return Type::FromBits(0x7bff); }  // 65504
  static constexpr Type lowest() { return Type::FromBits(0xfbff); }
  static constexpr Type epsilon() { return Type::FromBits(0x1400); }  // 2^-10
  static constexpr Type infinity() { return Type::FromBits(0x7c00); }
  static constexpr Type quiet_NaN() { return Type::FromBits(0x7e00); }
};

template <>
class std::numeric_limits<millstream::kernels::BFloat16> {
  using Type = millstream::kernels::BFloat16;

 public:
  static constexpr bool is_specialized = true;
  static constexpr bool is_signed = true;
  static constexpr bool is_integer = false;
  static constexpr bool has_infinity = true;
  static constexpr bool has_quiet_NaN = true;
  static constexpr int digits = 8;
  static constexpr Type min() { return Type::FromBits(0x0080); }  // 2^-126
  static constexpr Type max() { return Type::FromBits(0x7f7f); }  // (2 - 2^-7) 2^127
  static constexpr Type lowest() { return Type::FromBits(0xff7f); }
  static constexpr Type epsilon() { return Type::FromBits(0x3c00); }  // 2^-7
  static constexpr Type infinity() { return Type::FromBits(0x7f80); }
  static constexpr Type quiet_NaN() { return Type::FromBits(0x7fc0); }
};

#endif  // MILLSTREAM_KERNELS_COMMON_NARROW_FLOAT_H_
