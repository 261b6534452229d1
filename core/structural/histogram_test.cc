#include "core/structural/histogram.h"

#include <cmath>
#include <limits>
#include <utility>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace millstream {
namespace {

using ::testing::DoubleNear;
using ::testing::ElementsAre;
using ::testing::Pair;
constexpr double kLargest = std::numeric_limits<double>::max();

proto::HistogramProto HistogramOf(const std::vector<double>& values) {
  Histogram histogram;
  for (const double value : values) histogram.Add(value);
  proto::HistogramProto message;
  histogram.ToProto(&message);
  return message;
}

// (limit, count) of each interval that is not empty.
std::vector<std::pair<double, double>> Counts(const proto::HistogramProto& message) {
  EXPECT_EQ(message.bucket_size(), message.bucket_limit_size());
  std::vector<std::pair<double, double>> counts;
  for (int i = 0; i < message.bucket_size(); ++i) {
    if (message.bucket(i) > 0) counts.emplace_back(message.bucket_limit(i), message.bucket(i));
  }
  return counts;
}

TEST(HistogramTest, KeepsTheMoments) {
  const proto::HistogramProto message = HistogramOf({1, -2, 2, 4});
  EXPECT_EQ(message.min(), -2);
  EXPECT_EQ(message.max(), 4);
  EXPECT_EQ(message.num(), 4);
  EXPECT_EQ(message.sum(), 5);
  EXPECT_EQ(message.sum_squares(), 25);
}

// The limit after n factors of 1.1.
double Limit(int n) { return 1e-12 * std::pow(1.1, n); }

TEST(HistogramTest, IntervalsGrowByATenth) {
  const double below = Limit(289);
  const double above = Limit(290);
  EXPECT_THAT(Counts(HistogramOf({1, 1})), ElementsAre(Pair(DoubleNear(above, 1e-12), 2)));
  EXPECT_GT(1, below);
  EXPECT_LT(1, above);
  // On the negative side the interval's end is the one nearer to 0.
  EXPECT_THAT(Counts(HistogramOf({-1})), ElementsAre(Pair(DoubleNear(-below, 1e-12), 1)));
}

TEST(HistogramTest, AnEndBelongsToTheIntervalAbove) {
  EXPECT_THAT(Counts(HistogramOf({0})), ElementsAre(Pair(1e-12, 1)));
  EXPECT_THAT(Counts(HistogramOf({1e-12})), ElementsAre(Pair(1e-12 * 1.1, 1)));
  EXPECT_THAT(Counts(HistogramOf({-1e-12})), ElementsAre(Pair(0, 1)));
}

TEST(HistogramTest, TheOutermostIntervalsHoldTheLargestValues) {
  EXPECT_THAT(Counts(HistogramOf({kLargest, 1e21})), ElementsAre(Pair(kLargest, 2)));
  const auto lowest = Counts(HistogramOf({-kLargest, -1e21}));
  ASSERT_EQ(lowest.size(), 1);
  EXPECT_LT(lowest[0].first, -9e19);
}

// What a search over all limits finds, for each limit and its neighbours, and for values of all
// sizes.
TEST(HistogramTest, EachValueIsInTheIntervalThatHoldsIt) {
  std::vector<double> values;
  for (double limit = 1e-12; limit < 1e20; limit *= 1.1) values.push_back(limit);
  for (double power = 1e-310; power < 1e300; power *= 1.37) {
    values.push_back(power);
  }
  for (const double value : values) {
    for (const double sign : {1.0, -1.0}) {
      for (const double near :
           {std::nextafter(value, 0.0), value, std::nextafter(value, kLargest)}) {
        const proto::HistogramProto message = HistogramOf({sign * near});
        int full = 0;
        while (message.bucket(full) == 0) ++full;
        EXPECT_LT(sign * near, message.bucket_limit(full));
        if (full > 0) {
          EXPECT_GE(sign * near, message.bucket_limit(full - 1));
        }
      }
    }
  }
}

TEST(HistogramTest, EmptyNeighboursAreOneInterval) {
  const proto::HistogramProto message = HistogramOf({1});
  EXPECT_THAT(message.bucket(), ElementsAre(0, 1, 0));
  EXPECT_NEAR(message.bucket_limit(0), Limit(289), 1e-12);
  EXPECT_EQ(message.bucket_limit(2), kLargest);
}

TEST(HistogramTest, OfNothingIsOneEmptyInterval) {
  const proto::HistogramProto message = HistogramOf({});
  EXPECT_EQ(message.num(), 0);
  EXPECT_EQ(message.min(), kLargest);
  EXPECT_EQ(message.max(), -kLargest);
  EXPECT_THAT(message.bucket(), ElementsAre(0));
  EXPECT_THAT(message.bucket_limit(), ElementsAre(kLargest));
}

}  // namespace
}  // namespace millstream
