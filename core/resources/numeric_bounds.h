// Bounds of the elements of a tensor.
#ifndef MILLSTREAM_CORE_RESOURCES_NUMERIC_BOUNDS_H_
#define MILLSTREAM_CORE_RESOURCES_NUMERIC_BOUNDS_H_

#include <algorithm>
#include <cmath>

namespace millstream {

// All elements of the tensor are finite and in [low, high].
struct NumericBounds {
  double low = 0;
  double high = 0;

  double Magnitude() const { return std::max(std::abs(low), std::abs(high)); }
};

}  // namespace millstream

#endif  // MILLSTREAM_CORE_RESOURCES_NUMERIC_BOUNDS_H_
