// Self-adjoint matrices that are large enough for threads to share each product with a vector.
#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <limits>
#include <random>
#include <vector>

#include "kernels/linalg/test_matrix.h"
#include "kernels/testing/kernel_tester.h"

namespace millstream::kernels {
namespace {

using testing::IsOk;
using testing::KernelTester;

template <typename T>
class LargeEigenTest : public ::testing::Test {};
using Types = ::testing::Types<double, Complex>;
TYPED_TEST_SUITE(LargeEigenTest, Types);

// The products of V, and of its adjoint, with a vector take less time than those with a matrix, and
// tell as much: any wrong element changes them.
TYPED_TEST(LargeEigenTest, EigenvectorsMakeTheMatrixOfTheLowerTriangle) {
  using T = TypeParam;
  constexpr int64_t kSize = 533;  // the last rows and columns fill no vector
  std::mt19937 generator(3);
  const auto random = [&] {
    T number;
    Fill(&generator, &number);
    return number;
  };
  std::vector<T> given(kSize * kSize, T(std::numeric_limits<double>::quiet_NaN()));
  std::vector<T> x(kSize);  // the vector, and its product with the matrix
  std::vector<T> expected(kSize);
  for (T& element : x) element = random();
  for (int64_t i = 0; i < kSize; ++i) {
    for (int64_t j = 0; j < i; ++j) {
      const T element = random();
      given[i * kSize + j] = element;
      expected[i] += element * x[j];
      expected[j] += Conjugate(element) * x[i];
    }
    double diagonal;
    Fill(&generator, &diagonal);
    given[i * kSize + i] = T(diagonal);
    expected[i] += diagonal * x[i];
  }
  KernelTester t("SelfAdjointEigV2");
  t.Attr("T", ms::DTypeOf<T>()).Attr("compute_v", true);
  t.Outputs({ms::DTypeOf<T>(), ms::DTypeOf<T>()});
  t.template Input<T>({kSize, kSize}, given);
  ASSERT_TRUE(IsOk(t.Run()));
  const std::vector<T> values = t.template Output<T>(0);
  const std::vector<T> v = t.template Output<T>(1);
  std::vector<T> weights(kSize);  // V^H x
  for (int64_t i = 0; i < kSize; ++i) {
    for (int64_t j = 0; j < kSize; ++j) weights[j] += Conjugate(v[i * kSize + j]) * x[i];
  }
  for (int64_t i = 0; i < kSize; ++i) {
    T same(0);     // V V^H x
    T product(0);  // V diag(values) V^H x
    for (int64_t j = 0; j < kSize; ++j) {
      const T term = v[i * kSize + j] * weights[j];
      same += term;
      product += values[j] * term;
    }
    ASSERT_LT(std::abs(same - x[i]), 1e-12) << i;
    ASSERT_LT(std::abs(product - expected[i]), 1e-11) << i;
  }
}

}  // namespace
}  // namespace millstream::kernels
