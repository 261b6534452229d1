// DynamicPartition and DynamicStitch.
#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <vector>

#include "kernels/testing/kernel_tester.h"

namespace millstream::kernels {
namespace {

using testing::IsOk;
using testing::KernelTester;
using Floats = std::vector<float>;
using Ints = std::vector<int32_t>;
using Texts = std::vector<std::string>;

TEST(DynamicPartitionTest, DealsRowsInTheirOrder) {
  KernelTester t("DynamicPartition");
  t.Attr("T", MS_FLOAT32).Outputs({MS_FLOAT32, MS_FLOAT32, MS_FLOAT32});
  t.Input<float>({4, 2}, {1, 2, 3, 4, 5, 6, 7, 8}).Input<int32_t>({4}, {2, 0, 2, 2});
  ASSERT_TRUE(IsOk(t.Run()));
  EXPECT_EQ(t.Output<float>(0), (Floats{3, 4}));
  EXPECT_EQ(t.OutputShape(1), (std::vector<int64_t>{0, 2}));
  EXPECT_EQ(t.Output<float>(2), (Floats{1, 2, 5, 6, 7, 8}));
}

TEST(DynamicPartitionTest, DealsElementsAndStrings) {
  KernelTester numbers("DynamicPartition");
  numbers.Attr("T", MS_INT8).Outputs({MS_INT8, MS_INT8});
  numbers.Input<int8_t>({2, 2}, {1, 2, 3, 4}).Input<int32_t>({2, 2}, {1, 0, 0, 1});
  ASSERT_TRUE(IsOk(numbers.Run()));
  EXPECT_EQ(numbers.Output<int8_t>(1), (std::vector<int8_t>{1, 4}));

  KernelTester texts("DynamicPartition");
  texts.Attr("T", MS_STRING).Outputs({MS_STRING, MS_STRING});
  texts.Input<std::string>({2, 2}, {"a", "b", "c", "d"}).Input<int32_t>({2}, {1, 1});
  ASSERT_TRUE(IsOk(texts.Run()));
  EXPECT_EQ(texts.Output<std::string>(0), Texts());
  EXPECT_EQ(texts.Output<std::string>(1), (Texts{"a", "b", "c", "d"}));
}

TEST(DynamicPartitionTest, NamesThePartitionOutOfRange) {
  for (int32_t number : {-1, 2}) {
    KernelTester t("DynamicPartition");
    t.Attr("T", MS_FLOAT32).Outputs({MS_FLOAT32, MS_FLOAT32});
    t.Input<float>({2}, {1, 2}).Input<int32_t>({2}, {0, number});
    const ms::Status status = t.Run();
    EXPECT_EQ(status.code(), MS_INVALID_ARGUMENT);
    EXPECT_NE(status.message().find("partitions[1]"), std::string_view::npos) << status.message();
  }
}

TEST(DynamicStitchTest, LaterRowsWinAndGapsAreZero) {
  KernelTester t("DynamicStitch");
  t.Attr("T", MS_FLOAT32).Outputs({MS_FLOAT32});
  t.Input<int32_t>({2}, {5, 1}).Input<int32_t>({}, {1}).Input<int32_t>({1, 2}, {3, 3});
  t.Input<float>({2, 2}, {1, 2, 3, 4}).Input<float>({2}, {5, 6});
  t.Input<float>({1, 2, 2}, {7, 8, 9, 10});
  ASSERT_TRUE(IsOk(t.Run()));
  EXPECT_EQ(t.OutputShape(0), (std::vector<int64_t>{6, 2}));
  EXPECT_EQ(t.Output<float>(0), (Floats{0, 0, 5, 6, 0, 0, 9, 10, 0, 0, 1, 2}));
}

TEST(DynamicStitchTest, UndoesAPartitionOfManyRows) {
  constexpr int32_t kRows = 20000;
  Ints even;
  Ints odd;
  std::vector<double> even_rows;
  std::vector<double> odd_rows;
  std::vector<double> expected;
  for (int32_t i = 0; i < kRows; ++i) {
    (i % 2 == 0 ? even : odd).push_back(i);
    (i % 2 == 0 ? even_rows : odd_rows).push_back(i);
    expected.push_back(i);
  }
  KernelTester t("DynamicStitch");
  t.Attr("T", MS_FLOAT64).Outputs({MS_FLOAT64});
  t.Input<int32_t>({kRows / 2}, even).Input<int32_t>({kRows / 2}, odd);
  t.Input<double>({kRows / 2}, even_rows).Input<double>({kRows / 2}, odd_rows);
  ASSERT_TRUE(IsOk(t.Run()));
  EXPECT_EQ(t.Output<double>(0), expected);
}

TEST(DynamicStitchTest, StitchesStringsAndNothing) {
  KernelTester texts("DynamicStitch");
  texts.Attr("T", MS_STRING).Outputs({MS_STRING});
  texts.Input<int32_t>({2}, {2, 0}).Input<std::string>({2}, {"c", "a"});
  ASSERT_TRUE(IsOk(texts.Run()));
  EXPECT_EQ(texts.Output<std::string>(0), (Texts{"a", "", "c"}));

  KernelTester nothing("DynamicStitch");
  nothing.Attr("T", MS_FLOAT32).Outputs({MS_FLOAT32});
  nothing.Input<int32_t>({0}, {}).Input<float>({0, 2}, {});
  ASSERT_TRUE(IsOk(nothing.Run()));
  EXPECT_EQ(nothing.OutputShape(0), (std::vector<int64_t>{0, 2}));
}

TEST(DynamicStitchTest, RefusesNegativeIndicesAndRowsThatDiffer) {
  KernelTester negative("DynamicStitch");
  negative.Attr("T", MS_FLOAT32).Outputs({MS_FLOAT32});
  negative.Input<int32_t>({2}, {0, -1}).Input<float>({2}, {1, 2});
  const ms::Status status = negative.Run();
  EXPECT_EQ(status.code(), MS_INVALID_ARGUMENT);
  EXPECT_EQ(status.message(),
            "indices[0] holds -1 (at 1 in flat order), which must not be negative");

  KernelTester rows("DynamicStitch");
  rows.Attr("T", MS_FLOAT32).Outputs({MS_FLOAT32});
  rows.Input<int32_t>({1}, {0}).Input<int32_t>({1}, {1});
  rows.Input<float>({1, 2}, {1, 2}).Input<float>({1, 1}, {1});
  EXPECT_EQ(rows.Run().message(), "rows of data[1] have shape [1], those of data[0] [2]");
}

}  // namespace
}  // namespace millstream::kernels
