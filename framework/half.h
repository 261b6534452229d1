// The 16-bit floating-point formats as float, for printing and conversion of single values.
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

}  // namespace millstream

#endif  // MILLSTREAM_FRAMEWORK_HALF_H_
