#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <string>
#include <vector>

#include "kernels/common/narrow_float.h"
#include "kernels/reduce/reduce_testing.h"

namespace millstream::kernels {
namespace {

using testing::ExpectReduces;
using testing::IsOk;
using testing::KernelTester;
using testing::RunReduce;

template <typename T>
double MaxOf(const std::vector<T>& values) {
  return static_cast<double>(*std::max_element(values.begin(), values.end()));
}
template <typename T>
double MinOf(const std::vector<T>& values) {
  return static_cast<double>(*std::min_element(values.begin(), values.end()));
}

template <typename T>
class MaxMinTest : public ::testing::Test {};
using AllTypes = ::testing::Types<float, double, Float16, BFloat16, int8_t, int16_t, int32_t,
                                  int64_t, uint8_t, uint16_t, uint32_t, uint64_t>;
TYPED_TEST_SUITE(MaxMinTest, AllTypes);

TYPED_TEST(MaxMinTest, RandomShapesAgreeWithTheReference) {
  using T = TypeParam;
  // All negative where that is possible: a wrong start value would show.
  constexpr bool kSigned = std::numeric_limits<T>::is_signed;
  const T least = kSigned ? T(-100) : T(20);
  const T most = kSigned ? T(-20) : T(100);
  ExpectReduces<T>("Max", least, most, MaxOf<T>, 0, 0);
  ExpectReduces<T>("Min", least, most, MinOf<T>, 0, 0);
}

TYPED_TEST(MaxMinTest, TheExtremeOfNothingIsTheLeastExtremeValue) {
  using T = TypeParam;
  constexpr bool kReal = kIsReal<T>;
  constexpr T kInfinity = std::numeric_limits<T>::infinity();
  std::vector<T> out;
  ASSERT_TRUE(IsOk(RunReduce<T>("Max", {0}, {}, {0}, false, &out)));
  EXPECT_EQ(out[0], kReal ? static_cast<T>(-kInfinity) : std::numeric_limits<T>::lowest());
  ASSERT_TRUE(IsOk(RunReduce<T>("Min", {0}, {}, {0}, false, &out)));
  EXPECT_EQ(out[0], kReal ? kInfinity : std::numeric_limits<T>::max());
}

TEST(MaxMinTest, NanWinsAmongNarrowFloats) {
  std::vector<Float16> values(100, Float16(1.0f));
  values[77] = std::numeric_limits<Float16>::quiet_NaN();
  for (const char* op : {"Max", "Min"}) {
    std::vector<Float16> out;
    ASSERT_TRUE(IsOk(RunReduce<Float16>(op, {100}, values, {0}, false, &out)));
    EXPECT_TRUE(std::isnan(static_cast<float>(out[0]))) << op;
  }
}

TEST(MaxMinTest, NanWinsWhereverItStands) {
  const float nan = std::nanf("");
  for (const char* op : {"Max", "Min"}) {
    for (int64_t size : {1, 5, 16, 70, 3000}) {
      for (int64_t at : {int64_t{0}, size / 2, size - 1}) {
        std::vector<float> values(static_cast<size_t>(size), 1);
        values[static_cast<size_t>(at)] = nan;
        std::vector<float> out;
        ASSERT_TRUE(IsOk(RunReduce<float>(op, {size}, values, {0}, false, &out)));
        EXPECT_TRUE(std::isnan(out[0])) << op << " " << at << " of " << size;
        ASSERT_TRUE(IsOk(RunReduce<float>(op, {size, 1, 1}, values, {0}, true, &out)));
        EXPECT_TRUE(std::isnan(out[0])) << op << " " << at << " of " << size;
      }
    }
  }
}

TEST(MaxMinTest, LongRowsOfIntegers) {
  constexpr int64_t kRows = 3;
  for (const int64_t n : {1024, 2048, 3000, 70000}) {
    std::vector<int32_t> x(static_cast<size_t>(kRows * n));
    for (size_t i = 0; i < x.size(); ++i) x[i] = static_cast<int32_t>(i * 7919 % 100003) - 50000;
    std::vector<int32_t> largest;
    for (int64_t row = 0; row < kRows; ++row) {
      largest.push_back(*std::max_element(x.begin() + row * n, x.begin() + (row + 1) * n));
    }
    std::vector<int32_t> out;
    ASSERT_TRUE(IsOk(RunReduce<int32_t>("Max", {kRows, n}, x, {1}, false, &out)));
    EXPECT_EQ(out, largest) << n;
  }
}

template <typename T>
class LongMaxMinTest : public ::testing::Test {};
using WideFloats = ::testing::Types<float, double>;
TYPED_TEST_SUITE(LongMaxMinTest, WideFloats);

TYPED_TEST(LongMaxMinTest, RowsOfAnyLengthAgreeWithTheReference) {
  using T = TypeParam;
  constexpr T kInfinity = std::numeric_limits<T>::infinity();
  std::vector<int64_t> lengths = {1000, 1023, 1024, 1025, 2048, 2049, 3100, 5000, 70000};
  for (int64_t n = 1; n < 70; ++n) lengths.push_back(n);
  for (const int64_t n : lengths) {
    constexpr size_t kRows = 3;
    std::vector<T> x(kRows * static_cast<size_t>(n));
    for (size_t i = 0; i < x.size(); ++i) {
      x[i] = i % 97 == 90 ? -kInfinity : static_cast<T>(i * 7919 % 10007) - T(5000);
    }
    for (const char* op : {"Max", "Min"}) {
      std::vector<T> expected;
      for (size_t row = 0; row < kRows; ++row) {
        const auto begin = x.begin() + static_cast<std::ptrdiff_t>(row) * n;
        expected.push_back(*(std::string(op) == "Max" ? std::max_element(begin, begin + n)
                                                      : std::min_element(begin, begin + n)));
      }
      std::vector<T> out;
      ASSERT_TRUE(IsOk(RunReduce<T>(op, {kRows, n}, x, {1}, false, &out)));
      EXPECT_EQ(out, expected) << op << " of " << n;
    }
  }
}

TYPED_TEST(LongMaxMinTest, NanWinsAtEveryPlaceOfARun) {
  using T = TypeParam;
  constexpr size_t kSize = 70;
  for (size_t at = 0; at < kSize; ++at) {
    std::vector<T> x(kSize, T(1));
    x[at] = std::numeric_limits<T>::quiet_NaN();
    for (const char* op : {"Max", "Min"}) {
      std::vector<T> out;
      ASSERT_TRUE(IsOk(RunReduce<T>(op, {kSize}, x, {0}, false, &out)));
      EXPECT_TRUE(std::isnan(out[0])) << op << " " << at;
    }
  }
}

// A NaN counts for its row alone.
TYPED_TEST(LongMaxMinTest, RowsBesideOneWithNan) {
  using T = TypeParam;
  constexpr int64_t kSize = 2048;
  std::vector<T> x(3 * kSize, T(-2));
  x[kSize + 1500] = std::numeric_limits<T>::quiet_NaN();
  std::vector<T> out;
  ASSERT_TRUE(IsOk(RunReduce<T>("Max", {3, kSize}, x, {1}, false, &out)));
  EXPECT_EQ(out[0], T(-2));
  EXPECT_TRUE(std::isnan(out[1]));
  EXPECT_EQ(out[2], T(-2));
}

TEST(AllAnyTest, ReduceBooleans) {
  const auto run = [](const char* op, std::vector<int64_t> dims, const std::vector<bool>& values,
                      const std::vector<int32_t>& axes) {
    KernelTester t(op);
    t.Attr("Tidx", MS_INT32).Attr("keep_dims", false).Outputs({MS_BOOL});
    t.Input<bool>(std::move(dims), values);
    t.ConstInput<int32_t>({static_cast<int64_t>(axes.size())}, axes);
    EXPECT_TRUE(IsOk(t.Run())) << op;
    return t.Output<bool>(0);
  };
  using Bools = std::vector<bool>;
  const Bools values = {true, true, false, false, true, false};
  EXPECT_EQ(run("All", {2, 3}, values, {1}), (Bools{false, false}));
  EXPECT_EQ(run("All", {2, 3}, values, {0}), (Bools{false, true, false}));
  EXPECT_EQ(run("Any", {2, 3}, values, {1}), (Bools{true, true}));
  EXPECT_EQ(run("Any", {2, 3}, values, {0}), (Bools{true, true, false}));
  EXPECT_EQ(run("Any", {2, 3}, values, {0, 1}), (Bools{true}));
  EXPECT_EQ(run("All", {0}, {}, {0}), (Bools{true}));
  EXPECT_EQ(run("Any", {0}, {}, {0}), (Bools{false}));
}

}  // namespace
}  // namespace millstream::kernels
