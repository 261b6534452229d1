// GatherV2, ResourceGather, OneHot, Range, InvertPermutation, UnsortedSegmentSum, Unique,
// HistogramFixedWidth.
#include <gtest/gtest.h>

#include <cmath>
#include <complex>
#include <cstdint>
#include <limits>
#include <map>
#include <numeric>
#include <random>
#include <string>
#include <vector>

#include "kernels/common/narrow_float.h"
#include "kernels/testing/kernel_tester.h"

namespace millstream::kernels {
namespace {

using testing::IsOk;
using testing::KernelTester;
using Floats = std::vector<float>;

std::vector<int32_t> RandomIndices(int64_t n, int32_t low, int32_t high, uint32_t seed) {
  std::mt19937 random(seed);
  std::uniform_int_distribution<int32_t> distribution(low, high - 1);
  std::vector<int32_t> indices;
  for (int64_t i = 0; i < n; ++i) indices.push_back(distribution(random));
  return indices;
}

void SetGatherAttrs(MS_DType params, MS_DType indices, int64_t batch_dims, KernelTester* t) {
  t->Attr("Tparams", params).Attr("Tindices", indices).Attr("Taxis", MS_INT32);
  t->Attr("batch_dims", batch_dims).Outputs({params});
}

TEST(GatherV2Test, PicksRowsOfAnyWidth) {
  for (int64_t width : {1, 2, 3, 4, 7, 33}) {
    const std::vector<int32_t> indices = RandomIndices(5000, 0, 50, 3);
    std::vector<int16_t> params;
    for (int64_t i = 0; i < 50 * width; ++i) params.push_back(static_cast<int16_t>(i));
    std::vector<int16_t> expected;
    for (int32_t index : indices) {
      for (int64_t c = 0; c < width; ++c) expected.push_back(params[index * width + c]);
    }
    KernelTester t("GatherV2");
    SetGatherAttrs(MS_INT16, MS_INT32, 0, &t);
    t.Input<int16_t>({50, width}, params).Input<int32_t>({5000}, indices);
    t.ConstInput<int32_t>({}, {0});
    ASSERT_TRUE(IsOk(t.Run()));
    EXPECT_EQ(t.Output<int16_t>(0), expected) << "width " << width;
  }
}

TEST(GatherV2Test, PicksAlongAnInnerAxisWithinBatches) {
  KernelTester t("GatherV2");
  SetGatherAttrs(MS_FLOAT32, MS_INT64, -1, &t);
  t.Input<float>({2, 2, 3}, {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11});
  t.Input<int64_t>({2, 2}, {2, 0, 1, 1}).ConstInput<int32_t>({}, {-1});
  ASSERT_TRUE(IsOk(t.Run()));
  EXPECT_EQ(t.OutputShape(0), (std::vector<int64_t>{2, 2, 2}));
  EXPECT_EQ(t.Output<float>(0), (Floats{2, 0, 5, 3, 7, 7, 10, 10}));
}

TEST(GatherV2Test, NamesTheIndexOutOfRange) {
  KernelTester t("GatherV2");
  SetGatherAttrs(MS_FLOAT32, MS_INT32, 0, &t);
  t.Input<float>({3}, {1, 2, 3}).Input<int32_t>({2}, {0, -1}).Input<int32_t>({}, {0});
  const ms::Status status = t.Run();
  EXPECT_EQ(status.code(), MS_INVALID_ARGUMENT);
  EXPECT_EQ(status.message(), "indices[1] = -1 is not in [0, 3)");
  KernelTester none("GatherV2");
  SetGatherAttrs(MS_FLOAT32, MS_INT32, 0, &none);
  none.Input<float>({3, 0}, {}).Input<int32_t>({2}, {0, 3}).Input<int32_t>({}, {0});
  EXPECT_EQ(none.Run().message(), "indices[1] = 3 is not in [0, 3)");
}

void SetJoinedAttrs(MS_DType dtype, MS_DType indices, int64_t count, KernelTester* t) {
  t->Attr("T", dtype).Attr("Tindices", indices).Attr("N", count).Outputs({dtype});
}

// Rows of any width of more matrices than are copied at once.
TEST(JoinedGatherTest, PutsRowsSideBySide) {
  constexpr int64_t kCount = 70;
  constexpr int64_t kRows = 150;
  const auto width = [](int64_t i) { return i % 5 == 0 ? 16 * (i % 7) : i % 9; };
  KernelTester t("_JoinedGather");
  SetJoinedAttrs(MS_FLOAT32, MS_INT32, kCount, &t);
  std::vector<Floats> params;
  std::vector<std::vector<int32_t>> indices;
  for (int64_t i = 0; i < kCount; ++i) {
    Floats& matrix = params.emplace_back();
    for (int64_t k = 0; k < (i + 3) * width(i); ++k)
      matrix.push_back(static_cast<float>(100 * i + k));
    indices.push_back(
        RandomIndices(kRows, 0, static_cast<int32_t>(i + 3), static_cast<uint32_t>(i)));
    t.Input<float>({i + 3, width(i)}, matrix);
  }
  for (const std::vector<int32_t>& picked : indices) t.Input<int32_t>({kRows / 2, 2}, picked);
  ASSERT_TRUE(IsOk(t.Run()));
  Floats expected;
  for (int64_t row = 0; row < kRows; ++row) {
    for (int64_t i = 0; i < kCount; ++i) {
      const auto first = params[i].begin() + indices[i][row] * width(i);
      expected.insert(expected.end(), first, first + width(i));
    }
  }
  EXPECT_EQ(t.OutputShape(0).size(), 3);
  EXPECT_EQ(t.Output<float>(0), expected);
}

TEST(JoinedGatherTest, ScalarsAndTypesOfOtherSizes) {
  KernelTester t("_JoinedGather");
  SetJoinedAttrs(MS_FLOAT64, MS_INT64, 2, &t);
  t.Input<double>({2, 1}, {1, 2}).Input<double>({3, 2}, {3, 4, 5, 6, 7, 8});
  t.Input<int64_t>({}, {1}).Input<int64_t>({}, {2});
  ASSERT_TRUE(IsOk(t.Run()));
  EXPECT_EQ(t.OutputShape(0), (std::vector<int64_t>{3}));
  EXPECT_EQ(t.Output<double>(0), (std::vector<double>{2, 7, 8}));
}

TEST(JoinedGatherTest, NamesTheIndexOutOfRange) {
  KernelTester t("_JoinedGather");
  SetJoinedAttrs(MS_FLOAT32, MS_INT32, 2, &t);
  t.Input<float>({2, 1}, {1, 2}).Input<float>({3, 0}, {});
  t.Input<int32_t>({1, 2}, {0, 1}).Input<int32_t>({1, 2}, {0, 3});
  const ms::Status status = t.Run();
  EXPECT_EQ(status.code(), MS_INVALID_ARGUMENT);
  EXPECT_EQ(status.message(), "indices[1][0,1] = 3 is not in [0, 3)");
}

TEST(JoinedGatherTest, NamesTheNodeThatIsKnown) {
  KernelTester t("_JoinedGather");
  SetJoinedAttrs(MS_FLOAT32, MS_INT64, 2, &t);
  t.Attr("_nodes", std::vector<std::string>{"users", "items"});
  t.Input<float>({2, 1}, {1, 2}).Input<float>({3, 1}, {1, 2, 3});
  t.Input<int64_t>({2}, {0, 1}).Input<int64_t>({2}, {0, -1});
  EXPECT_EQ(t.Run().message(), "'items': indices[1] = -1 is not in [0, 3)");
}

TEST(JoinedGatherTest, ShapesThatDoNotGoTogether) {
  KernelTester t("_JoinedGather");
  SetJoinedAttrs(MS_FLOAT32, MS_INT32, 2, &t);
  t.Input<float>({2, 1}, {1, 2}).Input<float>({2, 1}, {1, 2});
  t.Input<int32_t>({2}, {0, 1}).Input<int32_t>({1, 2}, {0, 1});
  EXPECT_EQ(t.Run().code(), MS_INVALID_ARGUMENT);
  KernelTester vector("_JoinedGather");
  SetJoinedAttrs(MS_FLOAT32, MS_INT32, 1, &vector);
  vector.Input<float>({2}, {1, 2}).Input<int32_t>({2}, {0, 1});
  EXPECT_EQ(vector.Run().code(), MS_INVALID_ARGUMENT);
}

TEST(ResourceGatherTest, ReadsRowsOfAVariable) {
  KernelTester t("ResourceGather");
  t.Attr("dtype", MS_FLOAT32).Attr("Tindices", MS_INT32).Attr("batch_dims", 0);
  t.Outputs({MS_FLOAT32});
  t.Variable<float>({3, 2}, {0, 1, 2, 3, 4, 5}).Input<int32_t>({2}, {2, 0});
  ASSERT_TRUE(IsOk(t.Run()));
  EXPECT_EQ(t.Output<float>(0), (Floats{4, 5, 0, 1}));
}

TEST(ResourceGatherTest, DoesNotFindAnUnassignedVariable) {
  KernelTester t("ResourceGather");
  t.Attr("dtype", MS_FLOAT32).Attr("Tindices", MS_INT32).Attr("batch_dims", 0);
  t.Outputs({MS_FLOAT32});
  t.UnassignedVariable(MS_FLOAT32).Input<int32_t>({1}, {0});
  EXPECT_EQ(t.Run().code(), MS_NOT_FOUND);
}

TEST(OneHotTest, PutsTheNewAxisAnywhere) {
  const std::vector<Floats> expected{
      {0, 9, 9, 9, 9, 0, 9, 9}, {0, 9, 9, 0, 9, 9, 9, 9}, {0, 9, 9, 0, 9, 9, 9, 9}};
  for (int64_t axis : {0, 1, -1}) {
    KernelTester t("OneHot");
    t.Attr("T", MS_FLOAT32).Attr("TI", MS_INT64).Attr("axis", axis).Outputs({MS_FLOAT32});
    t.Input<int64_t>({4}, {0, 1, -1, 2}).ConstInput<int32_t>({}, {2});
    t.Input<float>({}, {0}).Input<float>({}, {9});
    ASSERT_TRUE(IsOk(t.Run()));
    EXPECT_EQ(t.Output<float>(0), expected[axis == -1 ? 2 : axis]) << "axis " << axis;
  }
}

// Values of equal bytes and of others, in elements of all sizes.
template <typename T>
void ExpectOneHot(T on, T off) {
  constexpr int64_t kDepth = 37;
  const std::vector<int32_t> indices = RandomIndices(500, -2, kDepth + 2, 13);
  std::vector<T> expected;
  for (const int32_t index : indices) {
    for (int64_t i = 0; i < kDepth; ++i) expected.push_back(i == index ? on : off);
  }
  KernelTester t("OneHot");
  t.Attr("T", ms::DTypeOf<T>()).Attr("TI", MS_INT32).Attr("axis", -1);
  t.Outputs({ms::DTypeOf<T>()});
  t.Input<int32_t>({500}, indices).ConstInput<int32_t>({}, {kDepth});
  t.Input<T>({}, {on}).template Input<T>({}, {off});
  ASSERT_TRUE(IsOk(t.Run()));
  EXPECT_EQ(t.Output<T>(0), expected);
}

TEST(OneHotTest, WritesAnyValues) {
  ExpectOneHot<float>(1, 0);
  ExpectOneHot<float>(0, -1.5f);
  ExpectOneHot<int8_t>(3, -7);
  ExpectOneHot<int16_t>(1, 258);
  ExpectOneHot<int32_t>(0, -1);
  ExpectOneHot<int64_t>(-1, int64_t{1} << 40);
  ExpectOneHot<std::complex<double>>({1, 2}, {0, 0});
  ExpectOneHot<std::complex<double>>({0, 0}, {0, 2});
}

TEST(OneHotTest, RefusesANegativeDepth) {
  KernelTester t("OneHot");
  t.Attr("T", MS_FLOAT32).Attr("TI", MS_INT32).Attr("axis", -1).Outputs({MS_FLOAT32});
  t.Input<int32_t>({1}, {0}).Input<int32_t>({}, {-1}).Input<float>({}, {1}).Input<float>({}, {0});
  const ms::Status status = t.Run();
  EXPECT_EQ(status.code(), MS_INVALID_ARGUMENT);
  EXPECT_EQ(status.message(), "depth = -1 is negative");
}

template <typename T>
std::vector<T> RangeOf(T start, T limit, T delta) {
  KernelTester t("Range");
  t.Attr("Tidx", ms::DTypeOf<T>());
  t.ConstInput<T>({}, {start})
      .template ConstInput<T>({}, {limit})
      .template ConstInput<T>({}, {delta});
  EXPECT_TRUE(IsOk(t.Run()));
  return t.Output<T>(0);
}

TEST(RangeTest, CountsUpAndDown) {
  EXPECT_EQ(RangeOf<int32_t>(2, 11, 3), (std::vector<int32_t>{2, 5, 8}));
  EXPECT_EQ(RangeOf<int32_t>(5, -1, -2), (std::vector<int32_t>{5, 3, 1}));
  EXPECT_EQ(RangeOf<int64_t>(3, 3, 1), (std::vector<int64_t>{}));
  EXPECT_EQ(RangeOf<double>(1, 0, -0.25), (std::vector<double>{1, 0.75, 0.5, 0.25}));
}

TEST(RangeTest, RoundsNarrowFloatsOnce) {
  KernelTester t("Range");
  t.Attr("Tidx", MS_BFLOAT16).Outputs({MS_BFLOAT16}).DynamicOnly();
  t.Input<BFloat16>({}, {BFloat16(0.0f)}).Input<BFloat16>({}, {BFloat16(600.0f)});
  t.Input<BFloat16>({}, {BFloat16(1.0f)});
  ASSERT_TRUE(IsOk(t.Run()));
  const std::vector<BFloat16> values = t.Output<BFloat16>(0);
  ASSERT_EQ(values.size(), 600u);
  for (size_t i = 0; i < values.size(); ++i) {
    EXPECT_EQ(values[i].bits, BFloat16(static_cast<float>(i)).bits) << i;
  }
}

TEST(RangeTest, SpansAllIntegers) {
  constexpr int64_t kLowest = std::numeric_limits<int64_t>::min();
  constexpr int64_t kHighest = std::numeric_limits<int64_t>::max();
  constexpr int64_t kStep = int64_t{1} << 62;
  EXPECT_EQ(RangeOf<int64_t>(kLowest, kHighest, kStep),
            (std::vector<int64_t>{kLowest, -kStep, 0, kStep}));
  EXPECT_EQ(RangeOf<int64_t>(kHighest, kLowest, kLowest), (std::vector<int64_t>{kHighest, -1}));
}

TEST(RangeTest, RefusesADeltaThatLeadsNowhere) {
  for (const auto& [start, limit, delta] :
       std::vector<std::array<float, 3>>{{0, 1, 0}, {0, 1, -1}, {0, INFINITY, 1}, {0, NAN, 1}}) {
    KernelTester t("Range");
    t.Attr("Tidx", MS_FLOAT32);
    t.Input<float>({}, {start}).Input<float>({}, {limit}).Input<float>({}, {delta});
    EXPECT_EQ(t.Run().code(), MS_INVALID_ARGUMENT) << start << " " << limit << " " << delta;
  }
}

TEST(InvertPermutationTest, Inverts) {
  KernelTester t("InvertPermutation");
  t.Attr("T", MS_INT64).Input<int64_t>({4}, {2, 0, 3, 1});
  ASSERT_TRUE(IsOk(t.Run()));
  EXPECT_EQ(t.Output<int64_t>(0), (std::vector<int64_t>{1, 3, 0, 2}));
}

TEST(InvertPermutationTest, RefusesARepetition) {
  KernelTester t("InvertPermutation");
  t.Attr("T", MS_INT32).Input<int32_t>({3}, {0, 2, 0});
  const ms::Status status = t.Run();
  EXPECT_EQ(status.code(), MS_INVALID_ARGUMENT);
  EXPECT_EQ(status.message(), "x holds 0 more than once, at 0 and at 2");
}

void SetSegmentAttrs(MS_DType dtype, KernelTester* t) {
  t->Attr("T", dtype).Attr("Tindices", MS_INT32).Attr("Tnumsegments", MS_INT32);
}

TEST(UnsortedSegmentSumTest, AddsRowsInOrderForAnyNumberOfThreads) {
  constexpr int64_t kRows = 3000;
  constexpr int64_t kWidth = 77;
  const std::vector<int32_t> ids = RandomIndices(kRows, -1, 11, 5);
  Floats data;
  for (int64_t i = 0; i < kRows * kWidth; ++i) {
    data.push_back(1.0f / static_cast<float>(1 + i % 1009));
  }
  Floats expected(11 * kWidth, 0.0f);
  for (int64_t row = 0; row < kRows; ++row) {
    for (int64_t c = 0; ids[row] >= 0 && c < kWidth; ++c) {
      expected[ids[row] * kWidth + c] += data[row * kWidth + c];
    }
  }
  KernelTester t("UnsortedSegmentSum");
  SetSegmentAttrs(MS_FLOAT32, &t);
  t.Input<float>({kRows, kWidth}, data).Input<int32_t>({kRows}, ids).ConstInput<int32_t>({}, {11});
  ASSERT_TRUE(IsOk(t.Run()));
  EXPECT_EQ(t.Output<float>(0), expected);
}

TEST(UnsortedSegmentSumTest, RoundsNarrowFloatsOnce) {
  // 2048 + 1 is no float16: adding one by one would stay there.
  KernelTester t("UnsortedSegmentSum");
  SetSegmentAttrs(MS_FLOAT16, &t);
  t.Input<Float16>({3000}, std::vector<Float16>(3000, Float16(1.0f)));
  t.Input<int32_t>({3000}, std::vector<int32_t>(3000, 1)).ConstInput<int32_t>({}, {2});
  ASSERT_TRUE(IsOk(t.Run()));
  EXPECT_EQ(t.Output<Float16>(0), (std::vector<Float16>{Float16(0.0f), Float16(3000.0f)}));
}

TEST(UnsortedSegmentSumTest, AddsComplexNumbers) {
  using Complex = std::complex<float>;
  KernelTester t("UnsortedSegmentSum");
  SetSegmentAttrs(MS_COMPLEX64, &t);
  t.Input<Complex>({3}, {{1, 2}, {3, 4}, {5, 6}}).Input<int32_t>({3}, {0, -1, 0});
  t.ConstInput<int32_t>({}, {1});
  ASSERT_TRUE(IsOk(t.Run()));
  EXPECT_EQ(t.Output<Complex>(0), (std::vector<Complex>{{6, 8}}));
}

TEST(UnsortedSegmentSumTest, WrapsIntegersAround) {
  KernelTester t("UnsortedSegmentSum");
  SetSegmentAttrs(MS_INT8, &t);
  t.Input<int8_t>({2}, {100, 100}).Input<int32_t>({2}, {0, 0}).ConstInput<int32_t>({}, {1});
  ASSERT_TRUE(IsOk(t.Run()));
  EXPECT_EQ(t.Output<int8_t>(0), (std::vector<int8_t>{-56}));
}

TEST(UnsortedSegmentSumTest, RefusesAnIdBehindTheLastSegment) {
  KernelTester t("UnsortedSegmentSum");
  SetSegmentAttrs(MS_FLOAT32, &t);
  t.Input<float>({2}, {1, 2}).Input<int32_t>({2}, {0, 3}).Input<int32_t>({}, {3});
  const ms::Status status = t.Run();
  EXPECT_EQ(status.code(), MS_INVALID_ARGUMENT);
  EXPECT_EQ(status.message(), "segment_ids[1] = 3 is not smaller than num_segments = 3");
  KernelTester none("UnsortedSegmentSum");
  SetSegmentAttrs(MS_FLOAT32, &none);
  none.Input<float>({2, 0}, {}).Input<int32_t>({2}, {0, 3}).Input<int32_t>({}, {3});
  EXPECT_EQ(none.Run().code(), MS_INVALID_ARGUMENT);
}

template <typename T, typename Index>
void ExpectUnique(const std::vector<T>& x, const std::vector<T>& y, const std::vector<Index>& idx) {
  constexpr MS_DType kType = testing::TesterDType<T>();
  KernelTester t("Unique");
  t.Attr("T", kType).Attr("out_idx", ms::DTypeOf<Index>()).Outputs({kType, ms::DTypeOf<Index>()});
  t.Input<T>({static_cast<int64_t>(x.size())}, x);
  ASSERT_TRUE(IsOk(t.Run()));
  EXPECT_EQ(t.Output<T>(0), y);
  EXPECT_EQ(t.Output<Index>(1), idx);
}

TEST(UniqueTest, KeepsTheFirstOfEachInOrder) {
  ExpectUnique<int64_t, int32_t>({7, 3, 7, 5, 3}, {7, 3, 5}, {0, 1, 0, 2, 1});
  ExpectUnique<float, int64_t>({0.0f, 1.5f, -0.0f}, {0.0f, 1.5f}, {0, 1, 0});
  ExpectUnique<std::string, int64_t>({"b", "", "b"}, {"b", ""}, {0, 1, 0});
  ExpectUnique<Float16, int32_t>({Float16(1.0f), Float16(1.0f)}, {Float16(1.0f)}, {0, 0});
  ExpectUnique<int32_t, int32_t>({}, {}, {});
}

// Keys that differ in few bits, high or low, and many that come again.
TEST(UniqueTest, GivesThePlacesOfManyKeys) {
  std::mt19937_64 random(7);
  for (const int shift : {0, 20, 52}) {
    std::vector<int64_t> x(5000);
    for (int64_t& key : x) key = static_cast<int64_t>((random() % 2000) << shift);
    std::vector<int64_t> y;
    std::vector<int32_t> idx;
    std::map<int64_t, int32_t> known;
    for (const int64_t key : x) {
      const auto [entry, is_new] = known.emplace(key, static_cast<int32_t>(known.size()));
      if (is_new) y.push_back(key);
      idx.push_back(entry->second);
    }
    ExpectUnique<int64_t, int32_t>(x, y, idx);
  }
}

// Not searched for among each other: that would take a time that is quadratic in their number.
TEST(UniqueTest, TakesManyNans) {
  const std::vector<double> nans(300000, std::numeric_limits<double>::quiet_NaN());
  KernelTester t("Unique");
  t.Attr("T", MS_FLOAT64).Attr("out_idx", MS_INT32).Outputs({MS_FLOAT64, MS_INT32});
  t.Input<double>({static_cast<int64_t>(nans.size())}, nans);
  ASSERT_TRUE(IsOk(t.Run()));
  std::vector<int32_t> places(nans.size());
  std::iota(places.begin(), places.end(), 0);
  EXPECT_EQ(t.Output<int32_t>(1), places);
}

TEST(UniqueTest, ANanEqualsNothing) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  KernelTester t("Unique");
  t.Attr("T", MS_FLOAT32).Attr("out_idx", MS_INT32).Outputs({MS_FLOAT32, MS_INT32});
  t.Input<float>({2}, {nan, nan});
  ASSERT_TRUE(IsOk(t.Run()));
  EXPECT_EQ(t.Output<int32_t>(1), (std::vector<int32_t>{0, 1}));
}

// A histogram of values from -1 to 1.
struct Histogram {
  Histogram(const Floats& values, int32_t bins) : t("HistogramFixedWidth") {
    t.Attr("T", MS_FLOAT32).Attr("dtype", MS_INT32).Outputs({MS_INT32});
    t.Input<float>({static_cast<int64_t>(values.size())}, values).Input<float>({2}, {-1, 1});
    t.Input<int32_t>({}, {bins});
    status = t.Run();
  }
  KernelTester t;
  ms::Status status;
};

TEST(HistogramFixedWidthTest, KeepsTheDigitsOfSmallNumbers) {
  const Histogram histogram({-1e-9f, 0, -5, 5}, 2);
  ASSERT_TRUE(IsOk(histogram.status));
  EXPECT_EQ(histogram.t.Output<int32_t>(0), (std::vector<int32_t>{2, 2}));
}

TEST(HistogramFixedWidthTest, OnlyOneBinTakesANan) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const Histogram one({0, nan}, 1);
  ASSERT_TRUE(IsOk(one.status));
  EXPECT_EQ(one.t.Output<int32_t>(0), (std::vector<int32_t>{2}));
  const Histogram two({0, nan}, 2);
  EXPECT_EQ(two.status.code(), MS_INVALID_ARGUMENT);
  EXPECT_EQ(two.status.message(), "Histogram values must not contain NaN: values[1]");
}

}  // namespace
}  // namespace millstream::kernels
