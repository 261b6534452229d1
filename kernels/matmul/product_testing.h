// What the tests of matrix products share: operands whose products are exact, and the definition.
#ifndef MILLSTREAM_KERNELS_MATMUL_PRODUCT_TESTING_H_
#define MILLSTREAM_KERNELS_MATMUL_PRODUCT_TESTING_H_

#include <complex>
#include <cstdint>
#include <random>
#include <type_traits>
#include <vector>

#include "kernels/common/narrow_float.h"

namespace millstream::kernels::testing {

struct Sizes {
  int64_t m;
  int64_t n;
  int64_t k;
};

template <typename T>
struct IsComplex : std::false_type {};
template <typename T>
struct IsComplex<std::complex<T>> : std::true_type {};

// Small integers, or complex numbers of such: float32 sums of a few thousand products of them are
// exact in any order. (Narrow floats hold the integers, and round the sum once.)
template <typename T>
std::vector<T> SmallIntegers(int64_t count, uint32_t seed) {
  std::mt19937 generator(seed);
  std::uniform_int_distribution<int> distribution(-9, 9);
  std::vector<T> values(count);
  for (T& value : values) {
    value = static_cast<T>(distribution(generator));
    if constexpr (IsComplex<T>::value) value.imag(distribution(generator));
  }
  return values;
}

template <typename T>
T ConjugatedIf(bool conjugate, T value) {
  if constexpr (IsComplex<T>::value) return conjugate ? std::conj(value) : value;
  return value;
}

// The product of the matrices that start at `a` and `b`.
template <typename T>
std::vector<T> NaiveProduct(const Sizes& sizes, bool transpose_a, bool transpose_b, const T* a,
                            const T* b, bool conjugate_transposed = false) {
  std::vector<T> c(sizes.m * sizes.n);
  for (int64_t i = 0; i < sizes.m; ++i) {
    for (int64_t j = 0; j < sizes.n; ++j) {
      ComputeTypeOf<T> sum(0);
      for (int64_t k = 0; k < sizes.k; ++k) {
        const T left = a[transpose_a ? k * sizes.m + i : i * sizes.k + k];
        const T right = b[transpose_b ? j * sizes.k + k : k * sizes.n + j];
        sum += ConjugatedIf(conjugate_transposed && transpose_a, left) *
               ConjugatedIf(conjugate_transposed && transpose_b, right);
      }
      c[i * sizes.n + j] = static_cast<T>(sum);
    }
  }
  return c;
}

}  // namespace millstream::kernels::testing

#endif  // MILLSTREAM_KERNELS_MATMUL_PRODUCT_TESTING_H_
