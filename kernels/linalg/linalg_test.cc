#include <gtest/gtest.h>

#include <cmath>
#include <complex>
#include <cstdint>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include "kernels/common/narrow_float.h"
#include "kernels/testing/kernel_tester.h"

namespace millstream::kernels {
namespace {

using testing::IsOk;
using testing::KernelTester;

using Complex64 = std::complex<float>;
using Complex128 = std::complex<double>;

// The output of an op on matrices.
template <typename T>
std::vector<T> Applied(const std::string& op, const std::vector<int64_t>& dims,
                       const std::vector<T>& x, bool adjoint = false) {
  KernelTester t(op);
  t.Attr("T", ms::DTypeOf<T>()).Outputs({ms::DTypeOf<T>()});
  if (op == "MatrixInverse") t.Attr("adjoint", adjoint);
  t.Input<T>(dims, x);
  EXPECT_TRUE(IsOk(t.Run()));
  return t.Output<T>(0);
}

struct SignAndLog {
  std::vector<double> sign;
  std::vector<double> log;
};
SignAndLog LogDeterminant(const std::vector<int64_t>& dims, const std::vector<double>& x) {
  KernelTester t("LogMatrixDeterminant");
  t.Attr("T", MS_FLOAT64).Outputs({MS_FLOAT64, MS_FLOAT64});
  t.Input<double>(dims, x);
  EXPECT_TRUE(IsOk(t.Run()));
  return {t.Output<double>(0), t.Output<double>(1)};
}

// Numbers in [-1, 1], with n + 1 added to the diagonal.
std::vector<double> Dominant(int64_t count, int64_t n) {
  std::mt19937 generator(5);
  std::uniform_real_distribution<double> uniform(-1, 1);
  std::vector<double> x(static_cast<size_t>(count * n * n));
  for (size_t i = 0; i < x.size(); ++i) {
    const auto place = static_cast<int64_t>(i) % (n * n);
    x[i] = uniform(generator) + (place / n == place % n ? static_cast<double>(n + 1) : 0);
  }
  return x;
}

TEST(InverseTest, TheProductIsTheIdentity) {
  for (const int64_t n : {1, 2, 7, 40, 130}) {
    const int64_t count = n < 40 ? 70 : 1;
    const std::vector<double> x = Dominant(count, n);
    const std::vector<double> y = Applied<double>("MatrixInverse", {count, n, n}, x);
    for (int64_t m = 0; m < count; ++m) {
      for (int64_t i = 0; i < n; ++i) {
        for (int64_t j = 0; j < n; ++j) {
          double sum = 0;
          for (int64_t k = 0; k < n; ++k) {
            sum += x[static_cast<size_t>((m * n + i) * n + k)] *
                   y[static_cast<size_t>((m * n + k) * n + j)];
          }
          ASSERT_NEAR(sum, i == j ? 1 : 0, 1e-13) << "matrix " << m << " of " << n << " rows";
        }
      }
    }
  }
}

TEST(InverseTest, TypesAreRoundedOnce) {
  const std::vector<Float16> halves = {Float16(0.0f), Float16(2.0f), Float16(4.0f), Float16(0.0f)};
  const std::vector<Float16> inverse = Applied<Float16>("MatrixInverse", {2, 2}, halves);
  EXPECT_EQ(static_cast<float>(inverse[1]), 0.25f);
  EXPECT_EQ(static_cast<float>(inverse[2]), 0.5f);
  EXPECT_EQ(Applied<float>("MatrixInverse", {2, 2}, {0, 3, 5, 0}),
            (std::vector<float>{0, 1.0f / 5, 1.0f / 3, 0}));
}

TEST(InverseTest, AdjointIsTransposedAndConjugated) {
  const Complex64 i(0, 1);
  const std::vector<Complex64> x = {2.0f * i, 0, 4, 1.0f};
  EXPECT_EQ(Applied<Complex64>("MatrixInverse", {2, 2}, x),
            (std::vector<Complex64>{-0.5f * i, 0, 2.0f * i, 1}));
  EXPECT_EQ(Applied<Complex64>("MatrixInverse", {2, 2}, x, true),
            (std::vector<Complex64>{0.5f * i, -2.0f * i, 0, 1}));
}

TEST(InverseTest, SingularMatricesAreRefused) {
  for (const double bad : {0.0, std::numeric_limits<double>::quiet_NaN()}) {
    KernelTester t("MatrixInverse");
    t.Attr("T", MS_FLOAT64).Attr("adjoint", false).Outputs({MS_FLOAT64});
    t.Input<double>({3, 2, 2}, {1, 0, 0, 1, 1, 2, bad, bad, 0, 0, 0, 0});
    const ms::Status status = t.Run();
    EXPECT_EQ(status.code(), MS_INVALID_ARGUMENT);
    EXPECT_NE(status.message().find("Input is not invertible: matrix 1 of argument 'input'"),
              std::string::npos)
        << status.message();
  }
}

TEST(InverseTest, EmptyMatricesHaveEmptyInverses) {
  EXPECT_TRUE(Applied<float>("MatrixInverse", {0, 0}, {}).empty());
  EXPECT_TRUE(Applied<float>("MatrixInverse", {0, 3, 3}, {}).empty());
}

TEST(DeterminantTest, RowExchangesChangeTheSign) {
  EXPECT_EQ(Applied<double>("MatrixDeterminant", {3, 2, 2}, {0, 2, 3, 0, 2, 0, 0, 3, 1, 2, 2, 4}),
            (std::vector<double>{-6, 6, 0}));
  EXPECT_EQ(
      Applied<Complex128>("MatrixDeterminant", {2, 2}, {Complex128(0, 1), 0, 0, Complex128(2, 3)}),
      (std::vector<Complex128>{Complex128(-3, 2)}));
  EXPECT_EQ(Applied<float>("MatrixDeterminant", {2, 0, 0}, {}), (std::vector<float>{1, 1}));
}

TEST(DeterminantTest, ProductsOnTheWayMayBeOutOfRange) {
  std::vector<double> x(36, 0);
  const double diagonal[] = {1e300, 1e300, 1e-300, 1e-300, 3, -1};
  for (size_t i = 0; i < 6; ++i) x[i * 7] = diagonal[i];
  EXPECT_NEAR(Applied<double>("MatrixDeterminant", {6, 6}, x)[0], -3, 1e-13);
  x[35] = 1e300;
  x[28] = 1e300;
  EXPECT_EQ(Applied<double>("MatrixDeterminant", {6, 6}, x)[0],
            std::numeric_limits<double>::infinity());
  const SignAndLog found = LogDeterminant({6, 6}, x);
  EXPECT_EQ(found.sign[0], 1);
  EXPECT_NEAR(found.log[0], 600 * std::log(10.0), 1e-10);
}

TEST(DeterminantTest, TheLogarithmOfZeroIsInfinite) {
  const SignAndLog found = LogDeterminant({3, 1, 1}, {-4, 0, 2});
  EXPECT_EQ(found.sign, (std::vector<double>{-1, 0, 1}));
  EXPECT_NEAR(found.log[0], std::log(4.0), 1e-15);
  EXPECT_EQ(found.log[1], -std::numeric_limits<double>::infinity());
}

}  // namespace
}  // namespace millstream::kernels
