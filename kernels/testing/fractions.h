// Numbers for tests of floating-point kernels.
#ifndef MILLSTREAM_KERNELS_TESTING_FRACTIONS_H_
#define MILLSTREAM_KERNELS_TESTING_FRACTIONS_H_

#include <cstddef>
#include <cstdint>
#include <random>
#include <vector>

namespace millstream::kernels::testing {

// `count` numbers from [-1, 1), the same for the same seed.
inline std::vector<float> Fractions(int64_t count, uint32_t seed) {
  std::mt19937 random(seed);
  std::uniform_real_distribution<float> distribution(-1, 1);
  std::vector<float> values(static_cast<size_t>(count));
  for (float& value : values) value = distribution(random);
  return values;
}

}  // namespace millstream::kernels::testing

#endif  // MILLSTREAM_KERNELS_TESTING_FRACTIONS_H_
