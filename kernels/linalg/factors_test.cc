#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <complex>
#include <cstdint>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "kernels/linalg/test_matrix.h"
#include "kernels/testing/kernel_tester.h"

namespace millstream::kernels {
namespace {

using testing::IsOk;
using testing::KernelTester;

template <typename T>
class FactorsTest : public ::testing::Test {};
using Types = ::testing::Types<double, Complex>;
TYPED_TEST_SUITE(FactorsTest, Types);

TYPED_TEST(FactorsTest, QMakesTheMatrixOfR) {
  using T = TypeParam;
  for (const auto& [rows, columns] :
       {std::pair<int64_t, int64_t>{5, 3}, {3, 5}, {1, 1}, {32, 70}, {33, 33}, {135, 131}}) {
    for (const bool full : {false, true}) {
      const Matrix<T> x = Random<T>(rows, columns);
      KernelTester t("Qr");
      t.Attr("T", ms::DTypeOf<T>()).Attr("full_matrices", full);
      t.Outputs({ms::DTypeOf<T>(), ms::DTypeOf<T>()});
      t.Input<T>({rows, columns}, x.elements);
      ASSERT_TRUE(IsOk(t.Run()));
      const Matrix<T> q = OutputOf<T>(t, 0);
      const Matrix<T> r = OutputOf<T>(t, 1);
      q.Times(r).ExpectNear(x);
      q.Adjoint().Times(q).ExpectNear(Identity<T>(q.columns));
      for (int64_t i = 0; i < r.rows; ++i) {
        for (int64_t j = 0; j < std::min(i, r.columns); ++j) ASSERT_EQ(r.at(i, j), T(0));
      }
    }
  }
}

// Of a panel, of several, and of several blocks of columns beside them.
constexpr int64_t kSizes[] = {1, 5, 33, 131, 203};

TYPED_TEST(FactorsTest, LTimesItsAdjointIsThePositiveMatrix) {
  using T = TypeParam;
  for (const int64_t n : kSizes) {
    const Matrix<T> x = Random<T>(n, n);
    Matrix<T> positive = x.Times(x.Adjoint());
    for (int64_t i = 0; i < n; ++i) positive.at(i, i) += T(1);
    Matrix<T> given = positive;
    for (int64_t i = 0; i < n; ++i) {
      for (int64_t j = i + 1; j < n; ++j) given.at(i, j) = T(1e9);  // is not read
    }
    KernelTester t("Cholesky");
    t.Attr("T", ms::DTypeOf<T>()).Outputs({ms::DTypeOf<T>()});
    t.Input<T>({n, n}, given.elements);
    ASSERT_TRUE(IsOk(t.Run()));
    const Matrix<T> l = OutputOf<T>(t, 0);
    l.Times(l.Adjoint()).ExpectNear(positive);
    for (int64_t i = 0; i < n; ++i) {
      for (int64_t j = i + 1; j < n; ++j) ASSERT_EQ(l.at(i, j), T(0));
    }
  }
}

TYPED_TEST(FactorsTest, AMatrixWithANegativePivotHasNoCholeskyFactor) {
  using T = TypeParam;
  for (const int64_t bad : {int64_t{0}, int64_t{31}, int64_t{32}, int64_t{130}}) {
    Matrix<T> x = Identity<T>(131);
    x.at(bad, bad) = T(-1);
    KernelTester t("Cholesky");
    t.Attr("T", ms::DTypeOf<T>()).Outputs({ms::DTypeOf<T>()});
    t.Input<T>({131, 131}, x.elements);
    EXPECT_EQ(t.Run().code(), MS_INVALID_ARGUMENT) << bad;
  }
}

TYPED_TEST(FactorsTest, UpperTimesLowerIsThePermutedMatrix) {
  using T = TypeParam;
  for (const int64_t n : kSizes) {
    const Matrix<T> x = Random<T>(n, n);
    KernelTester t("Lu");
    t.Attr("T", ms::DTypeOf<T>()).Attr("output_idx_type", MS_INT32);
    t.Outputs({ms::DTypeOf<T>(), MS_INT32});
    t.Input<T>({n, n}, x.elements);
    ASSERT_TRUE(IsOk(t.Run()));
    const Matrix<T> factors = OutputOf<T>(t, 0);
    const std::vector<int32_t> order = t.Output<int32_t>(1);
    Matrix<T> lower = Identity<T>(n);
    Matrix<T> upper(n, n);
    Matrix<T> permuted(n, n);
    for (int64_t i = 0; i < n; ++i) {
      for (int64_t j = 0; j < n; ++j) {
        (j < i ? lower : upper).at(i, j) = factors.at(i, j);
        permuted.at(i, j) = x.at(order[static_cast<size_t>(i)], j);
        if (j < i) {
          ASSERT_LE(std::abs(factors.at(i, j)), std::sqrt(2.0) + 1e-12);
        }
      }
    }
    lower.Times(upper).ExpectNear(permuted);
  }
}

// With fewer columns than a block has, and with more than one block.
TYPED_TEST(FactorsTest, TheMatrixTimesTheSolutionIsTheRightHandSide) {
  using T = TypeParam;
  for (const int64_t n : kSizes) {
    for (const int64_t columns : {1, 16, 150}) {
      for (const bool adjoint : {false, true}) {
        Matrix<T> a = Random<T>(n, n);
        for (int64_t i = 0; i < n; ++i) a.at(i, i) += T(static_cast<double>(n));
        const Matrix<T> b = Random<T>(n, columns);
        KernelTester t("MatrixSolve");
        t.Attr("T", ms::DTypeOf<T>()).Attr("adjoint", adjoint).Outputs({ms::DTypeOf<T>()});
        t.Input<T>({n, n}, a.elements).template Input<T>({n, columns}, b.elements);
        ASSERT_TRUE(IsOk(t.Run()));
        (adjoint ? a.Adjoint() : a).Times(OutputOf<T>(t, 0)).ExpectNear(b);
      }
    }
  }
}

TYPED_TEST(FactorsTest, OneTriangleTimesTheSolutionIsTheRightHandSide) {
  using T = TypeParam;
  for (const int64_t n : kSizes) {
    for (const bool lower : {false, true}) {
      for (const bool adjoint : {false, true}) {
        Matrix<T> a = Random<T>(n, n);
        Matrix<T> triangle = a;
        for (int64_t i = 0; i < n; ++i) {
          a.at(i, i) += T(static_cast<double>(n));
          triangle.at(i, i) = a.at(i, i);
          for (int64_t j = 0; j < n; ++j) {
            if (lower ? j > i : j < i) triangle.at(i, j) = T(0);
          }
        }
        const Matrix<T> b = Random<T>(n, 70);
        KernelTester t("MatrixTriangularSolve");
        t.Attr("T", ms::DTypeOf<T>()).Attr("lower", lower).Attr("adjoint", adjoint);
        t.Outputs({ms::DTypeOf<T>()});
        t.Input<T>({n, n}, a.elements).template Input<T>({n, 70}, b.elements);
        ASSERT_TRUE(IsOk(t.Run()));
        (adjoint ? triangle.Adjoint() : triangle).Times(OutputOf<T>(t, 0)).ExpectNear(b);
      }
    }
  }
}

// A solution does not depend on how many columns are solved at a time.
template <typename T>
void ExpectColumnsAloneToBeThoseAmongMany(const char* op) {
  constexpr int64_t kColumns = 70;
  const auto converted = [](const Matrix<Complex>& x) {
    std::vector<T> elements;
    for (const Complex& element : x.elements) elements.push_back(T(element));
    return Matrix<T>(x.rows, x.columns, std::move(elements));
  };
  for (const int64_t n : kSizes) {
    for (const bool adjoint : {false, true}) {
      const auto solve = [&](const Matrix<T>& a, const Matrix<T>& b) {
        KernelTester t(op);
        t.Attr("T", ms::DTypeOf<T>()).Attr("adjoint", adjoint).Outputs({ms::DTypeOf<T>()});
        if (op != std::string("MatrixSolve")) t.Attr("lower", true);
        t.template Input<T>({n, n}, a.elements).template Input<T>({n, b.columns}, b.elements);
        EXPECT_TRUE(IsOk(t.Run()));
        return OutputOf<T>(t, 0);
      };
      Matrix<Complex> whole = Random<Complex>(n, n);
      for (int64_t i = 0; i < n; ++i) whole.at(i, i) += static_cast<double>(n);
      const Matrix<T> a = converted(whole);
      const Matrix<T> b = converted(Random<Complex>(n, kColumns));
      const Matrix<T> among = solve(a, b);
      for (const int64_t column : {0, 1, 33, 64, 69}) {
        Matrix<T> right(n, 1);
        for (int64_t i = 0; i < n; ++i) right.at(i, 0) = b.at(i, column);
        const Matrix<T> alone = solve(a, right);
        for (int64_t i = 0; i < n; ++i) {
          ASSERT_EQ(alone.at(i, 0), among.at(i, column))
              << op << ": row " << i << " of " << n << ", column " << column;
        }
      }
    }
  }
}

TEST(SolveTest, AColumnOfAComplexSystemAloneHasTheBitsOfTheSameAmongMany) {
  for (const char* op : {"MatrixSolve", "MatrixTriangularSolve"}) {
    ExpectColumnsAloneToBeThoseAmongMany<std::complex<float>>(op);
    ExpectColumnsAloneToBeThoseAmongMany<Complex>(op);
  }
}

// Decomposes x, and looks whether the results are what they should be.
template <typename T>
void ExpectSingularVectorsOf(const Matrix<T>& x, bool full) {
  KernelTester t("Svd");
  t.Attr("T", ms::DTypeOf<T>()).Attr("full_matrices", full).Attr("compute_uv", true);
  t.Outputs({ms::DTypeOf<T>(), ms::DTypeOf<T>(), ms::DTypeOf<T>()});
  t.Input<T>({x.rows, x.columns}, x.elements);
  ASSERT_TRUE(IsOk(t.Run()));
  const std::vector<T> values = t.Output<T>(0);
  const Matrix<T> u = OutputOf<T>(t, 1);
  const Matrix<T> v = OutputOf<T>(t, 2);
  const auto rank = static_cast<int64_t>(values.size());
  Matrix<T> diagonal(u.columns, v.columns);
  for (int64_t i = 0; i < rank; ++i) {
    diagonal.at(i, i) = values[static_cast<size_t>(i)];
    ASSERT_GE(std::real(diagonal.at(i, i)),
              i + 1 == rank ? 0 : std::real(values[static_cast<size_t>(i) + 1]));
  }
  ASSERT_NO_FATAL_FAILURE(u.Times(diagonal).Times(v.Adjoint()).ExpectNear(x));
  ASSERT_NO_FATAL_FAILURE(u.Adjoint().Times(u).ExpectNear(Identity<T>(u.columns)));
  ASSERT_NO_FATAL_FAILURE(v.Adjoint().Times(v).ExpectNear(Identity<T>(v.columns)));
}

// Of no panel, of one, of several, and of parts that are merged.
TYPED_TEST(FactorsTest, SingularVectorsMakeTheMatrix) {
  for (const auto& [rows, columns] : {std::pair<int64_t, int64_t>{5, 3},
                                      {3, 5},
                                      {1, 1},
                                      {40, 1},
                                      {33, 33},
                                      {200, 17},
                                      {135, 131}}) {
    for (const bool full : {false, true}) {
      SCOPED_TRACE(std::to_string(rows) + " x " + std::to_string(columns));
      ASSERT_NO_FATAL_FAILURE(ExpectSingularVectorsOf(Random<TypeParam>(rows, columns), full));
    }
  }
}

TYPED_TEST(FactorsTest, MatricesWithoutFullRankHaveOrthogonalSingularVectors) {
  using T = TypeParam;
  for (const auto& [rows, columns] : {std::pair<int64_t, int64_t>{40, 40}, {70, 45}}) {
    const Matrix<T> factor = Random<T>(rows, 3);
    const Matrix<T> other = Random<T>(3, columns);
    Matrix<T> graded = Random<T>(rows, columns);
    Matrix<T> with_zeros = graded;
    for (int64_t i = 0; i < rows; ++i) {
      for (int64_t j = 0; j < columns; ++j) {
        graded.at(i, j) *= std::pow(10.0, -static_cast<double>(j));
        if (i % 5 == 2 || j % 4 == 1) with_zeros.at(i, j) = T(0);
      }
    }
    Matrix<T> ones(rows, columns);
    std::fill(ones.elements.begin(), ones.elements.end(), T(1));
    for (const bool full : {false, true}) {
      ASSERT_NO_FATAL_FAILURE(ExpectSingularVectorsOf(Matrix<T>(rows, columns), full));
      ASSERT_NO_FATAL_FAILURE(ExpectSingularVectorsOf(ones, full));
      ASSERT_NO_FATAL_FAILURE(ExpectSingularVectorsOf(factor.Times(other), full));
      ASSERT_NO_FATAL_FAILURE(ExpectSingularVectorsOf(graded, full));
      ASSERT_NO_FATAL_FAILURE(ExpectSingularVectorsOf(with_zeros, full));
    }
  }
}

// Their squares are below the range of double, or have lost bits there.
TYPED_TEST(FactorsTest, VectorsOfSmallColumnsBesideALargeOneAreOrthonormal) {
  using T = TypeParam;
  for (const double size : {1e-155, 1e-161, 1e-170, 1e-300}) {
    Matrix<T> x = Random<T>(6, 4);
    for (int64_t i = 0; i < 6; ++i) {
      for (int64_t j = 1; j < 4; ++j) x.at(i, j) *= size;
    }
    KernelTester factors("Qr");
    factors.Attr("T", ms::DTypeOf<T>()).Attr("full_matrices", false);
    factors.Outputs({ms::DTypeOf<T>(), ms::DTypeOf<T>()});
    factors.Input<T>({6, 4}, x.elements);
    ASSERT_TRUE(IsOk(factors.Run()));
    const Matrix<T> q = OutputOf<T>(factors, 0);
    q.Adjoint().Times(q).ExpectNear(Identity<T>(4));
    q.Times(OutputOf<T>(factors, 1)).ExpectNear(x);
    KernelTester values("Svd");
    values.Attr("T", ms::DTypeOf<T>()).Attr("full_matrices", false).Attr("compute_uv", true);
    values.Outputs({ms::DTypeOf<T>(), ms::DTypeOf<T>(), ms::DTypeOf<T>()});
    values.Input<T>({6, 4}, x.elements);
    ASSERT_TRUE(IsOk(values.Run()));
    const Matrix<T> u = OutputOf<T>(values, 1);
    const Matrix<T> v = OutputOf<T>(values, 2);
    u.Adjoint().Times(u).ExpectNear(Identity<T>(4));
    v.Adjoint().Times(v).ExpectNear(Identity<T>(4));
    u.Scaled(values.Output<T>(0)).Times(v.Adjoint()).ExpectNear(x);
  }
}

TYPED_TEST(FactorsTest, EigenvectorsMakeTheMatrixOfTheLowerTriangle) {
  using T = TypeParam;
  // Of no panel, of one, of several, and of parts that are merged.
  for (const int64_t n : {1, 2, 6, 32, 33, 131}) {
    const Matrix<T> x = Random<T>(n, n);
    Matrix<T> whole = x;
    for (int64_t i = 0; i < n; ++i) {
      whole.at(i, i) = T(std::real(x.at(i, i)));
      for (int64_t j = 0; j < i; ++j) whole.at(j, i) = Conjugate(x.at(i, j));
    }
    KernelTester t("SelfAdjointEigV2");
    t.Attr("T", ms::DTypeOf<T>()).Attr("compute_v", true);
    t.Outputs({ms::DTypeOf<T>(), ms::DTypeOf<T>()});
    t.Input<T>({n, n}, x.elements);
    ASSERT_TRUE(IsOk(t.Run()));
    const Matrix<T> v = OutputOf<T>(t, 1);
    v.Scaled(t.Output<T>(0)).Times(v.Adjoint()).ExpectNear(whole);
    v.Adjoint().Times(v).ExpectNear(Identity<T>(n));
  }
}

// The diagonals of symmetric tridiagonal matrices that are hard to decompose, at place i of n.
struct Diagonals {
  const char* name;
  double (*diagonal)(int64_t i, int64_t n);
  double (*beside)(int64_t i, int64_t n);
};

double One(int64_t, int64_t) { return 1; }
double Zero(int64_t, int64_t) { return 0; }
double FromTheMiddle(int64_t i, int64_t n) {
  return std::fabs(static_cast<double>(2 * i - n + 1)) / static_cast<double>(n);
}
double PartOfN(int64_t, int64_t n) { return 2 / static_cast<double>(n); }
double Descending(int64_t i, int64_t) { return std::pow(10.0, static_cast<double>(-i) / 3); }
double Ascending(int64_t i, int64_t n) { return Descending(n - 1 - i, n); }
double Alternating(int64_t i, int64_t) { return static_cast<double>(i % 2); }
double OftenZero(int64_t i, int64_t) { return i % 3 == 0 ? 0 : 0.5; }
double NearlyNone(int64_t i, int64_t) { return i % 2 == 0 ? 1e-16 : -1e-15; }
double Glued(int64_t i, int64_t) { return i % 11 == 10 ? 1e-9 : 0.2; }

constexpr Diagonals kHardMatrices[] = {
    {"zero", Zero, Zero},
    {"identity", One, Zero},
    {"equal elements", Zero, One},
    {"pairs of near eigenvalues", FromTheMiddle, PartOfN},  // J. Wilkinson's W+
    {"descending", Descending, Descending},
    {"ascending", Ascending, Ascending},
    {"parts without anything between them", Alternating, OftenZero},
    {"identity with errors", One, NearlyNone},
    {"many near eigenvalues", One, Glued},
    {"only a shrinking diagonal beside", Zero, Descending},
};

TYPED_TEST(FactorsTest, HardMatricesHaveOrthogonalEigenvectors) {
  using T = TypeParam;
  for (const Diagonals& hard : kHardMatrices) {
    for (const int64_t n : {32, 33, 150}) {
      SCOPED_TRACE(std::string(hard.name) + ", " + std::to_string(n));
      Matrix<T> x(n, n);
      for (int64_t i = 0; i < n; ++i) {
        x.at(i, i) = T(hard.diagonal(i, n));
        if (i == 0) continue;
        x.at(i - 1, i) = T(hard.beside(i - 1, n));
        x.at(i, i - 1) = x.at(i - 1, i);
      }
      KernelTester t("SelfAdjointEigV2");
      t.Attr("T", ms::DTypeOf<T>()).Attr("compute_v", true);
      t.Outputs({ms::DTypeOf<T>(), ms::DTypeOf<T>()});
      t.Input<T>({n, n}, x.elements);
      ASSERT_TRUE(IsOk(t.Run()));
      const std::vector<T> values = t.Output<T>(0);
      for (size_t i = 1; i < values.size(); ++i) {
        ASSERT_LE(std::real(values[i - 1]), std::real(values[i]));
      }
      const Matrix<T> v = OutputOf<T>(t, 1);
      ASSERT_NO_FATAL_FAILURE(v.Scaled(values).Times(v.Adjoint()).ExpectNear(x));
      ASSERT_NO_FATAL_FAILURE(v.Adjoint().Times(v).ExpectNear(Identity<T>(n)));
    }
  }
}

TYPED_TEST(FactorsTest, EigenvaluesWithoutVectorsAreTheSame) {
  using T = TypeParam;
  for (const int64_t n : {3, 40, 131}) {
    std::vector<T> values[2];
    for (const bool vectors : {false, true}) {
      KernelTester t("SelfAdjointEigV2");
      t.Attr("T", ms::DTypeOf<T>()).Attr("compute_v", vectors);
      t.Outputs({ms::DTypeOf<T>(), ms::DTypeOf<T>()});
      t.Input<T>({n, n}, Random<T>(n, n).elements);
      ASSERT_TRUE(IsOk(t.Run()));
      values[vectors ? 1 : 0] = t.Output<T>(0);
    }
    Matrix<T>(n, 1, values[0]).ExpectNear({n, 1, values[1]});
  }
}

// The errors of the large one keep the first of the small ones from settling for long.
TYPED_TEST(FactorsTest, ManySmallEigenvaluesBesideALargeOneAreFound) {
  using T = TypeParam;
  constexpr double kSmall = 1e-12;
  for (int64_t n = 80; n < 140; n += 2) {
    const Matrix<T> factor = Random<T>(n, 1);
    Matrix<T> x = factor.Times(factor.Adjoint());
    double large = kSmall;
    for (int64_t i = 0; i < n; ++i) {
      large += std::real(x.at(i, i));
      x.at(i, i) += kSmall;
    }
    KernelTester t("SelfAdjointEigV2");
    t.Attr("T", ms::DTypeOf<T>()).Attr("compute_v", false);
    t.Outputs({ms::DTypeOf<T>(), ms::DTypeOf<T>()});
    t.Input<T>({n, n}, x.elements);
    ASSERT_TRUE(IsOk(t.Run())) << n;
    Matrix<T> expected(n, 1);
    std::fill(expected.elements.begin(), expected.elements.end(), T(kSmall));
    expected.at(n - 1, 0) = T(large);
    Matrix<T>(n, 1, t.Output<T>(0)).ExpectNear(expected);
  }
}

TYPED_TEST(FactorsTest, ARootTimesItselfIsTheMatrix) {
  using T = TypeParam;
  for (const int64_t n : {1, 5, 130}) {
    Matrix<T> x = Random<T>(n, n);
    // Near the identity: the error of a product is a multiple of the square of its factor's norm.
    for (T& element : x.elements) element /= static_cast<double>(n);
    for (int64_t i = 0; i < n; ++i) x.at(i, i) += 1.0;
    KernelTester t("MatrixSquareRoot");
    t.Attr("T", ms::DTypeOf<T>()).Outputs({ms::DTypeOf<T>()});
    t.Input<T>({n, n}, x.elements);
    ASSERT_TRUE(IsOk(t.Run()));
    const Matrix<T> root = OutputOf<T>(t, 0);
    root.Times(root).ExpectNear(x);
  }
}

TEST(LogarithmTest, OfAJordanBlockHasTheDerivativeBesideTheDiagonal) {
  KernelTester t("MatrixLogarithm");
  t.Attr("T", MS_COMPLEX128).Outputs({MS_COMPLEX128});
  t.Input<Complex>({2, 2}, {2, 1, 0, 2});
  ASSERT_TRUE(IsOk(t.Run()));
  OutputOf<Complex>(t, 0).ExpectNear({2, 2, {std::log(2.0), 0.5, 0, std::log(2.0)}});
}

TEST(EigenvaluesTest, WhatIsNotFiniteIsRefused) {
  KernelTester t("SelfAdjointEigV2");
  t.Attr("T", MS_FLOAT64).Attr("compute_v", true).Outputs({MS_FLOAT64, MS_FLOAT64});
  const double nan = std::numeric_limits<double>::quiet_NaN();
  t.Input<double>({2, 2, 2}, {1, 0, 0, 1, 1, 0, nan, 1});
  const ms::Status status = t.Run();
  EXPECT_EQ(status.code(), MS_INVALID_ARGUMENT);
  EXPECT_NE(status.message().find("matrix 1 of argument 'input'"), std::string::npos)
      << status.message();
}

TEST(LeastSquaresTest, TheShortestSolutionIsFoundWithoutFullRank) {
  for (const bool fast : {false, true}) {
    KernelTester t("MatrixSolveLs");
    t.Attr("T", MS_FLOAT64).Attr("fast", fast).Outputs({MS_FLOAT64});
    t.Input<double>({2, 2}, {1, 1, 1, 1}).Input<double>({2, 1}, {1, 3}).Input<double>({}, {0});
    const ms::Status status = t.Run();
    if (fast) {
      EXPECT_EQ(status.code(), MS_INVALID_ARGUMENT);
      EXPECT_NE(status.message().find("rank deficient"), std::string::npos) << status.message();
    } else {
      ASSERT_TRUE(IsOk(status));
      OutputOf<double>(t, 0).ExpectNear({2, 1, {1, 1}});
    }
  }
}

}  // namespace
}  // namespace millstream::kernels
