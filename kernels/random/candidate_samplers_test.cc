#include <gtest/gtest.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <limits>
#include <string>
#include <vector>

#include "kernels/testing/kernel_tester.h"

namespace millstream::kernels {
namespace {

using testing::IsNear;
using testing::IsOk;
using testing::KernelTester;

using Integers = std::vector<int64_t>;
using Floats = std::vector<float>;

struct Sampler {
  int64_t num_sampled;
  bool unique;
  int64_t range;
  int64_t seed;
  int64_t seed2;
};

// With one true class a row.
void Prepare(const Sampler& sampler, const Integers& true_classes, KernelTester* t) {
  t->Attr("num_true", int64_t{1}).Attr("num_sampled", sampler.num_sampled);
  t->Attr("unique", sampler.unique).Attr("range_max", sampler.range);
  t->Attr("seed", sampler.seed).Attr("seed2", sampler.seed2);
  t->Outputs({MS_INT64, MS_FLOAT32, MS_FLOAT32});
  t->Input<int64_t>({static_cast<int64_t>(true_classes.size()), 1}, true_classes);
}

// The numbers of this file are those of other programs with the same seeds.

TEST(UniformCandidateSamplerTest, GivesTheKnownClasses) {
  KernelTester t("UniformCandidateSampler");
  Prepare({8, false, 50, 4, 17}, {5, 11}, &t);
  ASSERT_TRUE(IsOk(t.Run()));
  EXPECT_EQ(t.Output<int64_t>(0), (Integers{6, 8, 19, 18, 23, 6, 47, 0}));
  EXPECT_TRUE(IsNear(t.Output<float>(1), Floats(2, 0.16f), 1e-6, 0));
  EXPECT_TRUE(IsNear(t.Output<float>(2), Floats(8, 0.16f), 1e-6, 0));
  EXPECT_EQ(t.reserved_blocks(), 8 * 512u);
}

TEST(UniformCandidateSamplerTest, AUniqueSampleDrawsOn) {
  KernelTester t("UniformCandidateSampler");
  Prepare({8, true, 50, 4, 17}, {14}, &t);
  ASSERT_TRUE(IsOk(t.Run()));
  EXPECT_EQ(t.Output<int64_t>(0), (Integers{6, 8, 19, 18, 23, 47, 0, 12}));
  EXPECT_TRUE(IsNear(t.Output<float>(2), Floats(8, 0.16625224f), 1e-6, 0));
}

TEST(LogUniformCandidateSamplerTest, GivesTheKnownClasses) {
  KernelTester t("LogUniformCandidateSampler");
  Prepare({8, true, 50, 3, 17}, {18, 7}, &t);
  ASSERT_TRUE(IsOk(t.Run()));
  EXPECT_EQ(t.Output<int64_t>(0), (Integers{8, 6, 25, 0, 29, 36, 17, 22}));
  EXPECT_TRUE(IsNear(t.Output<float>(1), {0.11146709f, 0.23946078f}, 1e-5, 0));
}

void PrepareWeights(const Floats& unigrams, const std::string& file, int64_t shards, int64_t shard,
                    int64_t reserved, KernelTester* t) {
  t->Attr("unigrams", unigrams).Attr("vocab_file", file).Attr("distortion", 1.0f);
  t->Attr("num_shards", shards).Attr("shard", shard).Attr("num_reserved_ids", reserved);
}

const Floats kUnigrams = {0.1f, 0.2f, 0.3f, 0.05f, 0.15f, 0.2f};

TEST(FixedUnigramCandidateSamplerTest, GivesTheKnownClasses) {
  KernelTester t("FixedUnigramCandidateSampler");
  Prepare({4, true, 6, 5, 9}, {1, 4}, &t);
  PrepareWeights(kUnigrams, "", 1, 0, 0, &t);
  ASSERT_TRUE(IsOk(t.Run()));
  EXPECT_EQ(t.Output<int64_t>(0), (Integers{1, 5, 2, 4}));
  EXPECT_TRUE(IsNear(t.Output<float>(1), {0.8f, 0.6f}, 1e-6, 0));
}

TEST(FixedUnigramCandidateSamplerTest, AShardHasSomeOfTheWeights) {
  KernelTester t("FixedUnigramCandidateSampler");
  Prepare({2, true, 3, 5, 9}, {1, 0}, &t);
  PrepareWeights(kUnigrams, "", 2, 1, 0, &t);
  ASSERT_TRUE(IsOk(t.Run()));
  EXPECT_EQ(t.Output<int64_t>(0), (Integers{2, 0}));
  EXPECT_TRUE(IsNear(t.Output<float>(1), {0.29766807f, 0.82853228f}, 1e-5, 0));
}

TEST(FixedUnigramCandidateSamplerTest, AFileHasALineForEachClass) {
  const std::string file = std::string(std::getenv("TEST_TMPDIR")) + "/words";
  std::ofstream(file) << "the,0.75\nof the,more,0.25\n";
  KernelTester t("FixedUnigramCandidateSampler");
  Prepare({1, false, 3, 5, 9}, {0, 1, 2}, &t);
  PrepareWeights({}, file, 1, 0, 1, &t);
  ASSERT_TRUE(IsOk(t.Run()));
  EXPECT_EQ(t.Output<float>(1), (Floats{0, 0.75f, 0.25f}));
  std::remove(file.c_str());
}

std::string WeightsError(const Floats& unigrams, int64_t range, int64_t reserved, bool unique) {
  KernelTester t("FixedUnigramCandidateSampler");
  Prepare({2, unique, range, 5, 9}, {0}, &t);
  PrepareWeights(unigrams, "", 1, 0, reserved, &t);
  return std::string(t.Run().message());
}

TEST(FixedUnigramCandidateSamplerTest, RefusesWeightsThatMakeNoDistribution) {
  const auto has = [](const std::string& text, const std::string& part) {
    return text.find(part) != std::string::npos;
  };
  EXPECT_TRUE(has(WeightsError({1, 2}, 3, 0, false), "range_max = 3, but there are 2 weights"));
  EXPECT_TRUE(has(WeightsError({1, 2}, 1, 0, false), "range_max = 1, but there are more weights"));
  EXPECT_TRUE(has(WeightsError({1}, 2, int64_t{1} << 60, false), "there are more weights"));
  EXPECT_TRUE(has(WeightsError({1, -2}, 2, 0, false), "must not be negative"));
  EXPECT_TRUE(has(WeightsError({0, 0}, 2, 0, false), "the sum of unigrams is 0"));
  EXPECT_TRUE(has(WeightsError({1, 0}, 2, 0, true), "range is too small"));
}

TEST(AllCandidateSamplerTest, GivesAllClasses) {
  KernelTester t("AllCandidateSampler");
  Prepare({3, true, 3, 5, 9}, {2, 7}, &t);
  ASSERT_TRUE(IsOk(t.Run()));
  EXPECT_EQ(t.Output<int64_t>(0), (Integers{0, 1, 2}));
  EXPECT_EQ(t.Output<float>(1), Floats(2, 1.0f));
  EXPECT_EQ(t.Output<float>(2), Floats(3, 1.0f));
}

TEST(ComputeAccidentalHitsTest, FindsTheLastPlaceOfEachTrueClass) {
  KernelTester t("ComputeAccidentalHits");
  t.Attr("num_true", int64_t{2}).Outputs({MS_INT32, MS_INT64, MS_FLOAT32}).DynamicOnly();
  t.Input<int64_t>({2, 2}, {3, 5, 9, 3}).Input<int64_t>({4}, {5, 3, 8, 3});
  ASSERT_TRUE(IsOk(t.Run()));
  EXPECT_EQ(t.Output<int32_t>(0), (std::vector<int32_t>{0, 0, 1}));
  EXPECT_EQ(t.Output<int64_t>(1), (Integers{3, 0, 3}));
  EXPECT_EQ(t.Output<float>(2), Floats(3, std::numeric_limits<float>::lowest()));
}

}  // namespace
}  // namespace millstream::kernels
