// exp of a vector of numbers, where a loop over single ones (vector_math.h) would not vectorize
// because it also sums.
#ifndef MILLSTREAM_KERNELS_NN_EXPONENTIAL_H_
#define MILLSTREAM_KERNELS_NN_EXPONENTIAL_H_

#include <cstdint>

#include "kernels/common/vector_math.h"
#include "kernels/simd/vector.h"

namespace millstream::kernels {

// Within 2 units in the last place for arguments up to 88. Results under the smallest normal number
// are 0; NaN gives NaN. x = n ln 2 + r with |r| <= ln(2)/2; e^r by the polynomial of Cephes' expf
// (Moshier), ln 2 in two parts as there.
inline Vector<float> Exp(Vector<float> x) {
  typedef int32_t Bits __attribute__((vector_size(kVectorBytes)));
  const Vector<float> least = Broadcast(-87.33654f);
  // At this magnitude the unit in the last place is 1: adding it rounds to an integer, which then
  // stands in the low bits.
  const Vector<float> rounder = Broadcast(12582912.0f);
  const Vector<float> clamped = x < least ? least : x;
  const Vector<float> shifted = clamped * 1.44269504088896341f + rounder;
  const Vector<float> n = shifted - rounder;
  const Vector<float> r = (clamped - n * kLn2High) - n * kLn2Low;

  Vector<float> p = Broadcast(1.9875691500e-4f);
  p = p * r + 1.3981999507e-3f;
  p = p * r + 8.3334519073e-3f;
  p = p * r + 4.1665795894e-2f;
  p = p * r + 1.6666665459e-1f;
  p = p * r + 5.0000001201e-1f;
  p = p * r * r + r + 1.0f;

  const Bits exponent = ((Bits)shifted - (Bits)rounder + 127) << 23;
  const Vector<float> power = (Vector<float>)exponent;
  return x < least ? Vector<float>{} : p * power;
}

inline Vector<double> Exp(Vector<double> x) {
  for (int lane = 0; lane < kLanes<double>; ++lane) x[lane] = Exp(x[lane]);
  return x;
}

}  // namespace millstream::kernels

#endif  // MILLSTREAM_KERNELS_NN_EXPONENTIAL_H_
