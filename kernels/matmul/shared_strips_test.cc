// _WeightStrips and _StripMatMul
#include <gtest/gtest.h>

#include <cstdint>
#include <vector>

#include "kernels/testing/kernel_tester.h"

namespace millstream::kernels {
namespace {

using testing::IsNear;
using testing::IsOk;
using testing::KernelTester;

constexpr int64_t kStrip = 16;  // columns

// Integers from -8 to 8, whose products and sums here are exact.
std::vector<float> Integers(int64_t count, int64_t salt) {
  std::vector<float> values;
  for (int64_t i = 0; i < count; ++i) {
    values.push_back(static_cast<float>(((i + salt) * 7919) % 17 - 8));
  }
  return values;
}

// The strips of a matrix of `depth` rows.
std::vector<float> Strips(const std::vector<float>& matrix, int64_t depth, int64_t columns) {
  const int64_t strips = (columns + kStrip - 1) / kStrip;
  std::vector<float> arranged(strips * depth * kStrip);
  for (int64_t k = 0; k < depth; ++k) {
    for (int64_t j = 0; j < columns; ++j) {
      arranged[(j / kStrip * depth + k) * kStrip + j % kStrip] = matrix[k * columns + j];
    }
  }
  return arranged;
}

void CheckStrips(int64_t all_rows, int64_t width, int64_t first, int64_t rows, bool transpose) {
  SCOPED_TRACE(ms::StrCat(rows, " rows of ", width, transpose ? ", transposed" : ""));
  const std::vector<float> b = Integers(all_rows * width, 3);
  const int64_t depth = transpose ? width : rows;
  const int64_t columns = transpose ? rows : width;
  std::vector<float> part(depth * columns);
  for (int64_t i = 0; i < rows; ++i) {
    for (int64_t j = 0; j < width; ++j) {
      part[transpose ? j * rows + i : i * width + j] = b[(first + i) * width + j];
    }
  }
  KernelTester t("_WeightStrips");
  t.Attr("T", MS_FLOAT32).Attr("first_row", first).Attr("num_rows", rows);
  t.Attr("transpose_b", transpose);
  t.Input<float>({all_rows, width}, b);
  ASSERT_TRUE(IsOk(t.Run()));
  EXPECT_TRUE(IsNear(t.Output<float>(0), Strips(part, depth, columns), 0, 0));
}

TEST(WeightStripsTest, RowsOfAMatrix) {
  for (const bool transpose : {false, true}) {
    CheckStrips(7, 5, 0, 7, transpose);
    CheckStrips(20, 33, 1, 17, transpose);
    CheckStrips(40, 16, 8, 32, transpose);
    CheckStrips(4, 3, 4, 0, transpose);
    // Large enough for several threads.
    CheckStrips(500, 401, 50, 400, transpose);
  }
}

TEST(WeightStripsTest, RowsThatAreNotThere) {
  KernelTester t("_WeightStrips");
  t.Attr("T", MS_FLOAT32).Attr("first_row", 1).Attr("num_rows", 3).Attr("transpose_b", false);
  t.Input<float>({3, 2}, std::vector<float>(6));
  EXPECT_EQ(t.Run().code(), MS_INVALID_ARGUMENT);
}

void SetProduct(int64_t columns, int64_t num_addends, KernelTester* t) {
  t->Attr("T", MS_FLOAT32).Attr("num_addends", num_addends).Attr("num_columns", columns);
}

void CheckProduct(int64_t m, int64_t depth, int64_t columns) {
  SCOPED_TRACE(ms::StrCat(m, " x ", depth, " x ", columns));
  const std::vector<float> a = Integers(m * depth, 1);
  const std::vector<float> b = Integers(depth * columns, 2);
  const std::vector<float> matrix = Integers(m * columns, 3);
  const std::vector<float> vector = Integers(columns, 4);
  std::vector<float> expected(m * columns);
  for (int64_t i = 0; i < m; ++i) {
    for (int64_t j = 0; j < columns; ++j) {
      for (int64_t k = 0; k < depth; ++k) {
        expected[i * columns + j] += a[i * depth + k] * b[k * columns + j];
      }
      expected[i * columns + j] += matrix[i * columns + j] + vector[j];
    }
  }
  KernelTester t("_StripMatMul");
  SetProduct(columns, 2, &t);
  t.Input<float>({m, depth}, a);
  t.Input<float>({(columns + kStrip - 1) / kStrip, depth, kStrip}, Strips(b, depth, columns));
  t.Input<float>({m, columns}, matrix).Input<float>({columns}, vector);
  ASSERT_TRUE(IsOk(t.Run()));
  EXPECT_TRUE(IsNear(t.Output<float>(0), expected, 0, 0));
}

TEST(StripMatMulTest, ProductsWithAddends) {
  CheckProduct(5, 9, 37);
  CheckProduct(1, 4, 16);
  CheckProduct(49, 3, 65);
  CheckProduct(0, 3, 4);
  CheckProduct(3, 0, 4);
  // Large enough for several threads, of which KernelTester::Run compares the bits.
  CheckProduct(64, 200, 300);
}

TEST(StripMatMulTest, ShapesThatDoNotGoTogether) {
  const auto refused = [](const std::vector<int64_t>& strips, const std::vector<int64_t>& addend) {
    KernelTester t("_StripMatMul");
    SetProduct(20, 1, &t);
    t.Input<float>({2, 3}, std::vector<float>(6));
    t.Input<float>(strips, std::vector<float>(strips[0] * strips[1] * strips[2]));
    int64_t size = 1;
    for (const int64_t dim : addend) size *= dim;
    t.Input<float>(addend, std::vector<float>(size));
    return t.Run().code();
  };
  EXPECT_EQ(refused({2, 3, 16}, {20}), MS_OK);
  EXPECT_EQ(refused({1, 3, 16}, {20}), MS_INVALID_ARGUMENT);
  EXPECT_EQ(refused({2, 4, 16}, {20}), MS_INVALID_ARGUMENT);
  EXPECT_EQ(refused({2, 3, 8}, {20}), MS_INVALID_ARGUMENT);
  EXPECT_EQ(refused({2, 3, 16}, {3, 20}), MS_INVALID_ARGUMENT);
}

}  // namespace
}  // namespace millstream::kernels
