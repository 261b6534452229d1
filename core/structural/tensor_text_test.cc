#include "core/structural/tensor_text.h"

#include <complex>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "gtest/gtest.h"

namespace millstream {
namespace {

Tensor Matrix(int64_t rows, int64_t columns) {
  std::vector<int32_t> values(static_cast<size_t>(rows * columns));
  for (size_t i = 0; i < values.size(); ++i) values[i] = static_cast<int32_t>(i);
  return Tensor::FromValues<int32_t>(Shape({rows, columns}), values);
}

template <typename T>
std::string ScalarTextOf(T value) {
  return FirstElementsText(Tensor::Scalar<T>(value), -1);
}

TEST(TensorTextTest, NumbersAreWrittenWithTheDigitsThatTheyNeed) {
  EXPECT_EQ(ScalarTextOf(0.1f), "0.1");
  EXPECT_EQ(ScalarTextOf(1.0f / 3), "0.333333343");
  EXPECT_EQ(ScalarTextOf(1e10f), "1e+10");
  EXPECT_EQ(ScalarTextOf(0.1), "0.1");
  EXPECT_EQ(ScalarTextOf(1.0 / 3), "0.33333333333333331");
  EXPECT_EQ(ScalarTextOf(-std::numeric_limits<float>::infinity()), "-inf");
  EXPECT_EQ(ScalarTextOf(-std::numeric_limits<double>::quiet_NaN()), "nan");
  EXPECT_EQ(ScalarTextOf(std::complex<float>(1, -0.5f)), "(1,-0.5)");
}

TEST(TensorTextTest, SmallIntegersAndTruthsAreNumbers) {
  EXPECT_EQ(ScalarTextOf<int8_t>(-65), "-65");
  EXPECT_EQ(ScalarTextOf<uint8_t>(65), "65");
  EXPECT_EQ(ScalarTextOf(true), "1");
  EXPECT_EQ(ScalarTextOf(std::numeric_limits<uint64_t>::max()), "18446744073709551615");
}

TEST(TensorTextTest, NarrowFloatsAreWrittenAsTheNumberThatTheyAre) {
  Tensor half = Tensor::Create(DataType::kHalf, Shape()).value();
  *half.data<uint16_t>() = 0x3E00;
  EXPECT_EQ(FirstElementsText(half, -1), "1.5");
  Tensor bfloat16 = Tensor::Create(DataType::kBFloat16, Shape()).value();
  *bfloat16.data<uint16_t>() = 0x3FC0;
  EXPECT_EQ(FirstElementsText(bfloat16, -1), "1.5");
}

TEST(FirstElementsTextTest, LeavesOutWhatIsBeyondTheLimit) {
  const Tensor vector = Tensor::Vector<int32_t>({1, 2, 3});
  EXPECT_EQ(FirstElementsText(vector, 2), "1 2...");
  EXPECT_EQ(FirstElementsText(vector, 3), "1 2 3");
  EXPECT_EQ(FirstElementsText(vector, int64_t{1} << 62), "1 2 3");
  EXPECT_EQ(FirstElementsText(vector, -1), "1 2 3");
  EXPECT_EQ(FirstElementsText(vector, 0), "...");
}

TEST(FirstElementsTextTest, BracketsEncloseInnerDimensions) {
  EXPECT_EQ(FirstElementsText(Matrix(2, 2), -1), "[0 1][2 3]");
  EXPECT_EQ(FirstElementsText(Matrix(2, 2), 3), "[0 1][2...]...");
  EXPECT_EQ(FirstElementsText(Matrix(2, 2), 2), "[0 1]...");
  EXPECT_EQ(FirstElementsText(Matrix(4, 1).Reshaped(Shape({2, 2, 1})), -1), "[[0][1]][[2][3]]");
}

TEST(FirstElementsTextTest, OfAnEmptyTensorThereIsNone) {
  EXPECT_EQ(FirstElementsText(Matrix(0, 3), 3), "");
  EXPECT_EQ(
      FirstElementsText(Tensor::Create(DataType::kFloat, Shape({int64_t{1} << 40, 0})).value(),
                        int64_t{1} << 62),
      "");
}

TEST(FirstElementsTextTest, StringsAreEscaped) {
  EXPECT_EQ(FirstElementsText(Tensor::Vector<std::string>({"a b", "line\n", "é"}), -1),
            "a b line\\n é");
}

TEST(EndsTextTest, ShowsBothEndsOfEachDimension) {
  EXPECT_EQ(EndsText(Tensor::Vector<int32_t>({1, 2, 3, 4, 5}), 2), "[1 2 ... 4 5]");
  EXPECT_EQ(EndsText(Tensor::Vector<int32_t>({1, 2, 3, 4}), 2), "[1 2 3 4]");
  EXPECT_EQ(EndsText(Tensor::Vector<int32_t>({1, 2, 3}), 2), "[1 2 3]");
  EXPECT_EQ(EndsText(Tensor::Vector<int32_t>({1, 2, 3}), -1), "[1 2 3]");
  EXPECT_EQ(EndsText(Tensor::Vector<int32_t>({1, 2, 3}), 0), "[...]");
  EXPECT_EQ(EndsText(Matrix(3, 3), 1), "[[0 ... 2]\n ...\n [6 ... 8]]");
  EXPECT_EQ(EndsText(Matrix(4, 1).Reshaped(Shape({2, 2, 1})), 3),
            "[[[0]\n  [1]]\n\n [[2]\n  [3]]]");
}

TEST(EndsTextTest, AnEmptyTensorIsABracket) {
  EXPECT_EQ(EndsText(Matrix(2, 0), 3), "[]");
  EXPECT_EQ(EndsText(Tensor::Create(DataType::kFloat, Shape({int64_t{1} << 40, 0})).value(), -1),
            "[]");
}

TEST(EndsTextTest, StringsAreQuoted) {
  EXPECT_EQ(EndsText(Tensor::Scalar<std::string>("a\n"), 3), "\"a\n\"");
  EXPECT_EQ(EndsText(Tensor::Vector<std::string>({"a", "b"}), 3), "[\"a\" \"b\"]");
}

}  // namespace
}  // namespace millstream
