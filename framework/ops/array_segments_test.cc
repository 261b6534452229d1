#include "framework/ops/shape_tester.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace millstream {
namespace {

using ::testing::HasSubstr;

TEST(SegmentSumTest, HasARowAnIdThatTheStepCounts) {
  const auto op = [](absl::string_view data, absl::string_view ids) {
    return ShapeTester("SegmentSum").Input(data).Input(ids).Shapes();
  };
  EXPECT_EQ(op("[5,3]", "[5]"), "[?,3]");
  EXPECT_EQ(op("?", "[5]"), "?");
  EXPECT_THAT(op("[5,3]", "[4]"), HasSubstr("'segment_ids' of SegmentSum"));
  EXPECT_THAT(op("[3,2]", "[1,2]"), HasSubstr("rank 1"));
}

TEST(UnsortedSegmentMaxTest, HasARowASegment) {
  const auto op = [](absl::string_view ids, absl::string_view count) {
    return ShapeTester("UnsortedSegmentMax").Input("[2,3,4]").Input(ids).Value(count).Shapes();
  };
  EXPECT_EQ(op("[2,3]", "5"), "[5,4]");
  EXPECT_EQ(op("[2]", "?"), "[?,3,4]");
  EXPECT_THAT(op("[3]", "5"), HasSubstr("'segment_ids' of UnsortedSegmentMax"));
}

TEST(SparseSegmentSumTest, TakesAnIdForEachIndex) {
  const auto op = [](absl::string_view indices, absl::string_view ids) {
    return ShapeTester("SparseSegmentSum").Input("[6,3]").Input(indices).Input(ids).Shapes();
  };
  EXPECT_EQ(op("[5]", "[?]"), "[?,3]");
  EXPECT_THAT(op("[5]", "[4]"), HasSubstr("'segment_ids' of SparseSegmentSum"));
}

TEST(SparseSegmentMeanGradTest, HasTheRowsAskedFor) {
  const auto op = [](absl::string_view rows) {
    return ShapeTester("SparseSegmentMeanGrad")
        .Input("[4,2]")
        .Input("[5]")
        .Input("[5]")
        .Value(rows)
        .Shapes();
  };
  EXPECT_EQ(op("6"), "[6,2]");
  EXPECT_EQ(op("?"), "[?,2]");
  EXPECT_THAT(op("-1"), HasSubstr("'output_dim0' of SparseSegmentMeanGrad"));
}

}  // namespace
}  // namespace millstream
