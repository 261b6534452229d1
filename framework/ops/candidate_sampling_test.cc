#include <string>
#include <vector>

#include "framework/ops/shape_tester.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace millstream {
namespace {

using ::testing::HasSubstr;

ShapeTester Sampler(absl::string_view op, absl::string_view true_classes, int64_t num_sampled,
                    int64_t range) {
  return ShapeTester(op)
      .Input(true_classes)
      .Attr("num_true", int64_t{2})
      .Attr("num_sampled", num_sampled)
      .Attr("unique", true)
      .Attr("range_max", range);
}

TEST(CandidateSamplerTest, TheSampleIsOneForTheBatch) {
  EXPECT_EQ(Sampler("UniformCandidateSampler", "[5,2]", 3, 9).Shapes(), "[3] [5,2] [3]");
  EXPECT_EQ(Sampler("LogUniformCandidateSampler", "?", 3, 9).Shapes(), "[3] [?,2] [3]");
}

TEST(CandidateSamplerTest, RefusesWhatCannotBeDrawn) {
  EXPECT_THAT(Sampler("UniformCandidateSampler", "[5,2]", 10, 9).Shapes(),
              HasSubstr("Sampler's range is too small"));
  EXPECT_THAT(Sampler("UniformCandidateSampler", "[5,3]", 3, 9).Shapes(),
              HasSubstr("true_classes must have num_true = 2 columns, but its shape is [5,3]"));
  EXPECT_THAT(Sampler("LearnedUnigramCandidateSampler", "[5,2]", 3, int64_t{1} << 31).Shapes(),
              HasSubstr("'range_max' of LearnedUnigramCandidateSampler: must be below"));
}

TEST(FixedUnigramCandidateSamplerTest, HasOneSourceOfWeights) {
  const auto shapes = [](const std::string& file, const std::vector<float>& unigrams,
                         int64_t shard) {
    return Sampler("FixedUnigramCandidateSampler", "[5,2]", 2, 2)
        .Attr("vocab_file", file)
        .Attr("unigrams", unigrams)
        .Attr("shard", shard)
        .Shapes();
  };
  EXPECT_EQ(shapes("", {1, 2}, 0), "[2] [5,2] [2]");
  EXPECT_EQ(shapes("file", {}, 0), "[2] [5,2] [2]");
  EXPECT_THAT(shapes("", {}, 0), HasSubstr("Must provide either vocab_file or unigrams."));
  EXPECT_THAT(shapes("file", {1, 2}, 0),
              HasSubstr("Must only provide one of vocab_file and unigrams."));
  EXPECT_THAT(shapes("file", {}, 1), HasSubstr("'shard'"));
}

TEST(ComputeAccidentalHitsTest, TheNumberOfHitsIsNotKnown) {
  const auto shapes = [](absl::string_view classes, absl::string_view sampled, int64_t num_true) {
    return ShapeTester("ComputeAccidentalHits")
        .Input(classes)
        .Input(sampled)
        .Attr("num_true", num_true)
        .Shapes();
  };
  EXPECT_EQ(shapes("[5,2]", "[3]", 2), "[?] [?] [?]");
  EXPECT_THAT(shapes("[5,3]", "[3]", 2), HasSubstr("num_true = 2 columns"));
  EXPECT_THAT(shapes("[5,2]", "[3,1]", 2), HasSubstr("'sampled_candidates'"));
  EXPECT_THAT(shapes("[5,2]", "[3]", -1), HasSubstr("'num_true'"));
}

}  // namespace
}  // namespace millstream
