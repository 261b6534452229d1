// Where.
#include <gtest/gtest.h>

#include <complex>
#include <cstdint>
#include <limits>
#include <random>
#include <vector>

#include "kernels/common/narrow_float.h"
#include "kernels/testing/kernel_tester.h"

namespace millstream::kernels {
namespace {

using testing::IsOk;
using testing::KernelTester;

using Dims = std::vector<int64_t>;
using Places = std::vector<int64_t>;

template <typename T>
Places WhereSet(const Dims& dims, const std::vector<T>& x, MS_DType dtype = ms::DTypeOf<T>()) {
  KernelTester t("Where");
  t.Attr("T", dtype).Outputs({MS_INT64}).DynamicOnly().Input<T>(dims, x);
  EXPECT_TRUE(IsOk(t.Run()));
  const auto rank = static_cast<int64_t>(dims.size());
  EXPECT_EQ(t.OutputShape(0)[1], rank);
  return t.Output<int64_t>(0);
}

// The index of each element that is set, found the plain way.
Places Expected(const Dims& dims, const std::vector<int32_t>& x) {
  Places found;
  for (size_t i = 0; i < x.size(); ++i) {
    if (x[i] == 0) continue;
    auto stride = static_cast<int64_t>(x.size());
    for (const int64_t dim : dims) {
      stride /= dim;
      found.push_back(static_cast<int64_t>(i) / stride % dim);
    }
  }
  return found;
}

// One in `rarity` is set.
std::vector<int32_t> SomeSet(int64_t count, uint32_t rarity) {
  std::mt19937 random(7);
  std::vector<int32_t> x(static_cast<size_t>(count));
  for (int32_t& value : x) value = random() % rarity == 0 ? -1 : 0;
  return x;
}

TEST(WhereTest, FindsTheElementsOfAnyNumberOfBlocks) {
  for (const int64_t size : {1, 16383, 16384, 16385, 100001}) {
    for (const uint32_t rarity : {1u, 2u, 50000u}) {
      const std::vector<int32_t> x = SomeSet(size, rarity);
      EXPECT_EQ(WhereSet<int32_t>({size}, x), Expected({size}, x)) << size << ", " << rarity;
    }
  }
}

TEST(WhereTest, NoneAndTheLastOfABlock) {
  std::vector<int32_t> x(3 * 16384, 0);
  EXPECT_EQ(WhereSet<int32_t>({3 * 16384}, x), Places{});
  x[16383] = 1;
  x[16384] = 1;
  x.back() = 1;
  EXPECT_EQ(WhereSet<int32_t>({3 * 16384}, x), (Places{16383, 16384, 3 * 16384 - 1}));
}

TEST(WhereTest, AnIndexHasAllDimensions) {
  const std::vector<int32_t> x = SomeSet(30 * 70 * 25, 3);
  for (const Dims& dims : {Dims{30, 70, 25}, Dims{2100, 25}, Dims{1, 52500, 1}}) {
    EXPECT_EQ(WhereSet<int32_t>(dims, x), Expected(dims, x));
  }
}

TEST(WhereTest, NaNsAreSetAndZerosOfBothSignsAreNot) {
  constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
  EXPECT_EQ(WhereSet<float>({5}, {0.0f, -0.0f, kNan, 1e-45f, -1}), (Places{2, 3, 4}));
  EXPECT_EQ(WhereSet<double>({3}, {-0.0, static_cast<double>(kNan), 0}), (Places{1}));
  EXPECT_EQ(WhereSet<BFloat16>({3}, {BFloat16(-0.0f), BFloat16(kNan), BFloat16(2.0f)}),
            (Places{1, 2}));
  EXPECT_EQ(WhereSet<std::complex<float>>({3}, {{0, -0.0f}, {0, 1}, {kNan, 0}}), (Places{1, 2}));
  EXPECT_EQ(WhereSet<uint8_t>({4}, {0, 1, 0, 1}, MS_BOOL), (Places{1, 3}));
}

TEST(WhereTest, ScalarsAndEmptyTensors) {
  EXPECT_EQ(WhereSet<int32_t>({0}, {}), Places{});
  EXPECT_EQ(WhereSet<int32_t>({3, 0}, {}), Places{});
  KernelTester t("Where");
  t.Attr("T", MS_INT32).Outputs({MS_INT64}).DynamicOnly().Input<int32_t>({}, {5});
  ASSERT_TRUE(IsOk(t.Run()));
  EXPECT_EQ(t.OutputShape(0), (Dims{1, 0}));
}

}  // namespace
}  // namespace millstream::kernels
