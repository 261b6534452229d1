#include "distributed_runtime/run_numbers.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace millstream {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

TEST(RunNumbersTest, ARunKnowsWhichEarlierOnesHaveNotEnded) {
  RunNumbers numbers;
  EXPECT_EQ(numbers.Begin().number, 1);
  EXPECT_THAT(numbers.Begin().running, ElementsAre(1));
  const NumberedRun third = numbers.Begin();
  EXPECT_EQ(third.number, 3);
  EXPECT_THAT(third.running, ElementsAre(1, 2));
  numbers.End(2);
  EXPECT_THAT(numbers.Begin().running, ElementsAre(1, 3));
  for (const uint64_t number : {1, 3, 4}) numbers.End(number);
  EXPECT_THAT(numbers.Begin().running, IsEmpty());
}

TEST(RunRecordTest, ALaterRunSaysWhichHaveEnded) {
  RunRecord record;
  EXPECT_FALSE(record.HasEnded(7));
  EXPECT_TRUE(record.Begin(7, {2, 5}));
  for (const uint64_t number : {1, 3, 6}) EXPECT_TRUE(record.HasEnded(number)) << number;
  for (const uint64_t number : {2, 5, 7, 8}) EXPECT_FALSE(record.HasEnded(number)) << number;
  EXPECT_TRUE(record.Begin(9, {5}));
  EXPECT_TRUE(record.HasEnded(2));
  EXPECT_TRUE(record.HasEnded(7));
  EXPECT_FALSE(record.HasEnded(5));
}

TEST(RunRecordTest, AMessageThatWasOvertakenSaysNothingNew) {
  RunRecord record;
  EXPECT_TRUE(record.Begin(9, {8}));
  EXPECT_FALSE(record.Begin(8, {7}));
  EXPECT_FALSE(record.HasEnded(8));
  EXPECT_TRUE(record.HasEnded(7));
}

}  // namespace
}  // namespace millstream
