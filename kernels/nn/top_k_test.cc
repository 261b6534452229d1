#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <limits>
#include <numeric>
#include <random>
#include <string>
#include <type_traits>
#include <vector>

#include "kernels/common/narrow_float.h"
#include "kernels/testing/kernel_tester.h"

namespace millstream::kernels {
namespace {

using testing::IsOk;
using testing::KernelTester;

constexpr float kInf = std::numeric_limits<float>::infinity();
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

template <typename T>
void PrepareTopK(const std::vector<int64_t>& dims, const std::vector<T>& x, int32_t k,
                 KernelTester* t) {
  t->Attr("T", ms::DTypeOf<T>()).Attr("sorted", true).Outputs({ms::DTypeOf<T>(), MS_INT32});
  t->Input<T>(dims, x).template Input<int32_t>({}, {k});
}

template <typename T>
std::vector<int32_t> TopPlaces(const std::vector<int64_t>& dims, const std::vector<T>& x,
                               int32_t k) {
  KernelTester t("TopKV2");
  PrepareTopK(dims, x, k, &t);
  EXPECT_TRUE(IsOk(t.Run()));
  return t.Output<int32_t>(1);
}

template <typename T>
class TopKTest : public ::testing::Test {};
using Types = ::testing::Types<float, double, Float16, BFloat16, int8_t, int16_t, int32_t, int64_t,
                               uint8_t, uint16_t, uint32_t, uint64_t>;
TYPED_TEST_SUITE(TopKTest, Types);

// Few values, so that many are equal.
template <typename T>
std::vector<T> SmallNumbers(int64_t count) {
  std::mt19937 generator(3);
  std::vector<T> values(static_cast<size_t>(count));
  const int low = std::numeric_limits<T>::is_signed ? -60 : 0;
  for (T& value : values) {
    value = static_cast<T>(low + static_cast<int>(generator() % 120));
  }
  return values;
}

TYPED_TEST(TopKTest, FindsWhatASortFinds) {
  using T = TypeParam;
  constexpr int64_t kRows = 3;
  for (const int64_t size : {1, 7, 256, 5000}) {
    const std::vector<T> x = SmallNumbers<T>(kRows * size);
    for (const int64_t k : {int64_t{1}, size / 3, size}) {
      SCOPED_TRACE(ms::StrCat(size, " elements, k = ", k));
      std::vector<int32_t> places;
      std::vector<T> values;
      for (int64_t row = 0; row < kRows; ++row) {
        const T* const begin = x.data() + row * size;
        std::vector<int32_t> order(static_cast<size_t>(size));
        std::iota(order.begin(), order.end(), 0);
        std::stable_sort(order.begin(), order.end(),
                         [&](int32_t a, int32_t b) { return begin[a] > begin[b]; });
        for (int64_t i = 0; i < k; ++i) {
          places.push_back(order[static_cast<size_t>(i)]);
          values.push_back(begin[places.back()]);
        }
      }
      KernelTester t("TopKV2");
      PrepareTopK<T>({kRows, size}, x, static_cast<int32_t>(k), &t);
      ASSERT_TRUE(IsOk(t.Run()));
      EXPECT_EQ(t.OutputShape(0), (std::vector<int64_t>{kRows, k}));
      EXPECT_EQ(t.Output<int32_t>(1), places);
      EXPECT_TRUE(testing::IsNear(t.Output<T>(0), values, 0, 0));
    }
  }
}

TEST(TopKTest, NaNsComeLastAndZerosAreEqual) {
  EXPECT_EQ(TopPlaces<float>({6}, {kNan, -kInf, 0.0f, -0.0f, kInf, kNan}, 6),
            (std::vector<int32_t>{4, 2, 3, 1, 0, 5}));
  EXPECT_EQ(
      TopPlaces<int64_t>(
          {3}, {std::numeric_limits<int64_t>::min(), -1, std::numeric_limits<int64_t>::max()}, 3),
      (std::vector<int32_t>{2, 1, 0}));
}

// Bits of all kinds: numbers of both signs, infinities, NaNs, zeros of both signs, many of them
// equal, or of all sizes.
template <typename T>
std::vector<T> AnyNumbers(int64_t count, bool wide) {
  std::mt19937_64 generator(5);
  std::vector<T> values(static_cast<size_t>(count));
  for (T& value : values) {
    const uint64_t bits = generator();
    const int64_t small = static_cast<int64_t>(bits % 41) - 20;
    if constexpr (std::is_floating_point_v<T>) {
      const T special[] = {T(0), -T(0), std::numeric_limits<T>::infinity(),
                           -std::numeric_limits<T>::infinity(),
                           std::numeric_limits<T>::quiet_NaN()};
      value = bits % 7 == 0 ? special[bits / 7 % 5] : static_cast<T>(small);
      if (wide && bits % 7 > 1) std::memcpy(&value, &bits, sizeof(value));
    } else {
      value = static_cast<T>(wide ? static_cast<int64_t>(bits) : small);
    }
  }
  return values;
}

template <typename T>
class LongRowTest : public ::testing::Test {};
using LongRowTypes = ::testing::Types<float, double, int16_t, int32_t, int64_t, uint32_t, uint64_t>;
TYPED_TEST_SUITE(LongRowTest, LongRowTypes);

// Lengths and counts on both sides of the limits between the ways to sort.
TYPED_TEST(LongRowTest, FindsWhatASortFinds) {
  using T = TypeParam;
  constexpr int64_t kRows = 2;
  for (const int64_t size : {1023, 1024, 2047, 2048, 9001}) {
    for (const bool wide : {false, true}) {
      const std::vector<T> x = AnyNumbers<T>(kRows * size, wide);
      for (const int64_t k : {int64_t{1}, int64_t{10}, size / 4 - 1, size / 4 + 1, size}) {
        SCOPED_TRACE(ms::StrCat(size, " elements, k = ", k, wide ? ", wide" : ", narrow"));
        std::vector<int32_t> places;
        std::vector<T> values;
        for (int64_t row = 0; row < kRows; ++row) {
          const T* const begin = x.data() + row * size;
          std::vector<int32_t> order(static_cast<size_t>(size));
          std::iota(order.begin(), order.end(), 0);
          // NaNs come last.
          std::stable_sort(order.begin(), order.end(), [&](int32_t a, int32_t b) {
            return begin[a] > begin[b] || (begin[a] == begin[a] && begin[b] != begin[b]);
          });
          for (int64_t i = 0; i < k; ++i) {
            places.push_back(order[static_cast<size_t>(i)]);
            values.push_back(begin[places.back()]);
          }
        }
        KernelTester t("TopKV2");
        PrepareTopK<T>({kRows, size}, x, static_cast<int32_t>(k), &t);
        ASSERT_TRUE(IsOk(t.Run()));
        EXPECT_EQ(t.Output<int32_t>(1), places);
        // Signs of zeros and bits of NaNs are those of the elements.
        EXPECT_EQ(std::memcmp(t.Output<T>(0).data(), values.data(), values.size() * sizeof(T)), 0);
      }
    }
  }
}

// Where in a row the largest elements are: what is looked at first must not matter.
template <typename T>
std::vector<std::vector<T>> RowsInOrder(int64_t size) {
  std::vector<std::vector<T>> rows(8, std::vector<T>(static_cast<size_t>(size)));
  for (int64_t i = 0; i < size; ++i) {
    const auto at = static_cast<size_t>(i);
    const int64_t step = i / 100;
    rows[0][at] = static_cast<T>(i);
    rows[1][at] = static_cast<T>(-i);
    rows[2][at] = T(7);                              // all equal
    rows[3][at] = static_cast<T>(step);              // in rising steps
    rows[4][at] = static_cast<T>(-step);             // in falling steps
    rows[5][at] = static_cast<T>(i * 37 % 1000);     // again and again
    rows[6][at] = std::numeric_limits<T>::lowest();  // of integers, the key 0
    rows[7][at] = i < size - 40 ? std::numeric_limits<T>::lowest() : T(1);
  }
  return rows;
}

// NaNs alone, or numbers of which there are fewer than asked for.
void AddRowsOfNans(int64_t size, std::vector<std::vector<float>>* rows) {
  std::vector<float> row(static_cast<size_t>(size), kNan);
  rows->push_back(row);
  row[static_cast<size_t>(size - 50)] = -kInf;
  row[static_cast<size_t>(size / 2)] = -kInf;
  rows->push_back(row);
  row[static_cast<size_t>(size / 3)] = 1;
  row[static_cast<size_t>(size / 3 + 2)] = -kInf;
  rows->push_back(row);
  std::fill(row.begin(), row.end(), -kInf);
  std::fill(row.begin(), row.begin() + size / 2, kNan);
  rows->push_back(row);
}

template <typename T>
void ExpectFirstOfRows(const std::vector<std::vector<T>>& rows, int64_t k) {
  const auto size = static_cast<int64_t>(rows[0].size());
  std::vector<T> x;
  std::vector<int32_t> places;
  for (const std::vector<T>& row : rows) {
    x.insert(x.end(), row.begin(), row.end());
    std::vector<int32_t> order(row.size());
    std::iota(order.begin(), order.end(), 0);
    std::stable_sort(order.begin(), order.end(), [&](int32_t a, int32_t b) {
      const T left = row[static_cast<size_t>(a)];
      const T right = row[static_cast<size_t>(b)];
      return left > right || (left == left && right != right);
    });
    places.insert(places.end(), order.begin(), order.begin() + k);
  }
  const std::vector<int64_t> dims = {static_cast<int64_t>(rows.size()), size};
  EXPECT_EQ(TopPlaces<T>(dims, x, static_cast<int32_t>(k)), places)
      << "k = " << k << " of " << size;
}

TEST(TopKTest, WhereverTheLargestAre) {
  for (const int64_t size : {320, 511, 512, 2047, 2048, 2079, 2081, 5000}) {
    std::vector<std::vector<float>> floats = RowsInOrder<float>(size);
    AddRowsOfNans(size, &floats);
    for (const int64_t k : {1, 2, 10, 15, 16, 17, 40}) {
      ExpectFirstOfRows(floats, k);
      ExpectFirstOfRows(RowsInOrder<double>(size), k);
      ExpectFirstOfRows(RowsInOrder<int32_t>(size), k);
      ExpectFirstOfRows(RowsInOrder<int64_t>(size), k);
    }
  }
}

TEST(TopKTest, WithoutElements) {
  EXPECT_EQ(TopPlaces<float>({2, 3}, {1, 2, 3, 4, 5, 6}, 0), std::vector<int32_t>());
  EXPECT_EQ(TopPlaces<float>({2, 0}, {}, 0), std::vector<int32_t>());
  EXPECT_EQ(TopPlaces<float>({0, 3}, {}, 2), std::vector<int32_t>());
}

TEST(TopKTest, OneOutputAlone) {
  for (uint32_t unused : {0u, 1u}) {
    KernelTester t("TopKV2");
    PrepareTopK<float>({4}, {1, 4, 3, 2}, 2, &t);
    t.Unused(unused);
    ASSERT_TRUE(IsOk(t.Run()));
    if (unused == 0) {
      EXPECT_EQ(t.Output<int32_t>(1), (std::vector<int32_t>{1, 2}));
    } else {
      EXPECT_EQ(t.Output<float>(0), (std::vector<float>{4, 3}));
    }
  }
}

TEST(TopKTest, TheCountMayBeAnAttribute) {
  KernelTester t("TopK");
  t.Attr("T", MS_FLOAT32).Attr("sorted", true).Attr("k", int64_t{2});
  t.Outputs({MS_FLOAT32, MS_INT32}).Input<float>({2, 3}, {1, 3, 2, 6, 5, 4});
  ASSERT_TRUE(IsOk(t.Run()));
  EXPECT_EQ(t.Output<int32_t>(1), (std::vector<int32_t>{1, 2, 0, 1}));
}

TEST(TopKTest, RefusesWhatIsNotThere) {
  const auto error = [](int32_t k) {
    KernelTester t("TopKV2");
    PrepareTopK<float>({2}, {1, 2}, k, &t);
    return std::string(t.Run().message());
  };
  EXPECT_NE(error(3).find("input must have at least k columns. Had 2, needed k = 3"),
            std::string::npos);
  EXPECT_NE(error(-1).find("Need k >= 0, got -1"), std::string::npos);
}

std::vector<float> NthElement(const std::vector<float>& x, int32_t n, bool reverse) {
  KernelTester t("NthElement");
  t.Attr("T", MS_FLOAT32).Attr("reverse", reverse);
  t.Input<float>({static_cast<int64_t>(x.size()) / 4, 4}, x).Input<int32_t>({}, {n});
  EXPECT_TRUE(IsOk(t.Run()));
  return t.Output<float>(0);
}

TEST(NthElementTest, CountsFromTheSmallestOrTheLargest) {
  const std::vector<float> x = {3, 1, 4, 2, 5, 5, -1, kNan};
  EXPECT_EQ(NthElement(x, 1, false), (std::vector<float>{2, -1}));
  EXPECT_EQ(NthElement(x, 3, false), (std::vector<float>{4, 5}));
  EXPECT_EQ(NthElement(x, 0, true), (std::vector<float>{4, 5}));
  EXPECT_EQ(NthElement(x, 2, true), (std::vector<float>{2, -1}));
}

std::vector<bool> InTopK(const std::vector<float>& predictions, const std::vector<int32_t>& targets,
                         int32_t k) {
  const auto rows = static_cast<int64_t>(targets.size());
  KernelTester t("InTopKV2");
  t.Attr("T", MS_INT32).Outputs({MS_BOOL});
  t.Input<float>({rows, static_cast<int64_t>(predictions.size()) / rows}, predictions);
  t.Input<int32_t>({rows}, targets).Input<int32_t>({}, {k});
  EXPECT_TRUE(IsOk(t.Run()));
  return t.Output<bool>(0);
}

TEST(InTopKTest, EqualPredictionsAreInOrOutTogether) {
  const std::vector<float> row = {0.1f, 0.4f, 0.3f, 0.3f};
  std::vector<float> rows;
  for (int i = 0; i < 4; ++i) rows.insert(rows.end(), row.begin(), row.end());
  EXPECT_EQ(InTopK(rows, {0, 1, 2, 3}, 1), (std::vector<bool>{false, true, false, false}));
  EXPECT_EQ(InTopK(rows, {0, 1, 2, 3}, 2), (std::vector<bool>{false, true, true, true}));
  EXPECT_EQ(InTopK(rows, {0, 1, 2, 3}, 4), (std::vector<bool>{true, true, true, true}));
}

TEST(InTopKTest, NothingIsKnownOfOddRowsAndTargets) {
  EXPECT_EQ(InTopK({1, kInf, 1, kNan, 1, 2, 1, 2}, {0, 0, -1, 2}, 2),
            (std::vector<bool>{false, false, false, false}));
}

}  // namespace
}  // namespace millstream::kernels
