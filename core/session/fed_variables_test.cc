// Values fed in the place of variables. Those of imported references are in import_refs_test.cc.
#include "core/session/fed_variables.h"

#include <string>
#include <vector>

#include "core/testing/session_fixture.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace millstream {
namespace {

using ::testing::ElementsAre;

constexpr absl::StatusCode kInvalid = absl::StatusCode::kInvalidArgument;

class FedVariablesTest : public SessionTest {
 protected:
  FedVariablesTest() : w(Variable("w", DataType::kFloat, {-1})) {}
  std::vector<float> Fetch(const Output& fetch, const std::vector<Feed>& given) {
    return Elements<float>(Value(fetch, given));
  }

  const Output w;
  const std::vector<Feed> feeds = {{w, Values<float>({5, 6})}};
};

TEST_F(FedVariablesTest, EveryReadHasTheValue) {
  const Output first = Read(w);
  const Output second = Read(w);
  const auto values = Run({Op("Neg", {first}), Op("Mul", {first, second}), second}, feeds);
  ASSERT_TRUE(values.ok()) << values.status();  // though w was never assigned
  EXPECT_THAT(Elements<float>((*values)[0]), ElementsAre(-5, -6));
  EXPECT_THAT(Elements<float>((*values)[1]), ElementsAre(25, 36));
  EXPECT_THAT(Elements<float>((*values)[2]), ElementsAre(5, 6));
}

TEST_F(FedVariablesTest, TheVariableKeepsItsValue) {
  const Output read = Read(w);
  ASSERT_EQ(Execute({Assign(w, Constant(Values<float>({1})))}), absl::OkStatus());
  EXPECT_THAT(Fetch(read, feeds), ElementsAre(5, 6));
  EXPECT_THAT(Fetch(read, {}), ElementsAre(1));
}

TEST_F(FedVariablesTest, OtherFeedsKeepTheirPlaces) {
  const Output x = Placeholder("x", DataType::kFloat);
  const Output y = Placeholder("y", DataType::kFloat);
  const Output sum = Op("AddV2", {Op("Mul", {x, Read(w)}), y});
  EXPECT_THAT(Fetch(sum, {{x, Values<float>({2, 3})}, feeds[0], {y, Values<float>({1, 1})}}),
              ElementsAre(11, 19));
}

TEST_F(FedVariablesTest, AReadThatIsFedItselfHasItsOwnValue) {
  const Output read = Read(w);
  const Output product = Op("Mul", {read, Read(w)});
  EXPECT_THAT(Fetch(product, {feeds[0], {read, Values<float>({2, 2})}}), ElementsAre(10, 12));
}

TEST_F(FedVariablesTest, OfTwoFeedsTheLastCounts) {
  EXPECT_THAT(Fetch(Read(w), {feeds[0], {w, Values<float>({7})}}), ElementsAre(7));
}

TEST_F(FedVariablesTest, AFeedThatNothingReadsIsFine) {
  EXPECT_THAT(Fetch(Constant(2.0f), feeds), ElementsAre(2));
}

TEST_F(FedVariablesTest, WhatAReadWaitsForRunsBeforeItsConsumers) {
  const Output other = Variable("other", DataType::kFloat, {1});
  const Node* write = Assign(other, Constant(Values<float>({3})));
  const Output read = Read(w, {write});
  EXPECT_THAT(Fetch(Op("Neg", {read}), feeds), ElementsAre(-5, -6));
  EXPECT_THAT(Fetch(Read(other), {}), ElementsAre(3));
  ASSERT_EQ(Execute({Assign(other, Constant(Values<float>({4})))}), absl::OkStatus());
  EXPECT_THAT(Fetch(read, feeds), ElementsAre(5, 6));
  EXPECT_THAT(Fetch(Read(other), {}), ElementsAre(3));
}

TEST_F(FedVariablesTest, WhoWorksOnTheVariableIsRefused) {
  const Node* write = Assign(w, Constant(Values<float>({3})));
  const Output rows =
      Op("ResourceGather", {w, Constant(Values<int32_t>({0}))}, {{"dtype", DataType::kFloat}});
  const std::string sentence = "works on the variable w itself, but a value is fed for it";
  for (const Output& fetch : {rows, Op("VarIsInitializedOp", {w}), Read(w, {write})}) {
    ExpectError(Error(fetch, feeds), kInvalid, {sentence});
  }
  ExpectError(Execute({write}, feeds), kInvalid, {"op AssignVariableOp", sentence});
}

TEST_F(FedVariablesTest, TheValueIsCheckedAgainstTheVariable) {
  const Output matrix = Variable("matrix", DataType::kFloat, {2, -1});
  const Output read = Read(matrix);
  ExpectError(Error(read, {{matrix, Values<int32_t>({1})}}), kInvalid,
              {"the feed of matrix:0 must be float32, got int32"});
  ExpectError(Error(read, {{matrix, Values<float>({1})}}), kInvalid,
              {"the feed of matrix:0 must have shape [2,?], got [1]"});
}

TEST_F(FedVariablesTest, AHandleThatIsPassedOnCannotBeFed) {
  const Output passed_on = Op("Identity", {w});
  ExpectError(Error(Read(passed_on), {{passed_on, Values<float>({1})}}), kInvalid,
              {"resource handle, which cannot be fed"});
}

}  // namespace
}  // namespace millstream
