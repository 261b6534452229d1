// exp, log, tanh, erf, sigmoid and floor written so that the compiler vectorizes loops over them.
//
// The float32 versions are branch free: range reduction and the polynomials of S. Moshier's Cephes
// library (expf, logf; netlib.org/cephes), but for tanh's and erf's, which are our own. They are
// right to about 2 units in the last place, infinities, NaN and subnormal numbers included, for
// round-to-nearest. The float64 versions are the C library's. Loops need -O3 -fno-math-errno
// -fno-trapping-math, which change no results.
#ifndef MILLSTREAM_KERNELS_COMMON_VECTOR_MATH_H_
#define MILLSTREAM_KERNELS_COMMON_VECTOR_MATH_H_

#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>

namespace millstream::kernels {

inline int32_t BitsOf(float x) {
  int32_t bits;
  std::memcpy(&bits, &x, sizeof(bits));
  return bits;
}
inline float FromBits(int32_t bits) {
  float x;
  std::memcpy(&x, &bits, sizeof(x));
  return x;
}

// Shifts, sums and differences of bits wrap: the arguments that they make no sense for (NaN,
// negative numbers) are sorted out afterwards.
inline int32_t ShiftBitsLeft(int32_t bits, int by) {
  return static_cast<int32_t>(static_cast<uint32_t>(bits) << by);
}
inline int32_t BitDifference(int32_t a, int32_t b) {
  return static_cast<int32_t>(static_cast<uint32_t>(a) - static_cast<uint32_t>(b));
}
inline int32_t BitSum(int32_t a, int32_t b) {
  return static_cast<int32_t>(static_cast<uint32_t>(a) + static_cast<uint32_t>(b));
}

// 2^n for -126 <= n <= 127.
inline float PowerOfTwo(int32_t n) { return FromBits(ShiftBitsLeft(n + 127, 23)); }

// ln 2 in two parts, the first of few bits, so that small multiples of it are exact.
inline constexpr float kLn2High = 0.693359375f;
inline constexpr float kLn2Low = -2.12194440e-4f;

// 1.5 * 2^23: the unit in the last place is 1 there, so that adding it rounds to an integer, which
// then stands in the low bits.
inline constexpr float kRounder = 12582912.0f;

// For x = n ln 2 + r with |r| <= ln(2)/2: gives e^r, and n as the bits of *shifted less those of
// kRounder. V is float or a vector of floats.
template <typename V>
inline V ExpOfRemainder(V x, V* shifted) {
  *shifted = x * 1.44269504088896341f + kRounder;
  const V n = *shifted - kRounder;
  const V r = (x - n * kLn2High) - n * kLn2Low;
  V p = r * 1.9875691500e-4f + 1.3981999507e-3f;
  p = p * r + 8.3334519073e-3f;
  p = p * r + 4.1665795894e-2f;
  p = p * r + 1.6666665459e-1f;
  p = p * r + 5.0000001201e-1f;
  return p * (r * r) + r + 1.0f;
}

inline float Exp(float x) {
  // Outside, the result is 0 or infinity anyway. A NaN passes both comparisons' else branch.
  x = x < -104.0f ? -104.0f : x;
  x = x > 89.0f ? 89.0f : x;
  float shifted;
  const float e = ExpOfRemainder(x, &shifted);
  const int32_t n_bits = BitDifference(BitsOf(shifted), BitsOf(kRounder));
  // In two steps: n reaches from -150 (subnormal results) to 128.
  const int32_t half = n_bits >> 1;
  return e * PowerOfTwo(half) * PowerOfTwo(n_bits - half);
}

inline float Log(float x) {
  constexpr float kSmallestNormal = std::numeric_limits<float>::min();
  const bool subnormal = x < kSmallestNormal;
  const float scaled = subnormal ? x * 33554432.0f : x;  // 2^25
  const int32_t bits = BitsOf(scaled);
  // x = m * 2^e with m in [sqrt(1/2), sqrt(2)).
  constexpr int32_t kSqrtHalfBits = 0x3f3504f3;
  const int32_t exponent = BitDifference(bits, kSqrtHalfBits) >> 23;
  const float m = FromBits(BitDifference(bits, ShiftBitsLeft(exponent, 23))) - 1.0f;
  const float e = static_cast<float>(exponent) - (subnormal ? 25.0f : 0.0f);
  const float z = m * m;
  float p = 7.0376836292e-2f;
  p = p * m - 1.1514610310e-1f;
  p = p * m + 1.1676998740e-1f;
  p = p * m - 1.2420140846e-1f;
  p = p * m + 1.4249322787e-1f;
  p = p * m - 1.6668057665e-1f;
  p = p * m + 2.0000714765e-1f;
  p = p * m - 2.4999993993e-1f;
  p = p * m + 3.3333331174e-1f;
  const float tail = m * z * p + kLn2Low * e - 0.5f * z;
  float result = (m + tail) + kLn2High * e;
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();
  result = x == kInfinity ? kInfinity : result;
  result = x == 0.0f ? -kInfinity : result;
  return x >= 0.0f ? result : kNaN;
}

// a where the condition holds, else b: coefficients of polynomials, so that two of them cost the
// multiplications and additions of one.
inline float Either(bool condition, float a, float b) { return condition ? a : b; }

// Near 0 x + x p(x²), where p was fitted to tanh(x)/x - 1 on [0, 0.75], further out 1 - 2 / (e + 1)
// with e = e^2|x| = 2^n 2^r for |r| <= 1/2. The polynomial for 2^r was fitted with the weight that
// its error has in the result, and so is the rounding of 2|x| / ln 2 not made good: the first e
// that counts is 4.5. Both polynomials are evaluated as one. Right to 2 units in the last
// place; 1.7 was the largest error of all floats.
inline float Tanh(float x) {
  const float size = std::fabs(x);
  const bool is_large = size >= 0.75f;  // so that a NaN is not
  // From 9.02 on the nearest float is 1.
  const float capped = size > 10.0f ? 10.0f : size;
  const float power = capped * 2.88539008f;
  const float shifted = power + kRounder;
  const float r = power - (shifted - kRounder);
  const float t = is_large ? r : x * x;
  float p = Either(is_large, 1.33004133e-3f, -4.76949243e-3f);
  p = p * t + Either(is_large, 9.67648719e-3f, 1.9664917e-2f);
  p = p * t + Either(is_large, 5.55062331e-2f, -5.33902608e-2f);
  p = p * t + Either(is_large, 2.40220904e-1f, 1.33265212e-1f);
  p = p * t + Either(is_large, 6.93147063e-1f, -3.33330691e-1f);
  p = p * t + Either(is_large, 1.00000012f, 0.0f);
  const float small = p * size + size;
  // n stands in the low bits of `shifted`.
  const float e = FromBits(BitSum(BitsOf(p), ShiftBitsLeft(BitsOf(shifted), 23)));
  const float large = 1.0f - 2.0f / (e + 1.0f);
  return std::copysign(is_large ? large : small, x);
}

// Near 0 x + x p(x²), where p was fitted to erf(x)/x - 1 on [0, 1.1], further out 1 - q(|x|)⁴,
// where q was fitted to the fourth root of 1 - erf on [1.1, 4]. Both polynomials are evaluated as
// one. Right to 2 units in the last place.
inline float Erf(float x) {
  const float size = std::fabs(x);
  const bool is_small = size < 1.1f;
  // From 3.92 on the nearest float is 1.
  const float capped = size > 4.0f ? 4.0f : size;
  const float t = is_small ? x * x : capped - 1.7f;
  float p = Either(is_small, -8.80675816e-06f, -0.000182411823f);
  p = p * t + Either(is_small, 0.000109545872f, 0.00109607948f);
  p = p * t + Either(is_small, -0.000843985064f, -0.000110604364f);
  p = p * t + Either(is_small, 0.00521792099f, -0.0133528803f);
  p = p * t + Either(is_small, -0.0268643107f, 0.0225003585f);
  p = p * t + Either(is_small, 0.112837635f, 0.0860019252f);
  p = p * t + Either(is_small, -0.376126379f, -0.345108241f);
  p = p * t + Either(is_small, 0.128379166f, 0.356814712f);
  const float small = p * size + size;
  const float square = p * p;
  const float large = 1.0f - square * square;
  return std::copysign(is_small ? small : large, x);
}

// SSE2 has no instruction for it, and a call of the library's function for each element would be
// slower. Adding and subtracting 2^23 rounds a smaller number to an integer.
inline float Floor(float x) {
  constexpr float kAllIntegers = 8388608.0f;  // 2^23: from here on, numbers have no fraction
  const float size = std::fabs(x);
  const float rounded = std::copysign((size + kAllIntegers) - kAllIntegers, x);
  const float floored = rounded > x ? rounded - 1.0f : rounded;
  return size < kAllIntegers ? floored : x;
}

inline double Floor(double x) { return std::floor(x); }
inline double Exp(double x) { return std::exp(x); }
inline double Log(double x) { return std::log(x); }
inline double Tanh(double x) { return std::tanh(x); }
inline double Erf(double x) { return std::erf(x); }

// 1 / (1 + e^-x), by the exponential of -|x|, which cannot overflow.
template <typename T>
inline T Sigmoid(T x) {
  const T e = Exp(-std::fabs(x));
  return (x < T(0) ? e : T(1)) / (T(1) + e);
}

}  // namespace millstream::kernels

#endif  // MILLSTREAM_KERNELS_COMMON_VECTOR_MATH_H_
