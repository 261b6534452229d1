#include <gtest/gtest.h>

#include <cstdint>
#include <vector>

#include "kernels/testing/kernel_tester.h"

namespace millstream::kernels {
namespace {

using testing::IsOk;
using testing::KernelTester;

std::vector<float> Iota(int64_t size, float first) {
  std::vector<float> values;
  for (int64_t i = 0; i < size; ++i) values.push_back(first + static_cast<float>(i));
  return values;
}

TEST(ConcatV2Test, JoinsAlongTheLastAxis) {
  KernelTester t("ConcatV2");
  t.Attr("T", MS_INT32).Attr("Tidx", MS_INT32);
  t.Input<int32_t>({2, 1}, {1, 2}).Input<int32_t>({2, 0}, {}).Input<int32_t>({2, 2}, {3, 4, 5, 6});
  t.ConstInput<int32_t>({}, {-1});
  ASSERT_TRUE(IsOk(t.Run()));
  EXPECT_EQ(t.OutputShape(0), (std::vector<int64_t>{2, 3}));
  EXPECT_EQ(t.Output<int32_t>(0), (std::vector<int32_t>{1, 3, 4, 2, 5, 6}));
}

TEST(ConcatV2Test, JoinsLargeTensorsAlongAnyAxis) {
  const std::vector<int64_t> left{37, 41, 13};
  for (uint32_t axis = 0; axis < 3; ++axis) {
    std::vector<int64_t> right = left;
    right[axis] = 29;
    int64_t outer = 1;
    int64_t inner = 1;
    for (uint32_t i = 0; i < axis; ++i) outer *= left[i];
    for (uint32_t i = axis + 1; i < 3; ++i) inner *= left[i];
    const int64_t left_row = left[axis] * inner;
    const int64_t right_row = 29 * inner;
    const std::vector<float> a = Iota(outer * left_row, 0);
    const std::vector<float> b = Iota(outer * right_row, 0.5f);
    std::vector<float> expected;
    for (int64_t o = 0; o < outer; ++o) {
      expected.insert(expected.end(), a.begin() + o * left_row, a.begin() + (o + 1) * left_row);
      expected.insert(expected.end(), b.begin() + o * right_row, b.begin() + (o + 1) * right_row);
    }
    KernelTester t("ConcatV2");
    t.Attr("T", MS_FLOAT32).Attr("Tidx", MS_INT64);
    t.Input<float>(left, a).Input<float>(right, b).ConstInput<int64_t>({}, {axis});
    ASSERT_TRUE(IsOk(t.Run()));
    EXPECT_EQ(t.Output<float>(0), expected) << "axis " << axis;
  }
}

// Rows of bytes, some of which are too short for vectors, and more inputs than one pass takes.
TEST(ConcatV2Test, JoinsRowsOfAnyLengthOfManyTensors) {
  constexpr int64_t kOuter = 37;
  for (const int64_t least : {1, 31, 32, 33, 120, 900}) {
    for (const int64_t count : {1, 2, 3, 33, 70}) {
      KernelTester t("ConcatV2");
      t.Attr("T", MS_UINT8).Attr("Tidx", MS_INT32);
      std::vector<std::vector<uint8_t>> rows(static_cast<size_t>(kOuter));
      for (int64_t i = 0; i < count; ++i) {
        const int64_t width = i == 1 ? 0 : least + i % 3;
        std::vector<uint8_t> values;
        for (int64_t at = 0; at < kOuter * width; ++at) {
          values.push_back(static_cast<uint8_t>(at * 7 + i));
          rows[static_cast<size_t>(at / width)].push_back(values.back());
        }
        t.Input<uint8_t>({kOuter, width}, values);
      }
      t.ConstInput<int32_t>({}, {1});
      ASSERT_TRUE(IsOk(t.Run()));
      std::vector<uint8_t> expected;
      for (const std::vector<uint8_t>& row : rows) {
        expected.insert(expected.end(), row.begin(), row.end());
      }
      EXPECT_EQ(t.Output<uint8_t>(0), expected) << count << " tensors of " << least << " bytes";
    }
  }
}

// More than the last cache holds, with rows that begin and end within lines.
TEST(ConcatV2Test, JoinsLongRowsOfMuchMemory) {
  constexpr int64_t kOuter = 4096;
  constexpr int64_t kWidth = 2049;
  KernelTester t("ConcatV2");
  t.Attr("T", MS_UINT8).Attr("Tidx", MS_INT32);
  std::vector<uint8_t> left;
  for (int64_t i = 0; i < kOuter * kWidth; ++i) left.push_back(static_cast<uint8_t>(i % 251));
  const std::vector<uint8_t> right(left.rbegin(), left.rend());
  t.Input<uint8_t>({kOuter, kWidth}, left).Input<uint8_t>({kOuter, kWidth}, right);
  t.ConstInput<int32_t>({}, {1});
  ASSERT_TRUE(IsOk(t.Run()));
  std::vector<uint8_t> expected;
  for (int64_t row = 0; row < kOuter * kWidth; row += kWidth) {
    expected.insert(expected.end(), left.begin() + row, left.begin() + row + kWidth);
    expected.insert(expected.end(), right.begin() + row, right.begin() + row + kWidth);
  }
  EXPECT_TRUE(t.Output<uint8_t>(0) == expected);
}

TEST(ConcatV2Test, RefusesShapesThatDoNotFit) {
  KernelTester t("ConcatV2");
  t.Attr("T", MS_FLOAT32).Attr("Tidx", MS_INT32);
  t.Input<float>({2, 1}, {1, 2}).Input<float>({1, 1}, {3}).Input<int32_t>({}, {1});
  const ms::Status status = t.Run();
  EXPECT_EQ(status.code(), MS_INVALID_ARGUMENT);
  EXPECT_EQ(status.message(),
            "values must agree in rank and in all dimensions but axis = 1: values[0] has shape "
            "[2,1], values[1] has shape [1,1]");
}

TEST(PackTest, AddsAnAxisAnywhere) {
  const std::vector<std::vector<float>> expected{
      {1, 2, 3, 4, 5, 6, 7, 8}, {1, 2, 5, 6, 3, 4, 7, 8}, {1, 5, 2, 6, 3, 7, 4, 8}};
  for (int64_t axis = 0; axis < 3; ++axis) {
    for (int64_t given : {axis, axis - 3}) {
      KernelTester t("Pack");
      t.Attr("T", MS_FLOAT32).Attr("axis", given);
      t.Input<float>({2, 2}, {1, 2, 3, 4}).Input<float>({2, 2}, {5, 6, 7, 8});
      ASSERT_TRUE(IsOk(t.Run()));
      EXPECT_EQ(t.OutputShape(0), (std::vector<int64_t>{2, 2, 2}));
      EXPECT_EQ(t.Output<float>(0), expected[axis]) << "axis " << given;
    }
  }
}

TEST(PackTest, RefusesShapesThatDiffer) {
  KernelTester t("Pack");
  t.Attr("T", MS_FLOAT32).Attr("axis", 0);
  t.Input<float>({2}, {1, 2}).Input<float>({1}, {3});
  const ms::Status status = t.Run();
  EXPECT_EQ(status.code(), MS_INVALID_ARGUMENT);
  EXPECT_EQ(status.message(), "values must have one shape: values[0] has [2], values[1] has [1]");
}

TEST(SplitTest, CutsColumns) {
  KernelTester t("Split");
  t.Attr("T", MS_FLOAT32).Attr("num_split", 2).Outputs({MS_FLOAT32, MS_FLOAT32});
  t.ConstInput<int32_t>({}, {1}).Input<float>({2, 4}, {1, 2, 3, 4, 5, 6, 7, 8});
  ASSERT_TRUE(IsOk(t.Run()));
  EXPECT_EQ(t.Output<float>(0), (std::vector<float>{1, 2, 5, 6}));
  EXPECT_EQ(t.Output<float>(1), (std::vector<float>{3, 4, 7, 8}));
}

TEST(SplitTest, RefusesWhatDoesNotDivide) {
  KernelTester t("Split");
  t.Attr("T", MS_FLOAT32).Attr("num_split", 2).Outputs({MS_FLOAT32, MS_FLOAT32});
  t.Input<int32_t>({}, {0}).Input<float>({3}, {1, 2, 3});
  const ms::Status status = t.Run();
  EXPECT_EQ(status.code(), MS_INVALID_ARGUMENT);
  EXPECT_EQ(status.message(),
            "num_split = 2 does not divide dimension 0 of value, which has shape [3]");
}

TEST(SplitVTest, GivesTheRestToMinusOneAndSkipsUnusedOutputs) {
  KernelTester t("SplitV");
  t.Attr("T", MS_INT16).Attr("Tlen", MS_INT64).Attr("num_split", 3);
  t.Outputs({MS_INT16, MS_INT16, MS_INT16}).Unused(0);
  t.Input<int16_t>({5}, {1, 2, 3, 4, 5}).ConstInput<int64_t>({3}, {1, -1, 2});
  t.ConstInput<int32_t>({}, {0});
  ASSERT_TRUE(IsOk(t.Run()));
  EXPECT_EQ(t.Output<int16_t>(1), (std::vector<int16_t>{2, 3}));
  EXPECT_EQ(t.Output<int16_t>(2), (std::vector<int16_t>{4, 5}));
}

TEST(SplitVTest, RefusesSizesThatDoNotAddUp) {
  for (const std::vector<int32_t>& sizes :
       {std::vector<int32_t>{1, 1}, {2, 2}, {-1, -1}, {4, -1}, {-2, 5}}) {
    KernelTester t("SplitV");
    t.Attr("T", MS_FLOAT32).Attr("Tlen", MS_INT32).Attr("num_split", 2);
    t.Outputs({MS_FLOAT32, MS_FLOAT32});
    t.Input<float>({3}, {1, 2, 3}).Input<int32_t>({2}, sizes).Input<int32_t>({}, {0});
    const ms::Status status = t.Run();
    EXPECT_EQ(status.code(), MS_INVALID_ARGUMENT) << sizes[0] << " " << sizes[1];
    EXPECT_NE(status.message().find("size_splits"), std::string_view::npos) << status.message();
  }
}

TEST(UnpackTest, DropsTheAxis) {
  KernelTester t("Unpack");
  t.Attr("T", MS_FLOAT64).Attr("num", 3).Attr("axis", -1);
  t.Outputs({MS_FLOAT64, MS_FLOAT64, MS_FLOAT64});
  t.Input<double>({2, 3}, {1, 2, 3, 4, 5, 6});
  ASSERT_TRUE(IsOk(t.Run()));
  EXPECT_EQ(t.OutputShape(1), (std::vector<int64_t>{2}));
  EXPECT_EQ(t.Output<double>(1), (std::vector<double>{2, 5}));
}

TEST(UnpackTest, RefusesAnotherNumber) {
  KernelTester t("Unpack");
  t.Attr("T", MS_FLOAT32).Attr("num", 1).Attr("axis", 0);
  t.Input<float>({2}, {1, 2});
  const ms::Status status = t.Run();
  EXPECT_EQ(status.code(), MS_INVALID_ARGUMENT);
  EXPECT_EQ(status.message(), "num = 1 must be dimension 0 of value, which has shape [2]");
}

}  // namespace
}  // namespace millstream::kernels
