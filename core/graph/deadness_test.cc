#include "core/graph/deadness.h"

#include <vector>

#include "core/dynamic/dynamic_fixture.h"
#include "gtest/gtest.h"

namespace millstream {
namespace {

using Outputs = std::vector<Output>;

class DeadnessTest : public DynamicTest {
 protected:
  DeadnessTest() : pred(Placeholder("pred", DataType::kBool, PartialShape::Scalar())) {}

  // Of a step that is fed `pred` and `feeds`.
  bool MayBeDead(const Output& output, Outputs feeds = {}) {
    feeds.push_back(pred);
    const StatusOr<PrunedGraph> pruned = Prune(graph, {feeds, {output}, {}});
    EXPECT_TRUE(pruned.ok()) << pruned.status();
    const absl::flat_hash_set<Output> fed(feeds.begin(), feeds.end());
    const StatusOr<FrameTree> frames = FindFrames(*pruned, fed);
    EXPECT_TRUE(frames.ok()) << frames.status();
    return Deadness::Of(*pruned, *frames, fed).MayBeDead(output);
  }
  const Node* Switch(const Output& data, const Output& by) {
    return build.NodeOf("Switch", {data, by});
  }
  Output Merged(const Outputs& inputs) { return Merge(inputs)->output(0); }
  // A conditional as programs write it: both branches, merged.
  Output Conditional(const Output& x, const Output& by) {
    const Node* branch = Switch(x, by);
    return Merged({Op("Neg", {branch->output(0)}), Op("Square", {branch->output(1)})});
  }

