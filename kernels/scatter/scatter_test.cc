// Rows and slices of variables and tensors that change by updates.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <complex>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "kernels/common/narrow_float.h"
#include "kernels/testing/kernel_tester.h"

namespace millstream::kernels {
namespace {

using testing::IsOk;
using testing::KernelTester;

// Numbers in (low, low + 1), different for each salt.
template <typename T>
std::vector<T> Numbers(int64_t size, double low, int salt) {
  std::vector<T> values;
  for (int64_t i = 0; i < size; ++i) {
    values.push_back(
        static_cast<T>(low + std::fmod(0.6180339887 * static_cast<double>(i + salt), 1.0)));
  }
  return values;
}

// ---- Rows of variables ----

void SetScatterType(MS_DType dtype, KernelTester* t) {
  t->Attr("dtype", dtype).Attr("Tindices", MS_INT32).Outputs({});
}

TEST(ResourceScatterAddTest, AddsRepeatedRowsInOrder) {
  constexpr int64_t kRows = 500;
  constexpr int64_t kWidth = 130;
  const std::vector<float> updates = Numbers<float>(kRows * kWidth, -0.5, 3);
  std::vector<int32_t> indices;
  for (int64_t i = 0; i < kRows; ++i) indices.push_back(static_cast<int32_t>(i * i % 7));
  std::vector<float> expected(7 * kWidth, 1.0f);
  for (int64_t row = 0; row < kRows; ++row) {
    for (int64_t c = 0; c < kWidth; ++c) {
      expected[indices[row] * kWidth + c] += updates[row * kWidth + c];
    }
  }
  KernelTester t("ResourceScatterAdd");
  SetScatterType(MS_FLOAT32, &t);
  t.Variable<float>({7, kWidth}, std::vector<float>(7 * kWidth, 1.0f));
  t.Input<int32_t>({50, 10}, indices).Input<float>({50, 10, kWidth}, updates);
  ASSERT_TRUE(IsOk(t.Run()));
  EXPECT_EQ(t.VariableValue<float>(0), expected);
}

TEST(ResourceScatterAddTest, AddsNarrowFloatsAndComplexNumbers) {
  KernelTester narrow("ResourceScatterAdd");
  SetScatterType(MS_BFLOAT16, &narrow);
  narrow.Variable<BFloat16>({2}, {BFloat16(1.0f), BFloat16(2.0f)});
  narrow.Input<int32_t>({2}, {1, 1}).Input<BFloat16>({}, {BFloat16(0.5f)});
  ASSERT_TRUE(IsOk(narrow.Run()));
  EXPECT_EQ(narrow.VariableValue<BFloat16>(0),
            (std::vector<BFloat16>{BFloat16(1.0f), BFloat16(3.0f)}));

  using Complex = std::complex<float>;
  KernelTester complex("ResourceScatterAdd");
  SetScatterType(MS_COMPLEX64, &complex);
  complex.Variable<Complex>({1}, {{1, 1}}).Input<int32_t>({1}, {0}).Input<Complex>({1}, {{0, 2}});
  ASSERT_TRUE(IsOk(complex.Run()));
  EXPECT_EQ(complex.VariableValue<Complex>(0), (std::vector<Complex>{{1, 3}}));
}

TEST(ResourceScatterAddTest, AddsOneNumberToWholeRows) {
  KernelTester t("ResourceScatterAdd");
  SetScatterType(MS_INT32, &t);
  t.Variable<int32_t>({3, 2}, {0, 0, 0, 0, 0, 0})
      .Input<int32_t>({2}, {2, 0})
      .Input<int32_t>({}, {5});
  ASSERT_TRUE(IsOk(t.Run()));
  EXPECT_EQ(t.VariableValue<int32_t>(0), (std::vector<int32_t>{5, 5, 0, 0, 5, 5}));
}

TEST(ResourceScatterAddTest, ChangesNothingWhenAnIndexIsOutOfRange) {
  KernelTester t("ResourceScatterAdd");
  SetScatterType(MS_FLOAT32, &t);
  t.Variable<float>({2}, {1, 2}).Input<int32_t>({2}, {0, 2}).Input<float>({2}, {1, 1});
  const ms::Status status = t.Run();
  EXPECT_EQ(status.code(), MS_INVALID_ARGUMENT);
  EXPECT_EQ(status.message(), "indices[1] = 2 is not in [0, 2)");
  EXPECT_EQ(t.VariableValue<float>(0), (std::vector<float>{1, 2}));
}

TEST(ResourceScatterAddTest, RefusesIndicesOfEmptyRowsToo) {
  KernelTester t("ResourceScatterAdd");
  SetScatterType(MS_FLOAT32, &t);
  t.Variable<float>({2, 0}, {}).Input<int32_t>({1}, {2}).Input<float>({1, 0}, {});
  EXPECT_EQ(t.Run().message(), "indices[0] = 2 is not in [0, 2)");
}

// What a kind of update makes of the rows (8, 9) and (10, 11).
template <typename T>
std::vector<T> Scattered(const char* op, const std::vector<T>& updates) {
  KernelTester t(op);
  SetScatterType(ms::DTypeOf<T>(), &t);
  t.Variable<T>({2, 2}, {8, 9, 10, 11}).template Input<int32_t>({3}, {1, 1, 0});
  t.Input<T>({3, 2}, updates);
  EXPECT_TRUE(IsOk(t.Run()));
  return t.VariableValue<T>(0);
}

TEST(ScatterRowsTest, EachKindDoesItsOwn) {
  using Ints = std::vector<int32_t>;
  const Ints updates = {1, 2, 20, 4, 3, -5};
  EXPECT_EQ(Scattered<int32_t>("ResourceScatterUpdate", updates), (Ints{3, -5, 20, 4}));
  EXPECT_EQ(Scattered<int32_t>("ResourceScatterAdd", updates), (Ints{11, 4, 31, 17}));
  EXPECT_EQ(Scattered<int32_t>("ResourceScatterSub", updates), (Ints{5, 14, -11, 5}));
  EXPECT_EQ(Scattered<int32_t>("ResourceScatterMul", updates), (Ints{24, -45, 200, 88}));
  EXPECT_EQ(Scattered<int32_t>("ResourceScatterDiv", updates), (Ints{2, -1, 0, 1}));
  EXPECT_EQ(Scattered<int32_t>("ResourceScatterMin", updates), (Ints{3, -5, 1, 2}));
  EXPECT_EQ(Scattered<int32_t>("ResourceScatterMax", updates), (Ints{8, 9, 20, 11}));
}

TEST(ScatterRowsTest, OneNumberForWideRows) {
  constexpr int64_t kWidth = 3000;  // several tiles of the number
  KernelTester t("ResourceScatterMul");
  SetScatterType(MS_FLOAT64, &t);
  const std::vector<double> before = Numbers<double>(2 * kWidth, -0.5, 3);
  t.Variable<double>({2, kWidth}, before).Input<int32_t>({2}, {1, 1}).Input<double>({}, {3});
  ASSERT_TRUE(IsOk(t.Run()));
  std::vector<double> expected = before;
  for (int64_t i = kWidth; i < 2 * kWidth; ++i) expected[i] = before[i] * 3 * 3;
  EXPECT_EQ(t.VariableValue<double>(0), expected);
}

TEST(ScatterRowsTest, ADivisorOfZeroChangesNothing) {
  KernelTester t("ResourceScatterDiv");
  SetScatterType(MS_INT32, &t);
  t.Variable<int32_t>({2}, {8, 9}).Input<int32_t>({2}, {0, 1}).Input<int32_t>({2}, {2, 0});
  const ms::Status status = t.Run();
  EXPECT_EQ(status.code(), MS_INVALID_ARGUMENT);
  EXPECT_EQ(status.message(), "Integer division by zero: updates[1] is 0");
  EXPECT_EQ(t.VariableValue<int32_t>(0), (std::vector<int32_t>{8, 9}));
}

TEST(ScatterRowsTest, NarrowFloatsAreRoundedOnceAnUpdate) {
  KernelTester t("ResourceScatterSub");
  SetScatterType(MS_FLOAT16, &t);
  t.Variable<Float16>({1}, {Float16(2048.0f)}).Input<int32_t>({2}, {0, 0});
  t.Input<Float16>({2}, {Float16(-1.0f), Float16(-1.0f)});
  ASSERT_TRUE(IsOk(t.Run()));
  EXPECT_EQ(t.VariableValue<Float16>(0), (std::vector<Float16>{Float16(2048.0f)}));
}

// ---- Slices that index vectors name ----

void SetNdType(MS_DType dtype, KernelTester* t) { t->Attr("T", dtype).Attr("Tindices", MS_INT32); }

TEST(ScatterNdTest, ChangesElementsOfAVariableInOrder) {
  for (const auto& [op, expected] :
       {std::pair<const char*, std::vector<float>>{"ResourceScatterNdUpdate", {1, 7, 3, 4, 5, 9}},
        {"ResourceScatterNdAdd", {1, 16, 3, 4, 5, 15}},
        {"ResourceScatterNdSub", {1, -12, 3, 4, 5, -3}}}) {
    KernelTester t(op);
    SetNdType(MS_FLOAT32, &t);
    t.Outputs({}).Variable<float>({2, 3}, {1, 2, 3, 4, 5, 6});
    t.Input<int32_t>({3, 2}, {0, 1, 1, 2, 0, 1}).Input<float>({3}, {7, 9, 7});
    ASSERT_TRUE(IsOk(t.Run()));
    EXPECT_EQ(t.VariableValue<float>(0), expected) << op;
  }
}

TEST(ScatterNdTest, NamesTheIndexThatIsOutside) {
  KernelTester t("ResourceScatterNdUpdate");
  SetNdType(MS_FLOAT32, &t);
  t.Outputs({}).Variable<float>({3}, {1, 2, 3}).Input<int32_t>({1, 1}, {7}).Input<float>({1}, {9});
  const ms::Status status = t.Run();
  EXPECT_EQ(status.code(), MS_INVALID_ARGUMENT);
  EXPECT_EQ(status.message(), "indices[0,0] = 7 is not in [0, 3)");
  EXPECT_EQ(t.VariableValue<float>(0), (std::vector<float>{1, 2, 3}));
}

TEST(ScatterNdTest, UpdatesThatDoNotFitAreRefused) {
  KernelTester t("TensorScatterAdd");
  SetNdType(MS_FLOAT32, &t);
  t.Input<float>({2, 2}, {1, 2, 3, 4}).Input<int32_t>({1, 1}, {0}).Input<float>({1}, {9});
  EXPECT_EQ(t.Run().message(),
            "updates must have shape [1,2], a slice of tensor, which has shape [2,2], for each "
            "index, but has shape [1]");
}

TEST(ScatterNdTest, ChangesACopyOfATensor) {
  KernelTester t("TensorScatterSub");
  SetNdType(MS_FLOAT32, &t);
  t.Input<float>({2, 2}, {1, 2, 3, 4}).Input<int32_t>({2, 1}, {1, 1});
  t.Input<float>({2, 2}, {10, 20, 30, 40});
  ASSERT_TRUE(IsOk(t.Run()));
  EXPECT_EQ(t.Output<float>(0), (std::vector<float>{1, 2, -37, -56}));
}

TEST(ScatterNdTest, AddsUpInZeros) {
  KernelTester t("ScatterNd");
  SetNdType(MS_FLOAT32, &t);
  t.Input<int32_t>({3, 1}, {2, 0, 2}).Input<float>({3}, {1, 2, 3});
  t.ConstInput<int32_t>({1}, {4});
  ASSERT_TRUE(IsOk(t.Run()));
  EXPECT_EQ(t.Output<float>(0), (std::vector<float>{2, 0, 4, 0}));
}

TEST(ScatterNdTest, NothingTakesNoUpdates) {
  for (const int64_t count : {1, 0}) {
    KernelTester t("ScatterNd");
    SetNdType(MS_FLOAT32, &t);
    t.Input<int32_t>({count, 1}, std::vector<int32_t>(static_cast<size_t>(count), 0));
    t.Input<float>({count, 0}, {}).ConstInput<int32_t>({2}, {3, 0});
    const ms::Status status = t.Run();
    if (count == 0) {
      ASSERT_TRUE(IsOk(status));
      EXPECT_EQ(t.OutputShape(0), (std::vector<int64_t>{3, 0}));
      continue;
    }
    EXPECT_EQ(status.code(), MS_INVALID_ARGUMENT);
    EXPECT_EQ(status.message(),
              "Indices and updates specified for empty output: indices has shape [1,1], for a "
              "tensor of shape [3,0]");
  }
}

TEST(ScatterNdTest, OfBoolOneOfThemIsEnough) {
  KernelTester t("ScatterNd");
  SetNdType(MS_BOOL, &t);
  t.Input<int32_t>({3, 1}, {1, 1, 2}).Input<bool>({3}, {true, true, false});
  t.ConstInput<int32_t>({1}, {3});
  ASSERT_TRUE(IsOk(t.Run()));
  EXPECT_EQ(t.Output<bool>(0), (std::vector<bool>{false, true, false}));
}

TEST(ScatterNdTest, JoinsStringsInTheOrderOfUpdates) {
  KernelTester t("ScatterNd");
  SetNdType(MS_STRING, &t);
  t.Input<int32_t>({3, 1}, {0, 2, 0}).Input<std::string>({3}, {"a", "b", "c"});
  t.ConstInput<int32_t>({1}, {4});
  ASSERT_TRUE(IsOk(t.Run()));
  EXPECT_EQ(t.Output<std::string>(0), (std::vector<std::string>{"ac", "", "b", ""}));
}

}  // namespace
}  // namespace millstream::kernels
