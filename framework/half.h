// The 16-bit floating-point formats and float, for printing and conversion of single values.
#ifndef MILLSTREAM_FRAMEWORK_HALF_H_
#define MILLSTREAM_FRAMEWORK_HALF_H_

#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>

namespace millstream {

// IEEE 754-2008 binary16: 1 sign bit, 5 exponent bits (bias 15), 10 fraction bits. Exact.
inline float HalfToFloat(uint16_t bits) {
  const int exponent = (bits >> 10) & 0x1f;
  const int fraction = bits & 0x3ff;
  float magnitude;
  if (exponent == 0x1f) {
    magnitude = fraction == 0 ? std::numeric_limits<float>::infinity()
                              : std::numeric_limits<float>::quiet_NaN();
  } else if (exponent == 0) {
    magnitude = std::ldexp(static_cast<float>(fraction), -24);
  } else {
    magnitude = std::ldexp(static_cast<float>(fraction + 0x400), exponent - 25);
  }
  return (bits & 0x8000) != 0 ? -magnitude : magnitude;
}

// bfloat16: the upper half of a float's bits. Exact.
inline float BFloat16ToFloat(uint16_t bits) {
  const uint32_t wide = static_cast<uint32_t>(bits) << 16;
  float value;
  std::memcpy(&value, &wide, sizeof(value));
  return value;
}

// The nearest binary16, ties to even; infinity for numbers that are too large. NaN stays NaN.
inline uint16_t FloatToHalf(float value) {
  const uint16_t sign = std::signbit(value) ? 0x8000 : 0;
  const float magnitude = std::fabs(value);
  int bits;
  if (std::isnan(value)) {
    bits = 0x7e00;
  } else if (magnitude >= 65520.0f) {  // half way between the largest number and 2^16
    bits = 0x7c00;
  } else if (magnitude < 0x1p-14f) {
    bits = static_cast<int>(std::nearbyint(std::ldexp(magnitude, 24)));
  } else {
    int exponent;
    const float fraction = std::frexp(magnitude, &exponent);  // in [1/2, 1)
    // A fraction that rounds up to 1 carries into the exponent.
    bits = ((exponent + 14) << 10) + static_cast<int>(std::nearbyint(fraction * 2048)) - 1024;
  }
  return static_cast<uint16_t>(sign | bits);
}

// The nearest bfloat16, ties to even. NaN stays NaN.
inline uint16_t FloatToBFloat16(float value) {
  uint32_t bits;
  std::memcpy(&bits, &value, sizeof(bits));
  if (std::isnan(value)) return static_cast<uint16_t>((bits >> 16) | 0x40);
  return static_cast<uint16_t>((bits + 0x7fff + ((bits >> 16) & 1)) >> 16);
}

}  // namespace millstream

#endif  // MILLSTREAM_FRAMEWORK_HALF_H_
