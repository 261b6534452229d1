// A right operand that is kept gives the bits of one that comes with every Run.
#include "kernels/matmul/gemm.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <dnnl.hpp>
#include <limits>
#include <string>
#include <vector>

#include "kernels/testing/fake_host.h"
#include "kernels/testing/fractions.h"

namespace millstream::kernels {
namespace {

using testing::Fractions;

struct AlignedBytes {
  alignas(64) char bytes[64];
};

std::vector<float> Product(const Gemm& gemm, const GemmShape& shape, const std::vector<float>& a,
                           const std::vector<float>& b, int threads) {
  std::vector<AlignedBytes> scratch(gemm.scratch_bytes() / sizeof(AlignedBytes) + 1);
  std::vector<float> c(static_cast<size_t>(shape.m * shape.n));
  testing::BindFakeHost();
  MS_Ctx ctx;
  MS_Frame raw{};
  raw.ctx = &ctx;
  ms::Frame frame(&raw);
  EXPECT_TRUE(gemm.Run(frame, a.data(), b.data(), c.data(), scratch.data(), threads).ok());
  return c;
}

// Shapes for which the library is asked by a primitive.
std::vector<GemmShape> PreparedShapes() {
  return {{1, 20, 60000, false, false},
          {1, 20, 60000, false, true},
          {9, 300, 200, false, true},
          {70, 130, 90, false, true}};
}

TEST(GemmTest, AKeptRightOperandGivesTheSameBits) {
  for (const GemmShape& shape : PreparedShapes()) {
    SCOPED_TRACE(std::to_string(shape.m) + " rows");
    const std::vector<float> a = Fractions(shape.m * shape.k, 1);
    const std::vector<float> b = Fractions(shape.k * shape.n, 2);
    for (int most : {1, 2}) {
      const Gemm plain(shape, most);
      Gemm keeping(shape, most);
      keeping.KeepRight(b.data());
      for (int threads = 1; threads <= most; ++threads) {
        EXPECT_EQ(Product(keeping, shape, a, b, threads), Product(plain, shape, a, b, threads));
      }
    }
  }
}

// A row and a matrix of which strips are kept: a million numbers and fewer, and columns that are no
// whole strips.
TEST(GemmTest, KeptStripsGiveARowTheSameBits) {
  for (const GemmShape& shape : {GemmShape{1, 1024, 256}, GemmShape{1, 2048, 512},
                                 GemmShape{1, 517, 300}, GemmShape{1, 1003, 1001, true}}) {
    SCOPED_TRACE(std::to_string(shape.n) + " columns");
    const std::vector<float> a = Fractions(shape.k, 1);
    const std::vector<float> b = Fractions(shape.k * shape.n, 2);
    const std::vector<float> other(b.size(), std::numeric_limits<float>::quiet_NaN());
    Gemm keeping(shape, 2);
    keeping.KeepRight(b.data());
    for (const int threads : {1, 2}) {
      EXPECT_EQ(Product(keeping, shape, a, other, threads),
                Product(Gemm(shape, 2), shape, a, b, threads));
    }
  }
}

// A team inside of another has one thread, whatever the product was laid out for.
TEST(GemmTest, InsideOfATeamAProductIsWhole) {
  for (const GemmShape& shape : PreparedShapes()) {
    SCOPED_TRACE(std::to_string(shape.m) + " rows");
    const std::vector<float> a = Fractions(shape.m * shape.k, 1);
    const std::vector<float> b = Fractions(shape.k * shape.n, 2);
    const Gemm gemm(shape, 2);
    std::vector<std::vector<float>> inside(2);
#pragma omp parallel for num_threads(2)
    for (int i = 0; i < 2; ++i) inside[i] = Product(gemm, shape, a, b, 2);
    for (const std::vector<float>& c : inside) EXPECT_EQ(c, Product(gemm, shape, a, b, 1));
  }
}

TEST(GemmTest, WhatIsKeptIsNotReadAgain) {
  if (dnnl::get_effective_cpu_isa() < dnnl::cpu_isa::avx512_core) {
    GTEST_SKIP() << "the library takes B as it is here";
  }
  for (const GemmShape& shape : PreparedShapes()) {
    SCOPED_TRACE(std::to_string(shape.m) + " rows");
    const std::vector<float> a = Fractions(shape.m * shape.k, 1);
    const std::vector<float> b = Fractions(shape.k * shape.n, 2);
    const std::vector<float> other(b.size(), std::numeric_limits<float>::quiet_NaN());
    Gemm keeping(shape, 2);
    keeping.KeepRight(b.data());
    for (int threads : {1, 2}) {
      EXPECT_EQ(Product(keeping, shape, a, other, threads),
                Product(Gemm(shape, 2), shape, a, b, threads));
    }
  }
}

TEST(GemmTest, PlainCallsAndFewColumnsKeepNothing) {
  for (const GemmShape& shape :
       {GemmShape{64, 64, 64, false, false}, GemmShape{300, 3, 300, false, true},
        GemmShape{2, 3, 4, false, true}}) {
    const std::vector<float> a = Fractions(shape.m * shape.k, 1);
    const std::vector<float> b = Fractions(shape.k * shape.n, 2);
    const std::vector<float> other = Fractions(shape.k * shape.n, 3);
    Gemm keeping(shape, 2);
    keeping.KeepRight(b.data());
    EXPECT_EQ(Product(keeping, shape, a, other, 1), Product(Gemm(shape, 2), shape, a, other, 1));
  }
}

// Products that take tens of milliseconds and more are cut up; in whole rows, that is.
std::vector<GemmShape> LongShapes() {
  std::vector<GemmShape> shapes;
  for (const bool transpose_a : {false, true}) {
    for (const bool transpose_b : {false, true}) {
      shapes.push_back({4100, 2060, 600, transpose_a, transpose_b});
      shapes.push_back({130, 70, 600000, transpose_a, transpose_b});
    }
  }
  return shapes;
}

TEST(GemmTest, LongProductsAreNear) {
  for (const GemmShape& shape : LongShapes()) {
    SCOPED_TRACE(std::to_string(shape.m) + std::to_string(shape.transpose_a) +
                 std::to_string(shape.transpose_b));
    const std::vector<float> a = Fractions(shape.m * shape.k, 1);
    const std::vector<float> b = Fractions(shape.k * shape.n, 2);
    const std::vector<float> c = Product(Gemm(shape, 2), shape, a, b, 2);
    for (const int64_t row : {int64_t{0}, int64_t{67}, shape.m - 1}) {
      for (const int64_t column : {int64_t{0}, int64_t{65}, shape.n - 1}) {
        double sum = 0;
        for (int64_t k = 0; k < shape.k; ++k) {
          sum += double{a[shape.transpose_a ? k * shape.m + row : row * shape.k + k]} *
                 double{b[shape.transpose_b ? column * shape.k + k : k * shape.n + column]};
        }
        const double bound = 1e-6 * static_cast<double>(shape.k);
        EXPECT_NEAR(c[row * shape.n + column], sum, bound) << row << "," << column;
      }
    }
  }
}

TEST(GemmTest, ALongProductEndsWhenTheStepIsCancelled) {
  testing::BindFakeHost();
  for (const GemmShape& shape : LongShapes()) {
    MS_Ctx ctx;
    ctx.checks_before_cancel = 1;
    MS_Frame raw{};
    raw.ctx = &ctx;
    ms::Frame frame(&raw);
    const std::vector<float> a(static_cast<size_t>(shape.m * shape.k));
    const std::vector<float> b(static_cast<size_t>(shape.k * shape.n));
    std::vector<float> c(static_cast<size_t>(shape.m * shape.n));
    const Gemm gemm(shape, 2);
    std::vector<AlignedBytes> scratch(gemm.scratch_bytes() / sizeof(AlignedBytes) + 1);
    EXPECT_EQ(gemm.Run(frame, a.data(), b.data(), c.data(), scratch.data(), 2).code(),
              MS_CANCELLED);
  }
}

// A large matrix and a vector, on either side, stored either way.
TEST(GemmTest, LargeProductsWithAVectorAreNearAndTheSameForAnyThreads) {
  constexpr int64_t kLong = 1100;
  constexpr int64_t kDepth = 1000;
  // As in vector_product_test: each of kDepth roundings is off by half a unit of a sum of kDepth.
  constexpr float kBound =
      static_cast<float>(kDepth * kDepth) * std::numeric_limits<float>::epsilon();
  for (const bool is_row : {true, false}) {
    for (const bool transposed : {true, false}) {
      SCOPED_TRACE(std::to_string(is_row) + std::to_string(transposed));
      GemmShape shape = {is_row ? 1 : kLong, is_row ? kLong : 1, kDepth};
      (is_row ? shape.transpose_b : shape.transpose_a) = transposed;
      const std::vector<float> a = Fractions(shape.m * shape.k, 1);
      const std::vector<float> b = Fractions(shape.k * shape.n, 2);
      const std::vector<float>& vector = is_row ? a : b;
      const std::vector<float>& matrix = is_row ? b : a;
      // Whether the matrix's rows belong to results, and not to what is summed.
      const bool by_result = is_row == transposed;
      const std::vector<float> c = Product(Gemm(shape, 1), shape, a, b, 1);
      for (int64_t i = 0; i < kLong; ++i) {
        double sum = 0;
        for (int64_t k = 0; k < kDepth; ++k) {
          const int64_t at = by_result ? i * kDepth + k : k * kLong + i;
          sum += double{vector[k]} * double{matrix[at]};
        }
        ASSERT_NEAR(c[i], sum, kBound) << i;
      }
      const Gemm wide(shape, 3);
      EXPECT_EQ(wide.scratch_bytes(), 0u) << "nothing is rearranged";
      EXPECT_EQ(Product(wide, shape, a, b, 3), c);
      EXPECT_EQ(Product(wide, shape, a, b, 1), c);
    }
  }
}

}  // namespace
}  // namespace millstream::kernels
