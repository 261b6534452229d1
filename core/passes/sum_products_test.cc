// sum_products changes what a plan executes, and of what it gives nothing but the rounding. Sums of
// small integers are exact.
#include <vector>

#include "absl/strings/str_cat.h"
#include "core/passes/pass_fixture.h"
#include "gtest/gtest.h"

namespace millstream {
namespace {

class SumProductsTest : public PassTest {
 protected:
  SumProductsTest() : PassTest("sum_products") {}

  Output Matrix(int64_t rows, int64_t columns) {
    Tensor tensor = *Tensor::Create(DataType::kFloat, Shape({rows, columns}));
    for (int64_t i = 0; i < tensor.num_elements(); ++i) {
      tensor.data<float>()[i] = static_cast<float>((i * 7919) % 17 - 8);
    }
    return FedValue(absl::StrCat("matrix_", matrices_++), tensor);
  }
  Output Gradient(int64_t depth, bool transpose_a = true) {
    const Output left = transpose_a ? Matrix(depth, 8) : Matrix(8, depth);
    return Op("MatMul", {left, Matrix(depth, 6)}, {{"transpose_a", transpose_a}});
  }
  Output SumOf(const std::vector<Output>& values) {
    return build.Variadic("AddN", {values})->output(0);
  }

  int matrices_ = 0;
};

TEST_F(SumProductsTest, OneProduct) {
  EXPECT_EQ(Saved({SumOf({Gradient(2), Gradient(3), Gradient(1)})}), 3);
}

TEST_F(SumProductsTest, OtherSummandsStay) {
  EXPECT_EQ(Saved({SumOf({Gradient(2), Gradient(3), Matrix(8, 6)})}), 0);
  EXPECT_EQ(Saved({SumOf({Gradient(2), Gradient(2, false)})}), 0);
}

TEST_F(SumProductsTest, AProductThatOthersReadStays) {
  const Output product = Gradient(2);
  const Output sum = SumOf({product, Gradient(3)});
  EXPECT_EQ(Saved({sum, product}), 0);
  EXPECT_EQ(Saved({sum, Op("Neg", {product})}), 0);
  EXPECT_EQ(Saved({SumOf({product, product})}), 0);
}

// To copy 9 rows of 8 and 6 numbers costs more than a product of 8 rows and 6 columns.
TEST_F(SumProductsTest, LongSumsStay) { EXPECT_EQ(Saved({SumOf({Gradient(3), Gradient(9)})}), 0); }

}  // namespace
}  // namespace millstream
