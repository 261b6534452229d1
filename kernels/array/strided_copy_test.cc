#include "kernels/array/strided_copy.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <numeric>
#include <random>
#include <vector>

#include "kernels/testing/kernel_tester.h"

namespace millstream::kernels {
namespace {

using testing::IsOk;
using testing::KernelTester;

// Transpose of an iota tensor by index arithmetic, one element at a time.
template <typename T>
std::vector<T> TransposedIota(const std::vector<int64_t>& shape, const std::vector<int64_t>& perm) {
  const size_t rank = shape.size();
  std::vector<int64_t> strides(rank, 1);
  for (size_t i = rank; i-- > 1;) strides[i - 1] = strides[i] * shape[i];
  const int64_t size = std::accumulate(shape.begin(), shape.end(), int64_t{1}, std::multiplies<>());
  std::vector<T> result;
  for (int64_t flat = 0; flat < size; ++flat) {
    int64_t rest = flat;
    int64_t source = 0;
    for (size_t i = rank; i-- > 0;) {
      source += rest % shape[perm[i]] * strides[perm[i]];
      rest /= shape[perm[i]];
    }
    result.push_back(static_cast<T>(source));
  }
  return result;
}

template <typename T>
void ExpectTransposes(const std::vector<int64_t>& shape, const std::vector<int64_t>& perm) {
  const int64_t size = std::accumulate(shape.begin(), shape.end(), int64_t{1}, std::multiplies<>());
  std::vector<T> values;
  for (int64_t i = 0; i < size; ++i) values.push_back(static_cast<T>(i));
  KernelTester t("Transpose");
  t.Attr("T", ms::DTypeOf<T>()).Attr("Tperm", MS_INT64);
  t.Input<T>(shape, values).template ConstInput<int64_t>({static_cast<int64_t>(perm.size())}, perm);
  ASSERT_TRUE(IsOk(t.Run()));
  EXPECT_EQ(t.Output<T>(0), (TransposedIota<T>(shape, perm)));
}

TEST(StridedCopyTest, TransposesMatricesLargerThanTilesAndPanels) {
  ExpectTransposes<float>({300, 531}, {1, 0});
  ExpectTransposes<uint8_t>({130, 67}, {1, 0});
  ExpectTransposes<int16_t>({33, 270}, {1, 0});
  ExpectTransposes<double>({17, 19}, {1, 0});
  ExpectTransposes<int64_t>({275, 43}, {1, 0});
  ExpectTransposes<double>({2, 264, 24}, {0, 2, 1});
  ExpectTransposes<std::complex<double>>({18, 9}, {1, 0});
}

TEST(StridedCopyTest, TransposesManyDimensions) {
  ExpectTransposes<float>({3, 20, 21, 5}, {0, 3, 1, 2});
  ExpectTransposes<float>({3, 5, 20, 21}, {0, 2, 3, 1});
  ExpectTransposes<int32_t>({2, 3, 4, 5, 2, 3}, {5, 3, 1, 0, 2, 4});
  ExpectTransposes<int64_t>({4, 1, 6}, {2, 1, 0});
}

TEST(StridedCopyTest, TransposesRandomShapes) {
  std::mt19937 random(7);
  for (int round = 0; round < 60; ++round) {
    const size_t rank = 1 + random() % 5;
    std::vector<int64_t> shape;
    std::vector<int64_t> perm(rank);
    for (size_t i = 0; i < rank; ++i) shape.push_back(1 + random() % 9);
    std::iota(perm.begin(), perm.end(), int64_t{0});
    std::shuffle(perm.begin(), perm.end(), random);
    ExpectTransposes<float>(shape, perm);
  }
}

TEST(TransposeTest, KeepsEmptyTensorsEmpty) {
  KernelTester t("Transpose");
  t.Attr("T", MS_FLOAT32).Attr("Tperm", MS_INT32);
  t.Input<float>({2, 0, 3}, {}).ConstInput<int32_t>({3}, {2, 1, 0});
  ASSERT_TRUE(IsOk(t.Run()));
  EXPECT_EQ(t.OutputShape(0), (std::vector<int64_t>{3, 0, 2}));
}

TEST(TransposeTest, RefusesWhatIsNoPermutation) {
  KernelTester t("Transpose");
  t.Attr("T", MS_FLOAT32).Attr("Tperm", MS_INT32);
  t.Input<float>({1, 2}, {1, 2}).Input<int32_t>({2}, {0, 0});
  const ms::Status status = t.Run();
  EXPECT_EQ(status.code(), MS_INVALID_ARGUMENT);
  EXPECT_EQ(status.message(), "perm must hold each of 0 to 1 once, but is [0,0]");
}

TEST(BroadcastToTest, RepeatsDimensionsOfSizeOne) {
  KernelTester t("BroadcastTo");
  t.Attr("T", MS_INT32).Attr("Tidx", MS_INT32);
  t.Input<int32_t>({2, 1}, {1, 2}).ConstInput<int32_t>({3}, {2, 2, 3});
  ASSERT_TRUE(IsOk(t.Run()));
  EXPECT_EQ(t.OutputShape(0), (std::vector<int64_t>{2, 2, 3}));
  EXPECT_EQ(t.Output<int32_t>(0), (std::vector<int32_t>{1, 1, 1, 2, 2, 2, 1, 1, 1, 2, 2, 2}));
}

TEST(BroadcastToTest, ScalarsAndEmptyTensors) {
  KernelTester t("BroadcastTo");
  t.Attr("T", MS_INT8).Attr("Tidx", MS_INT64);
  t.Input<int8_t>({}, {7}).ConstInput<int64_t>({1}, {9001});
  ASSERT_TRUE(IsOk(t.Run()));
  EXPECT_EQ(t.Output<int8_t>(0), std::vector<int8_t>(9001, 7));
  t.SetInput<int64_t>(1, {2}, {3, 0});
  ASSERT_TRUE(IsOk(t.Run()));
  EXPECT_EQ(t.OutputShape(0), (std::vector<int64_t>{3, 0}));
}

TEST(BroadcastToTest, RefusesOtherShapes) {
  const std::vector<std::vector<int32_t>> shapes = {{3}, {2, 3}, {}, {-2}};
  for (const std::vector<int32_t>& shape : shapes) {
    KernelTester t("BroadcastTo");
    t.Attr("T", MS_FLOAT32).Attr("Tidx", MS_INT32).Input<float>({2}, {1, 2});
    t.Input<int32_t>({static_cast<int64_t>(shape.size())}, shape);
    const ms::Status status = t.Run();
    EXPECT_EQ(status.code(), MS_INVALID_ARGUMENT);
    EXPECT_NE(status.message().find("shape"), std::string_view::npos) << status.message();
  }
}

TEST(TileTest, RepeatsEveryDimension) {
  KernelTester t("Tile");
  t.Attr("T", MS_INT32).Attr("Tmultiples", MS_INT32);
  t.Input<int32_t>({2, 2}, {1, 2, 3, 4}).ConstInput<int32_t>({2}, {2, 3});
  ASSERT_TRUE(IsOk(t.Run()));
  EXPECT_EQ(t.OutputShape(0), (std::vector<int64_t>{4, 6}));
  EXPECT_EQ(t.Output<int32_t>(0), (std::vector<int32_t>{1, 2, 1, 2, 1, 2, 3, 4, 3, 4, 3, 4,
                                                        1, 2, 1, 2, 1, 2, 3, 4, 3, 4, 3, 4}));
}

TEST(TileTest, FillsFromOneElement) {
  KernelTester t("Tile");
  t.Attr("T", MS_INT8).Attr("Tmultiples", MS_INT64);
  t.Input<int8_t>({1}, {7}).ConstInput<int64_t>({1}, {9001});
  ASSERT_TRUE(IsOk(t.Run()));
  EXPECT_EQ(t.Output<int8_t>(0), std::vector<int8_t>(9001, 7));
}

TEST(TileTest, RefusesSizesBeyond64Bits) {
  KernelTester t("Tile");
  t.Attr("T", MS_FLOAT32).Attr("Tmultiples", MS_INT64);
  t.Input<float>({4}, {1, 2, 3, 4}).Input<int64_t>({1}, {int64_t{1} << 62});
  const ms::Status status = t.Run();
  EXPECT_EQ(status.code(), MS_INVALID_ARGUMENT);
  EXPECT_NE(status.message().find("multiples[0]"), std::string_view::npos);
}

TEST(PadTest, SurroundsWithZeros) {
  KernelTester t("Pad");
  t.Attr("T", MS_FLOAT32).Attr("Tpaddings", MS_INT32);
  t.Input<float>({1, 2}, {5, 6}).ConstInput<int32_t>({2, 2}, {1, 0, 2, 1});
  ASSERT_TRUE(IsOk(t.Run()));
  EXPECT_EQ(t.OutputShape(0), (std::vector<int64_t>{2, 5}));
  EXPECT_EQ(t.Output<float>(0), (std::vector<float>{0, 0, 0, 0, 0, 0, 0, 5, 6, 0}));
}

TEST(PadTest, MakesZerosOfAnEmptyInput) {
  KernelTester t("Pad");
  t.Attr("T", MS_INT64).Attr("Tpaddings", MS_INT32);
  t.Input<int64_t>({0}, {}).ConstInput<int32_t>({1, 2}, {2, 1});
  ASSERT_TRUE(IsOk(t.Run()));
  EXPECT_EQ(t.Output<int64_t>(0), (std::vector<int64_t>{0, 0, 0}));
}

TEST(PadTest, RefusesNegativePaddings) {
  KernelTester t("Pad");
  t.Attr("T", MS_FLOAT32).Attr("Tpaddings", MS_INT32);
  t.Input<float>({2}, {1, 2}).Input<int32_t>({1, 2}, {-1, 0});
  const ms::Status status = t.Run();
  EXPECT_EQ(status.code(), MS_INVALID_ARGUMENT);
  EXPECT_EQ(status.message(), "paddings[0] = [-1,0] must be non-negative");
}

}  // namespace
}  // namespace millstream::kernels
