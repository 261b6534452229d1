// exp of a vector of numbers, where a loop over single ones (vector_math.h) would not vectorize
// because it also sums.
#ifndef MILLSTREAM_KERNELS_NN_EXPONENTIAL_H_
#define MILLSTREAM_KERNELS_NN_EXPONENTIAL_H_

#include <cstdint>

#include "kernels/common/vector_math.h"
#include "kernels/simd/vector.h"

namespace millstream::kernels {

// Within 2 units in the last place for arguments up to 88. Results under the smallest normal number
// are 0; NaN gives NaN. T is the type of an element.
template <typename T, int kBytes>
inline Vector<T, kBytes> ExpOf(Vector<T, kBytes> x) {
  if constexpr (sizeof(T) == sizeof(double)) {
    for (int lane = 0; lane < kLanes<T, kBytes>; ++lane) x[lane] = Exp(x[lane]);
    return x;
  } else {
    using Bits = Vector<int32_t, kBytes>;
    const Vector<T, kBytes> least = Broadcast<kBytes>(-87.33654f);
    Vector<T, kBytes> shifted;
    const Vector<T, kBytes> e = ExpOfRemainder(x < least ? least : x, &shifted);
    const Bits exponent = ((Bits)shifted - (Bits)Broadcast<kBytes>(kRounder) + 127) << 23;
    const Vector<T, kBytes> power = (Vector<T, kBytes>)exponent;
    return x < least ? Vector<T, kBytes>{} : e * power;
  }
}

}  // namespace millstream::kernels

#endif  // MILLSTREAM_KERNELS_NN_EXPONENTIAL_H_
