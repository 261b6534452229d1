// _JoinedMatMul, _PartMatMul and _SummedMatMul
#include <gtest/gtest.h>

#include <cstdint>
#include <vector>

#include "kernels/testing/kernel_tester.h"

namespace millstream::kernels {
namespace {

using testing::IsNear;
using testing::IsOk;
using testing::KernelTester;

// Integers from -8 to 8, whose products and sums here are exact.
std::vector<float> Integers(int64_t count, int64_t salt) {
  std::vector<float> values;
  for (int64_t i = 0; i < count; ++i) {
    values.push_back(static_cast<float>(((i + salt) * 7919) % 17 - 8));
  }
  return values;
}

// Rows [first, first + rows) of a matrix with `all_rows` rows.
struct Rows {
  int64_t all_rows;
  int64_t first;
  int64_t rows;
  bool transpose;
};

void SetPart(const Rows& part, KernelTester* t) {
  t->Attr("T", MS_FLOAT32).Attr("first_row", part.first).Attr("num_rows", part.rows);
  t->Attr("transpose_b", part.transpose);
}

// A [m, k] times the part of B, which has `width` columns.
std::vector<float> Product(const std::vector<float>& a, int64_t m, const std::vector<float>& b,
                           int64_t width, const Rows& part) {
  const int64_t k = part.transpose ? width : part.rows;
  const int64_t n = part.transpose ? part.rows : width;
  std::vector<float> product(m * n);
  for (int64_t i = 0; i < m; ++i) {
    for (int64_t j = 0; j < n; ++j) {
      for (int64_t l = 0; l < k; ++l) {
        const int64_t row = part.first + (part.transpose ? j : l);
        product[i * n + j] += a[i * k + l] * b[row * width + (part.transpose ? l : j)];
      }
    }
  }
  return product;
}

void CheckJoined(int64_t count, int64_t m, int64_t width, const Rows& part, bool in_strips = false,
                 bool is_constant = false) {
  SCOPED_TRACE(ms::StrCat(count, " of ", m, " x ", part.rows, " x ", width));
  const int64_t k = part.transpose ? width : part.rows;
  KernelTester t("_JoinedMatMul");
  SetPart(part, &t);
  t.Attr("num", count).Attr("in_strips", in_strips);
  t.Outputs(std::vector<MS_DType>(count, MS_FLOAT32));
  for (int64_t i = 0; i < count; ++i) t.Input<float>({m, k}, Integers(m * k, i));
  const std::vector<float> b = Integers(part.all_rows * width, 5);
  const std::vector<int64_t> shape = {part.all_rows, width};
  is_constant ? t.ConstInput<float>(shape, b) : t.Input<float>(shape, b);
  ASSERT_TRUE(IsOk(t.Run()));
  for (uint32_t i = 0; i < count; ++i) {
    const std::vector<float> expected = Product(Integers(m * k, i), m, b, width, part);
    EXPECT_TRUE(IsNear(t.Output<float>(i), expected, 0, 0)) << i;
  }
}

TEST(JoinedProductsTest, EachMatrixWithTheSameRows) {
  for (const bool transpose : {false, true}) {
    CheckJoined(1, 3, 5, {7, 0, 7, transpose});
    CheckJoined(2, 1, 5, {7, 3, 4, transpose});
    CheckJoined(3, 4, 33, {20, 1, 17, transpose});
    CheckJoined(2, 0, 3, {4, 2, 2, transpose});
    CheckJoined(2, 3, 3, {4, 4, 0, transpose});
  }
}

// KernelTester::Run compares the bits of one thread with those of several.
TEST(JoinedProductsTest, LargeEnoughForSeveralThreads) {
  CheckJoined(4, 16, 160, {300, 100, 200, false});
  CheckJoined(4, 16, 160, {300, 100, 200, true});
}

TEST(JoinedProductsTest, ConstantWeights) {
  for (const bool transpose : {false, true}) {
    CheckJoined(3, 4, 33, {20, 1, 17, transpose}, false, true);
    CheckJoined(4, 16, 160, {300, 100, 200, transpose}, false, true);
  }
}

TEST(JoinedProductsTest, InStrips) {
  for (const bool transpose : {false, true}) {
    for (const bool is_constant : {false, true}) {
      CheckJoined(1, 3, 5, {7, 0, 7, transpose}, true, is_constant);
      CheckJoined(3, 4, 33, {20, 1, 17, transpose}, true, is_constant);
      CheckJoined(2, 0, 3, {4, 2, 2, transpose}, true, is_constant);
      CheckJoined(2, 3, 3, {4, 4, 0, transpose}, true, is_constant);
      CheckJoined(4, 16, 160, {300, 100, 200, transpose}, true, is_constant);
    }
  }
}

TEST(JoinedProductsTest, ShapesThatDoNotGoTogether) {
  const auto refused = [](const std::vector<int64_t>& a, const std::vector<int64_t>& b) {
    KernelTester t("_JoinedMatMul");
    SetPart({0, 1, 2, false}, &t);
    t.Attr("num", 2).Attr("in_strips", false).Outputs({MS_FLOAT32, MS_FLOAT32});
    t.Input<float>({1, 2}, {1, 2}).Input<float>(a, std::vector<float>(a[0] * a[1]));
    t.Input<float>(b, std::vector<float>(b[0] * b[1]));
    return t.Run().code();
  };
  EXPECT_EQ(refused({1, 2}, {3, 5}), MS_OK);
  EXPECT_EQ(refused({1, 3}, {3, 5}), MS_INVALID_ARGUMENT);
  EXPECT_EQ(refused({2, 2}, {3, 5}), MS_INVALID_ARGUMENT);
  EXPECT_EQ(refused({1, 2}, {2, 5}), MS_INVALID_ARGUMENT);
}

TEST(PartProductTest, AddsMatricesAndVectors) {
  constexpr int64_t kM = 5;
  constexpr int64_t kWidth = 37;
  const Rows part = {11, 2, 9, false};
  const std::vector<float> a = Integers(kM * part.rows, 1);
  const std::vector<float> b = Integers(part.all_rows * kWidth, 2);
  const std::vector<float> matrix = Integers(kM * kWidth, 3);
  const std::vector<float> vector = Integers(kWidth, 4);
  std::vector<float> expected = Product(a, kM, b, kWidth, part);
  for (int64_t i = 0; i < kM * kWidth; ++i) expected[i] += matrix[i] + vector[i % kWidth];
  KernelTester t("_PartMatMul");
  SetPart(part, &t);
  t.Attr("num_addends", 2);
  t.Input<float>({kM, part.rows}, a).Input<float>({part.all_rows, kWidth}, b);
  t.Input<float>({kM, kWidth}, matrix).Input<float>({kWidth}, vector);
  ASSERT_TRUE(IsOk(t.Run()));
  EXPECT_TRUE(IsNear(t.Output<float>(0), expected, 0, 0));
}

TEST(PartProductTest, ConstantWeights) {
  for (const bool transpose : {false, true}) {
    const Rows part = {130, 65, 64, transpose};
    const std::vector<float> a = Integers(64 * 64, 1);
    const std::vector<float> b = Integers(130 * 64, 2);
    KernelTester t("_PartMatMul");
    SetPart(part, &t);
    t.Attr("num_addends", 0);
    t.Input<float>({64, 64}, a).ConstInput<float>({130, 64}, b);
    ASSERT_TRUE(IsOk(t.Run()));
    EXPECT_TRUE(IsNear(t.Output<float>(0), Product(a, 64, b, 64, part), 0, 0));
  }
}

// Of which the plan keeps strips.
TEST(PartProductTest, ARowAndConstantWeights) {
  const Rows part = {300, 44, 256, false};
  constexpr int64_t kWidth = 517;
  const std::vector<float> a = Integers(part.rows, 1);
  const std::vector<float> b = Integers(part.all_rows * kWidth, 2);
  const std::vector<float> bias = Integers(kWidth, 3);
  std::vector<float> expected = Product(a, 1, b, kWidth, part);
  for (int64_t i = 0; i < kWidth; ++i) expected[i] += bias[i];
  KernelTester t("_PartMatMul");
  SetPart(part, &t);
  t.Attr("num_addends", 1);
  t.Input<float>({1, part.rows}, a).ConstInput<float>({part.all_rows, kWidth}, b);
  t.Input<float>({kWidth}, bias);
  ASSERT_TRUE(IsOk(t.Run()));
  EXPECT_TRUE(IsNear(t.Output<float>(0), expected, 0, 0));
}

TEST(PartProductTest, AnAddendOfAnotherShape) {
  KernelTester t("_PartMatMul");
  SetPart({0, 0, 2, false}, &t);
  t.Attr("num_addends", 1);
  t.Input<float>({1, 2}, {1, 2}).Input<float>({2, 3}, std::vector<float>(6));
  t.Input<float>({2}, {1, 2});
  EXPECT_EQ(t.Run().code(), MS_INVALID_ARGUMENT);
}

TEST(SummedProductsTest, OneSumOfAll) {
  const std::vector<int64_t> depths = {3, 1, 0, 6};
  for (const int64_t columns : {1, 19, 300}) {
    constexpr int64_t kRows = 21;
    std::vector<float> expected(kRows * columns);
    KernelTester t("_SummedMatMul");
    t.Attr("T", MS_FLOAT32).Attr("num", static_cast<int64_t>(depths.size()));
    for (const int64_t depth : depths) {
      t.Input<float>({depth, kRows}, Integers(depth * kRows, depth));
    }
    for (const int64_t depth : depths) {
      const std::vector<float> a = Integers(depth * kRows, depth);
      const std::vector<float> b = Integers(depth * columns, depth + 1);
      t.Input<float>({depth, columns}, b);
      for (int64_t i = 0; i < kRows * columns; ++i) {
        for (int64_t k = 0; k < depth; ++k) {
          expected[i] += a[k * kRows + i / columns] * b[k * columns + i % columns];
        }
      }
    }
    ASSERT_TRUE(IsOk(t.Run()));
    EXPECT_TRUE(IsNear(t.Output<float>(0), expected, 0, 0));
  }
}

TEST(SummedProductsTest, ShapesThatDoNotGoTogether) {
  KernelTester t("_SummedMatMul");
  t.Attr("T", MS_FLOAT32).Attr("num", 2);
  t.Input<float>({1, 2}, {1, 2}).Input<float>({1, 3}, {1, 2, 3});
  t.Input<float>({1, 1}, {1}).Input<float>({1, 1}, {1});
  EXPECT_EQ(t.Run().code(), MS_INVALID_ARGUMENT);
}

}  // namespace
}  // namespace millstream::kernels
