#include <cstdint>
#include <string>
#include <vector>

#include "framework/ops/shape_tester.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace millstream {
namespace {

using ::testing::HasSubstr;

ShapeTester Member(const char* op) {
  return ShapeTester(op)
      .Attr("T", DataType::kFloat)
      .Attr("group_size", int64_t{3})
      .Attr("group_key", int64_t{1})
      .Attr("instance_key", int64_t{1});
}

ShapeTester Gather() { return Member("CollectiveGather").Attr("shape", PartialShape({2, 5})); }

TEST(CollectiveGatherTest, HasTheRowsOfAllMembers) {
  EXPECT_EQ(Gather().Input("[2,5]").Shapes(), "[6,5]");
  EXPECT_EQ(Gather().Input("[?,5]").Shapes(), "[?,5]");
  EXPECT_EQ(Gather().Input("?").Shapes(), "?");
}

TEST(CollectiveGatherTest, RefusesScalarsAndEmptyGroups) {
  EXPECT_THAT(Gather().Input("[]").Shapes(), HasSubstr("'input' of CollectiveGather"));
  EXPECT_THAT(Gather().Attr("group_size", int64_t{0}).Input("[2]").Shapes(),
              HasSubstr("attribute 'group_size' must be positive, got 0"));
}

ShapeTester ReduceScatter() {
  return ShapeTester("CollectiveReduceScatterV2")
      .Attr("merge_op", std::string("Add"))
      .Attr("final_op", std::string("Id"));
}

TEST(CollectiveReduceScatterTest, HasAPartOfTheRows) {
  const auto shapes = [](const char* input, const char* group_size) {
    return ReduceScatter().Input(input).Value(group_size).Value("1").Value("1").Shapes();
  };
  EXPECT_EQ(shapes("[6,5]", "3"), "[2,5]");
  EXPECT_EQ(shapes("[0,5]", "3"), "[0,5]");
  EXPECT_EQ(shapes("[?,5]", "3"), "[?,5]");
  EXPECT_EQ(shapes("[6,5]", "?"), "[?,5]");
  EXPECT_EQ(shapes("?", "3"), "?");
}

TEST(CollectiveReduceScatterTest, RefusesWhatCannotBeSharedOut) {
  const auto shapes = [](const char* input, const char* group_size) {
    return ReduceScatter().Input(input).Value(group_size).Value("1").Value("1").Shapes();
  };
  EXPECT_THAT(shapes("[7,6]", "3"), HasSubstr("argument 'input' has 7 rows"));
  EXPECT_THAT(shapes("[]", "1"), HasSubstr("'input' of CollectiveReduceScatterV2"));
  EXPECT_THAT(shapes("[4]", "0"), HasSubstr("argument 'group_size' must be positive, got 0"));
  EXPECT_THAT(shapes("[4]", "(1 1)"), HasSubstr("'group_size' of CollectiveReduceScatterV2"));
}

TEST(CollectiveReduceScatterTest, TakesTokens) {
  EXPECT_EQ(ReduceScatter()
                .Input("[6]")
                .Value("2")
                .Value("1")
                .Value("1")
                .Handle(DataType::kFloat, "[]")
                .Handle(DataType::kFloat, "[]")
                .Shapes(),
            "[3]");
}

TEST(CollectiveReduceTest, HasTheShapeOfTheInput) {
  EXPECT_EQ(Member("CollectiveReduce")
                .Attr("merge_op", std::string("Add"))
                .Attr("final_op", std::string("Id"))
                .Attr("subdiv_offsets", std::vector<int64_t>{0})
                .Input("[2,?]")
                .Shapes(),
            "[2,?]");
}

TEST(CollectiveBcastTest, HasTheShapeOfTheAttribute) {
  EXPECT_EQ(Member("CollectiveBcastRecv").Attr("shape", PartialShape({2, 3})).Shapes(), "[2,3]");
  EXPECT_EQ(
      Member("CollectiveBcastSend").Attr("shape", PartialShape({2, 3})).Input("[2,?]").Shapes(),
      "[2,3]");
  EXPECT_THAT(Member("CollectiveBcastSend").Attr("shape", PartialShape({4})).Input("[2]").Shapes(),
              HasSubstr("[4]"));
}

}  // namespace
}  // namespace millstream