  const Output pred;
};

TEST_F(DeadnessTest, WhatIsBehindNoSwitchIsLive) {
  EXPECT_FALSE(MayBeDead(Op("Neg", {Constant(1.0f)})));
  EXPECT_FALSE(MayBeDead(Constant(1.0f)));
}

TEST_F(DeadnessTest, WhatIsBehindASwitchMayBeDead) {
  const Node* branch = Switch(Constant(1.0f), pred);
  const Output behind = Op("Neg", {branch->output(1)});
  EXPECT_TRUE(MayBeDead(branch->output(0)));
  EXPECT_TRUE(MayBeDead(behind));
  EXPECT_TRUE(MayBeDead(Op("Add", {behind, Constant(1.0f)})));
}

TEST_F(DeadnessTest, DeadnessFollowsControlEdges) {
  const Node* branch = Switch(Constant(1.0f), pred);
  EXPECT_TRUE(MayBeDead(ConstantAfter(2, Op("Neg", {branch->output(1)}).node)));
  // The Switch itself runs on either branch.
  EXPECT_FALSE(MayBeDead(ConstantAfter(2, branch)));
}

TEST_F(DeadnessTest, WhatIsFedIsLive) {
  const Node* branch = Switch(Constant(1.0f), pred);
  const Output behind = Op("Neg", {branch->output(1)});
  EXPECT_FALSE(MayBeDead(Op("Square", {behind}), {behind}));
}

TEST_F(DeadnessTest, AMergeOfBothBranchesIsLive) {
  EXPECT_FALSE(MayBeDead(Conditional(Constant(1.0f), pred)));
}

TEST_F(DeadnessTest, AMergeOfOneBranchMayBeDead) {
  const Node* branch = Switch(Constant(1.0f), pred);
  EXPECT_TRUE(MayBeDead(Merged({Op("Neg", {branch->output(1)}), branch->output(1)})));
  EXPECT_FALSE(MayBeDead(Merged({branch->output(1), Constant(3.0f)})));
}

TEST_F(DeadnessTest, BranchesOfSeveralSwitchesBelongTogetherByPredicate) {
  const Output same = Op("Identity", {pred});
  const Output other = Op("LogicalNot", {pred});
  const Output on_true = Op("Neg", {Switch(Constant(1.0f), pred)->output(1)});
  EXPECT_FALSE(MayBeDead(Merged({on_true, Switch(Constant(2.0f), same)->output(0)})));
  EXPECT_TRUE(MayBeDead(Merged({on_true, Switch(Constant(2.0f), other)->output(0)})));
}

TEST_F(DeadnessTest, NestedConditionalsAreLive) {
  const Output inner_pred = Op("LogicalNot", {pred});
  const Node* outer = Switch(Constant(1.0f), pred);
  const Output inner_by = Switch(inner_pred, pred)->output(1);
  const Node* inner = Switch(outer->output(1), inner_by);
  const Output inner_merged = Merged({inner->output(0), Op("Neg", {inner->output(1)})});
  EXPECT_TRUE(MayBeDead(inner_merged));
  EXPECT_FALSE(MayBeDead(Merged({outer->output(0), inner_merged})));
}

TEST_F(DeadnessTest, ADeadPredicateMakesBothBranchesDead) {
  const Output other = Switch(Op("LogicalNot", {pred}), pred)->output(0);
  EXPECT_TRUE(MayBeDead(Conditional(Constant(1.0f), other)));
}

TEST_F(DeadnessTest, ManyConditionalsInARowAreLive) {
  Output x = Constant(1.0f);
  for (int i = 0; i < 200; ++i) {
    const Output by = Op("Less", {x, Constant(static_cast<float>(i))});
    x = Conditional(x, by);
  }
  EXPECT_FALSE(MayBeDead(x));
}

class LoopDeadnessTest : public DeadnessTest {
 protected:
  // Counts to 5 from x; `body` may add to what an iteration does.
  Loop Count(const Output& x, const std::string& name,
             const std::function<Output(const Output&)>& body) {
    LoopOptions loop_options;
    loop_options.name = name;
    return While(
        {x},
        [&](const Outputs& v) {
          return Op("Less", {v[0], ConstantAfter(5, v[0].node)});
        },
        [&](const Outputs& v) {
          return Outputs{Op("Add", {body(v[0]), ConstantAfter(1, v[0].node)})};
        },
        loop_options);
  }
  static Output Nothing(const Output& x) { return x; }
};

TEST_F(LoopDeadnessTest, WhatLeavesALoopIsLive) {
  const Output first = Count(Constant(0.0f), "first", &Nothing).exits[0];
  EXPECT_FALSE(MayBeDead(first));
  EXPECT_FALSE(MayBeDead(Count(Op("Neg", {first}), "second", &Nothing).exits[0]));
}

TEST_F(LoopDeadnessTest, WhatIsInALoopCountsAsDead) {
  Output inside;
  const Loop loop = Count(Constant(0.0f), "loop", [&](const Output& x) {
    inside = Op("Neg", {x});
    return Op("Neg", {inside});
  });
  EXPECT_TRUE(MayBeDead(inside));
  EXPECT_FALSE(MayBeDead(loop.exits[0]));
}

TEST_F(LoopDeadnessTest, ALoopOnABranchIsAsDeadAsTheBranch) {
  const Node* branch = Switch(Constant(0.0f), pred);
  const Output left = Count(branch->output(1), "loop", &Nothing).exits[0];
  EXPECT_TRUE(MayBeDead(left));
  EXPECT_FALSE(MayBeDead(Merged({left, branch->output(0)})));
}

TEST_F(LoopDeadnessTest, AnInvariantOfABranchMakesTheLoopDead) {
  const Output limit = Enter(Switch(Constant(5.0f), pred)->output(1), "loop", true);
  const Output left = Count(Constant(0.0f), "loop", [&](const Output& x) {
                        return Op("Maximum", {x, limit});
                      }).exits[0];
  EXPECT_TRUE(MayBeDead(left));
}

TEST_F(LoopDeadnessTest, LoopsNest) {
  const Output left =
      Count(Constant(0.0f), "outer", [&](const Output& x) {
        return Count(x, "inner",
                     [&](const Output& y) { return Count(y, "innermost", &Nothing).exits[0]; })
            .exits[0];
      }).exits[0];
  EXPECT_FALSE(MayBeDead(left));
}

TEST_F(LoopDeadnessTest, AConditionalInALoopIsLiveWhenItIsMerged) {
  const auto decide = [&](const Output& x) { return Op("Less", {x, ConstantAfter(3, x.node)}); };
  const Output merged = Count(Constant(0.0f), "merged", [&](const Output& x) {
                          return Conditional(x, decide(x));
                        }).exits[0];
  EXPECT_FALSE(MayBeDead(merged));
  const Output one_branch = Count(Constant(0.0f), "one_branch", [&](const Output& x) {
                              return Switch(x, decide(x))->output(1);
                            }).exits[0];
  EXPECT_TRUE(MayBeDead(one_branch));
}

TEST_F(LoopDeadnessTest, OfAnUnusualLoopNothingIsPromised) {
  // It is left by another condition than that under which it goes on.
  const Output entered = Enter(Constant(0.0f), "loop");
  const Node* merge = Merge({entered, entered});
  const Output x = merge->output(0);
  const Output goes_on = Op("LoopCond", {Op("Less", {x, ConstantAfter(5, merge)})});
  const Output leaves = Op("Less", {x, ConstantAfter(4, merge)});
  const Output next = Op("NextIteration", {Switch(x, goes_on)->output(1)});
  ASSERT_EQ(graph.SetBackEdge(merge, 1, next.node), absl::OkStatus());
  EXPECT_TRUE(MayBeDead(Op("Exit", {Switch(x, leaves)->output(0)})));
  EXPECT_FALSE(MayBeDead(Op("Exit", {Switch(x, goes_on)->output(0)})));
}

}  // namespace
}  // namespace millstream
