// Switch, Merge and dead tensors.
#include <string>
#include <vector>

#include "core/dynamic/dynamic_fixture.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace millstream {
namespace {

class BranchesTest : public DynamicTest {
 protected:
  BranchesTest()
      : pred_(Placeholder("pred", DataType::kBool, PartialShape::Scalar())),
        x_(Placeholder("x", DataType::kFloat, PartialShape::Scalar())) {}
  std::vector<Feed> Feeds(bool pred, float x = 3) {
    return {{pred_, Tensor::Scalar<bool>(pred)}, {x_, Tensor::Scalar<float>(x)}};
  }
  const Node* Branch() { return build.NodeOf("Switch", {x_, pred_}); }

  Output pred_;
  Output x_;
};

TEST_F(BranchesTest, OneSideRuns) {
  const Node* branch = Branch();
  const Node* merged = Merge({Op("Neg", {branch->output(0)}), Op("Square", {branch->output(1)})});
  EXPECT_EQ(Scalar(merged->output(0), Feeds(false)), -3);
  EXPECT_EQ(Scalar(merged->output(0), Feeds(true)), 9);
}

TEST_F(BranchesTest, MergeSaysWhichInputItTook) {
  const Node* branch = Branch();
  const Node* merged = Merge({branch->output(0), branch->output(1)});
  const auto index = [&](bool pred) {
    const auto results = Dynamic({merged->output(1)}, Feeds(pred));
    return results.ok() ? *(*results)[0].data<int32_t>() : -1;
  };
  EXPECT_EQ(index(false), 0);
  EXPECT_EQ(index(true), 1);
}

TEST_F(BranchesTest, ADeadFetchIsAnError) {
  const Node* branch = Branch();
  const auto results = Dynamic({Op("Neg", {branch->output(0)})}, Feeds(true));
  ExpectError(results.status(), absl::StatusCode::kInvalidArgument,
              {"Retval[0] does not have value", "Neg"});
}

TEST_F(BranchesTest, DeadnessGoesThroughDataAndControlEdges) {
  const Node* branch = Branch();
  const Output dead = Op("Neg", {branch->output(1)});
  const Output behind = ConstantAfter(7, dead.node);
  const Output live = ConstantAfter(8, branch->output(0).node);
  const Node* merged = Merge({Op("Neg", {Op("Add", {behind, x_})}), live});
  EXPECT_EQ(Scalar(merged->output(0), Feeds(false)), 8);
}

TEST_F(BranchesTest, AnErrorOnTheDeadSideDoesNotHappen) {
  const Node* branch = Branch();
  const Output checked = Op("TestBlocking", {branch->output(1)});
  const Node* merged = Merge({Op("Neg", {branch->output(0)}), checked});
  EXPECT_EQ(Scalar(merged->output(0), Feeds(false, -1)), 1);
  EXPECT_EQ(Dynamic({merged->output(0)}, Feeds(true, -1)).status().code(),
            absl::StatusCode::kOutOfRange);
}

TEST_F(BranchesTest, MergeIsDeadWhenAllInputsAre) {
  const Node* outer = Branch();
  const Node* inner = build.NodeOf("Switch", {outer->output(1), pred_});
  const Node* merged = Merge({inner->output(0), Op("Neg", {inner->output(1)})});
  const Node* all = Merge({merged->output(0), outer->output(0)});
  EXPECT_EQ(Scalar(all->output(0), Feeds(true)), -3);
  EXPECT_EQ(Scalar(all->output(0), Feeds(false)), 3);
}

TEST_F(BranchesTest, AControlEdgeToAMergeOnlyOrders) {
  const Node* branch = Branch();
  const Output dead = Op("Neg", {branch->output(1)});
  build.set_control_inputs({dead.node});
  const Node* merged = Merge({branch->output(0)});
  build.set_control_inputs({});
  EXPECT_EQ(Scalar(merged->output(0), Feeds(false)), 3);
}

TEST_F(BranchesTest, AControlTriggerIsLiveBehindWhatIsDead) {
  const Node* branch = Branch();
  build.set_control_inputs({Op("Neg", {branch->output(1)}).node});
  const Node* trigger = build.NodeOf("ControlTrigger", {});
  build.set_control_inputs({});
  EXPECT_EQ(Scalar(ConstantAfter(5, trigger), Feeds(false)), 5);
}

TEST_F(BranchesTest, MergeOfWhatIsThereFromTheStartTakesTheFirst) {
  const Node* merged = Merge({Constant(1.0f), Op("Neg", {x_}), x_});
  EXPECT_EQ(Scalar(merged->output(0), Feeds(false)), 1);
  EXPECT_EQ(Scalar(Merge({Op("Neg", {x_}), x_})->output(0), Feeds(false)), 3);
}

TEST_F(BranchesTest, SwitchWantsAScalar) {
  const Output pred = Placeholder("preds", DataType::kBool);
  const Node* branch = build.NodeOf("Switch", {x_, pred});
  std::vector<Feed> feeds = Feeds(true);
  feeds.push_back({pred, Tensor::Of<bool>({2}, {true, false})});
  ExpectError(Dynamic({branch->output(1)}, feeds).status(), absl::StatusCode::kInvalidArgument,
              {"'pred' of Switch must be a scalar bool, got bool[2]"});
}

TEST_F(BranchesTest, HandlesPassThroughBranches) {
  const Output handle = Variable("v", DataType::kFloat, PartialShape::Scalar());
  const Node* branch = build.NodeOf("Switch", {handle, pred_});
  const Node* assign = Assign(branch->output(1), x_);
  ASSERT_TRUE(Dynamic({}, Feeds(true), {assign}).ok());
  EXPECT_EQ(Scalar(Read(handle)), 3);
  ASSERT_TRUE(Dynamic({}, Feeds(false, 4), {assign}).ok());
  EXPECT_EQ(Scalar(Read(handle)), 3);
}

TEST_F(BranchesTest, WhatIsFedIsNeverWrittenNorKept) {
  const Node* branch = Branch();
  const Output handle = Variable("v", DataType::kFloat, PartialShape::Scalar());
  const Node* assign = Assign(handle, branch->output(1));
  Tensor fed = Tensor::Scalar<float>(3);
  const auto results = Dynamic({Op("Neg", {branch->output(1)}), branch->output(1)},
                               {{pred_, Tensor::Scalar<bool>(true)}, {x_, fed}}, {assign});
  ASSERT_TRUE(results.ok()) << results.status();
  EXPECT_EQ(*fed.data<float>(), 3);
  *fed.data<float>() = 9;
  EXPECT_EQ(*(*results)[1].data<float>(), 3);
  EXPECT_EQ(Scalar(Read(handle)), 3);
}

TEST_F(BranchesTest, FetchesMayRepeatAndMayBeFeedsAndConstants) {
  const Output one = Constant(1.0f);
  const Output negative = Op("Neg", {x_});
  const auto results = Dynamic({negative, x_, one, negative}, Feeds(true));
  ASSERT_TRUE(results.ok()) << results.status();
  std::vector<float> values;
  for (const Tensor& tensor : *results) values.push_back(*tensor.data<float>());
  EXPECT_THAT(values, ::testing::ElementsAre(-3, 3, 1, -3));
  EXPECT_NE((*results)[0].raw(), (*results)[3].raw());
}

TEST_F(BranchesTest, AProgramRunsManyTimes) {
  const Node* branch = Branch();
  const Node* merged = Merge({Op("Neg", {branch->output(0)}), Op("Square", {branch->output(1)})});
  auto program = Compile({{pred_, x_}, {merged->output(0)}, {}});
  ASSERT_TRUE(program.ok()) << program.status();
  for (int i = 0; i < 5; ++i) {
    const auto results =
        RunProgram(program->get(), 1, {Tensor::Scalar<bool>(i % 2 == 0), Tensor::Scalar<float>(i)});
    ASSERT_TRUE(results.ok()) << results.status();
    EXPECT_EQ(*(*results)[0].data<float>(), i % 2 == 0 ? i * i : -i);
  }
}

}  // namespace
}  // namespace millstream
