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
