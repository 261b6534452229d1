// Bounds of the elements of a tensor.
#ifndef MILLSTREAM_FRAMEWORK_NUMERIC_BOUNDS_H_
#define MILLSTREAM_FRAMEWORK_NUMERIC_BOUNDS_H_

#include <algorithm>
#include <cmath>

#include "absl/container/inlined_vector.h"

namespace millstream {

// All elements of the tensor are finite and in [low, high].
struct NumericBounds {
  double low = 0;
  double high = 0;

  double Magnitude() const { return std::max(std::abs(low), std::abs(high)); }
};

using NumericBoundsList = absl::InlinedVector<NumericBounds, 10>;

}  // namespace millstream

#endif  // MILLSTREAM_FRAMEWORK_NUMERIC_BOUNDS_H_
