#include "distributed_runtime/grpc/look_time.h"

#include "gtest/gtest.h"

namespace millstream::network {
namespace {

// Looks so often in vain.
void LookInVain(LookTime* time, int count) {
  for (int i = 0; i < count; ++i) {
    time->Begin();
    time->End(/*has_found=*/false);
  }
}

TEST(LookTime, TheFirstLookTakesTheWholeTime) {
  LookTime time;
  EXPECT_EQ(time.Begin(), LookTime::kMostNanos);
}

TEST(LookTime, ALookInVainHalvesTheNextOne) {
  LookTime time;
  LookInVain(&time, 1);
  EXPECT_EQ(time.Begin(), LookTime::kMostNanos / 2);
  time.End(/*has_found=*/false);
  EXPECT_EQ(time.Begin(), LookTime::kMostNanos / 4);
}

TEST(LookTime, AfterSomeInVainThereAreNone) {
  LookTime time;
  LookInVain(&time, 10);
  EXPECT_EQ(time.Begin(), 0);
}

TEST(LookTime, OneThatFindsSomethingBringsTheWholeTimeBack) {
  LookTime time;
  LookInVain(&time, 3);
  time.Begin();
  time.End(/*has_found=*/true);
  EXPECT_EQ(time.Begin(), LookTime::kMostNanos);
}

TEST(LookTime, OneOfManyTakesTheWholeTimeWhateverHasBeenFound) {
  LookTime time;
  LookInVain(&time, LookTime::kWholeEvery);
  EXPECT_EQ(time.Begin(), LookTime::kMostNanos);
}

}  // namespace
}  // namespace millstream::network
