// exp of a vector of numbers, where a loop over single ones (vector_math.h) would not vectorize
// because it also sums.
#ifndef MILLSTREAM_KERNELS_NN_EXPONENTIAL_H_
#define MILLSTREAM_KERNELS_NN_EXPONENTIAL_H_

#include <cstdint>

#include "kernels/common/vector_math.h"
#include "kernels/simd/vector.h"

namespace millstream::kernels {

// Within 2 units in the last place for arguments up to 88. Results under the smallest normal number
// are 0; NaN gives NaN.
inline Vector<float> Exp(Vector<float> x) {
  typedef int32_t Bits __attribute__((vector_size(kVectorBytes)));
  const Vector<float> least = Broadcast(-87.33654f);
  Vector<float> shifted;
  const Vector<float> e = ExpOfRemainder(x < least ? least : x, &shifted);
  const Bits exponent = ((Bits)shifted - (Bits)Broadcast(kRounder) + 127) << 23;
  const Vector<float> power = (Vector<float>)exponent;
  return x < least ? Vector<float>{} : e * power;
}

inline Vector<double> Exp(Vector<double> x) {
  for (int lane = 0; lane < kLanes<double>; ++lane) x[lane] = Exp(x[lane]);
  return x;
}

}  // namespace millstream::kernels

#endif  // MILLSTREAM_KERNELS_NN_EXPONENTIAL_H_
