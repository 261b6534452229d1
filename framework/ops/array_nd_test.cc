#include <string>

#include "framework/ops/shape_tester.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace millstream {
namespace {

using ::testing::HasSubstr;

std::string GatherNd(absl::string_view params, absl::string_view indices) {
  return ShapeTester("GatherNd").Input(params).Input(indices).Shapes();
}

TEST(GatherNdTest, SlicesStandForIndexVectors) {
  EXPECT_EQ(GatherNd("[4,?,3]", "[2,5,2]"), "[2,5,3]");
  EXPECT_EQ(GatherNd("[4,3]", "[2]"), "[]");
  EXPECT_EQ(GatherNd("[4,3]", "[7,0]"), "[7,4,3]");
  EXPECT_EQ(GatherNd("[4,3]", "[7,?]"), "?");
  EXPECT_EQ(GatherNd("?", "[7,1]"), "?");
  EXPECT_THAT(GatherNd("[4,3]", "[7,3]"), HasSubstr("'indices' of GatherNd"));
  EXPECT_THAT(GatherNd("[4,3]", "[]"), HasSubstr("at least rank 1"));
}

std::string ScatterNd(absl::string_view indices, absl::string_view updates,
                      absl::string_view shape) {
  return ShapeTester("ScatterNd").Input(indices).Input(updates).Value(shape).Shapes();
}

TEST(ScatterNdTest, TheShapeIsGiven) {
  EXPECT_EQ(ScatterNd("[2,1]", "[2,3]", "(4 3)"), "[4,3]");
  EXPECT_EQ(ScatterNd("[2,1]", "[2,3]", "(4 ?)"), "[4,?]");
  EXPECT_THAT(ScatterNd("[2,1]", "[3,3]", "(4 3)"),
              HasSubstr("'updates' of ScatterNd: expected the shape [2,3]"));
  EXPECT_THAT(ScatterNd("[2,1]", "[2]", "(-4)"), HasSubstr("'shape' of ScatterNd"));
}

TEST(TensorScatterTest, TheShapeStays) {
  for (const char* op :
       {"TensorScatterUpdate", "TensorScatterAdd", "TensorScatterSub", "ScatterNdNonAliasingAdd"}) {
    const auto scatter = [&](absl::string_view updates) {
      return ShapeTester(op).Input("[4,3]").Input("[2,2]").Input(updates).Shapes();
    };
    EXPECT_EQ(scatter("[?]"), "[4,3]") << op;
    EXPECT_THAT(scatter("[2,3]"), HasSubstr("'updates' of ")) << op;
  }
}

}  // namespace
}  // namespace millstream
