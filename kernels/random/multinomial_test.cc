#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "kernels/testing/kernel_tester.h"

namespace millstream::kernels {
namespace {

using testing::IsOk;
using testing::KernelTester;
using Classes = std::vector<int64_t>;

constexpr float kNever = -std::numeric_limits<float>::infinity();

void Prepare(int32_t samples, KernelTester* t) {
  t->Attr("T", MS_FLOAT32).Attr("output_dtype", MS_INT64).Attr("Tseed", MS_INT64);
  t->Attr("seed", int64_t{4}).Attr("seed2", int64_t{9}).Outputs({MS_INT64});
  t->Input<float>({1, 4}, {kNever, 0, kNever, 1}).ConstInput<int32_t>({}, {samples});
}

// The classes are those of other programs with the same seeds.
TEST(MultinomialTest, GivesTheKnownClasses) {
  KernelTester t("Multinomial");
  Prepare(12, &t);
  ASSERT_TRUE(IsOk(t.Run()));
  EXPECT_EQ(t.OutputShape(0), (std::vector<int64_t>{1, 12}));
  const Classes first = t.Output<int64_t>(0);
  EXPECT_EQ(first, (Classes{3, 1, 3, 3, 1, 3, 3, 3, 3, 1, 3, 3}));
  EXPECT_EQ(t.reserved_blocks(), 12u * 2 * 256);
  ASSERT_TRUE(IsOk(t.Run()));
  EXPECT_NE(t.Output<int64_t>(0), first);
}

TEST(MultinomialTest, RoundsTheShareOfARowUp) {
  KernelTester t("Multinomial");
  Prepare(5, &t);
  t.SetInput<float>(0, {3, 2}, {0, 0, 0, 0, 0, 0});
  ASSERT_TRUE(IsOk(t.Run()));
  EXPECT_EQ(t.reserved_blocks(), 3u * 8 * 2 * 256);
}

TEST(MultinomialTest, DrawsEachClassAsOftenAsItIsLikely) {
  constexpr int64_t kSamples = 10000;
  KernelTester t("StatelessMultinomial");
  Prepare(kSamples, &t);
  const float common = 700;  // the exponential of which no float holds
  t.SetInput<float>(0, {1, 3},
                    {common + std::log(0.2f), common + std::log(0.5f), common + std::log(0.3f)});
  t.Input<int64_t>({2}, {3, 4});
  ASSERT_TRUE(IsOk(t.Run()));
  double counts[3] = {};
  for (const int64_t drawn : t.Output<int64_t>(0)) {
    ASSERT_TRUE(drawn >= 0 && drawn < 3);
    ++counts[drawn];
  }
  // Four standard deviations of a count are 200 at most.
  EXPECT_NEAR(counts[0], 2000, 200);
  EXPECT_NEAR(counts[1], 5000, 200);
  EXPECT_NEAR(counts[2], 3000, 200);
}

TEST(MultinomialTest, RefusesWrongArguments) {
  KernelTester negative("Multinomial");
  Prepare(-1, &negative);
  EXPECT_EQ(negative.Run().message(), "num_samples should be nonnegative, got -1");
  KernelTester flat("Multinomial");
  Prepare(1, &flat);
  flat.SetInput<float>(0, {2}, {0, 0});
  EXPECT_EQ(flat.Run().message(), "logits should be a matrix, got shape [2]");
  KernelTester empty("Multinomial");
  Prepare(1, &empty);
  empty.SetInput<float>(0, {2, 0}, {});
  EXPECT_EQ(empty.Run().message(), "logits: num_classes should be positive, got shape [2,0]");
  KernelTester seedless("StatelessMultinomial");
  Prepare(1, &seedless);
  seedless.Input<int64_t>({1}, {3});
  EXPECT_EQ(seedless.Run().message(), "seed must have shape [2], not [1]");
}

}  // namespace
}  // namespace millstream::kernels
