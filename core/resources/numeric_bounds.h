// What is known of numbers without looking at each.
#ifndef MILLSTREAM_CORE_RESOURCES_NUMERIC_BOUNDS_H_
#define MILLSTREAM_CORE_RESOURCES_NUMERIC_BOUNDS_H_

#include <algorithm>
#include <cmath>

namespace millstream {

// Of a tensor's numbers, all of which are finite.
struct NumericBounds {
  double low = 0;
  double high = 0;

  double Magnitude() const { return std::max(std::abs(low), std::abs(high)); }
};

}  // namespace millstream

#endif  // MILLSTREAM_CORE_RESOURCES_NUMERIC_BOUNDS_H_
