// _MatMulApplyGradientDescent
#include <gtest/gtest.h>

#include <cstdint>
#include <string>
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

constexpr char kOp[] = "_MatMulApplyGradientDescent";

void CheckStep(int64_t depth, int64_t rows, int64_t columns) {
  SCOPED_TRACE(ms::StrCat(depth, " x ", rows, " x ", columns));
  const std::vector<float> a = Integers(depth * rows, 1);
  const std::vector<float> b = Integers(depth * columns, 5);
  std::vector<float> expected = Integers(rows * columns, 9);
  KernelTester t(kOp);
  t.Attr("T", MS_FLOAT32).Outputs({});
  t.Variable<float>({rows, columns}, expected).Input<float>({}, {0.5f});
  t.Input<float>({depth, rows}, a).Input<float>({depth, columns}, b);
  ASSERT_TRUE(IsOk(t.Run()));
  for (int64_t i = 0; i < rows; ++i) {
    for (int64_t j = 0; j < columns; ++j) {
      for (int64_t k = 0; k < depth; ++k) {
        expected[i * columns + j] -= 0.5f * a[k * rows + i] * b[k * columns + j];
      }
    }
  }
  EXPECT_TRUE(IsNear(t.VariableValue<float>(0), expected, 0, 0));
}

// Around what fits a strip, a tile and a block of rows.
TEST(ApplyProductTest, AnyShape) {
  for (const int64_t depth : {0, 1, 2, 7, 32}) {
    for (const int64_t rows : {1, 3, 4, 8, 13}) {
      for (const int64_t columns : {1, 15, 16, 33, 256, 300, 531}) CheckStep(depth, rows, columns);
    }
  }
  CheckStep(4, 0, 5);
  CheckStep(4, 5, 0);
}

// KernelTester::Run compares the bits of one thread with those of several.
TEST(ApplyProductTest, LargeEnoughForSeveralThreads) { CheckStep(16, 611, 1027); }

TEST(ApplyProductTest, ShapesThatDoNotGoTogether) {
  const auto refused = [](const std::vector<int64_t>& variable, const std::vector<int64_t>& b) {
    KernelTester t(kOp);
    t.Attr("T", MS_FLOAT32).Outputs({});
    t.Variable<float>(variable, std::vector<float>(variable[0] * variable[1]));
    t.Input<float>({}, {0.5f}).Input<float>({2, 3}, std::vector<float>(6));
    t.Input<float>(b, std::vector<float>(b[0] * b[1]));
    const ms::Status status = t.Run();
    EXPECT_EQ(status.code(), MS_INVALID_ARGUMENT);
    return std::string(status.message());
  };
  EXPECT_NE(refused({3, 4}, {1, 4}).find("equally many rows"), std::string::npos);
  EXPECT_NE(refused({4, 3}, {2, 4}).find("product's shape [3,4]"), std::string::npos);
}

}  // namespace
}  // namespace millstream::kernels
