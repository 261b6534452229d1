#include "core/graph/prune.h"

#include <string>
#include <vector>

#include "core/testing/session_fixture.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace millstream {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

class PruneTest : public SessionTest {
 protected:
  // The nodes that a step needs, in their order.
  std::vector<const Node*> Pruned(const StepSignature& signature) {
    const StatusOr<PrunedGraph> pruned = Prune(graph, signature);
    EXPECT_TRUE(pruned.ok()) << pruned.status();
    return pruned.ok() ? pruned->nodes : std::vector<const Node*>();
  }
};

TEST_F(PruneTest, KeepsWhatAFetchNeedsAndNothingElse) {
  const Output a = Constant(1.0f);
  const Output b = Op("Neg", {a});
  Op("Exp", {a});
  EXPECT_THAT(Pruned({{}, {b}, {}}), ElementsAre(a.node, b.node));
}

TEST_F(PruneTest, StopsAtFedTensors) {
  const Output a = Constant(1.0f);
  const Output b = Op("Neg", {a});
  const Output c = Op("Exp", {b});
  EXPECT_THAT(Pruned({{b}, {c}, {}}), ElementsAre(c.node));
}

TEST_F(PruneTest, AFedFetchNeedsNothing) {
  const Output a = Placeholder("a", DataType::kFloat);
  EXPECT_THAT(Pruned({{a}, {a}, {}}), IsEmpty());
}

TEST_F(PruneTest, FeedingOneOutputLeavesTheOthers) {
  const Output logits = Placeholder("logits", DataType::kFloat, {2, 3});
  const Output labels = Placeholder("labels", DataType::kInt32, {2});
  const Node* loss = build.NodeOf("SparseSoftmaxCrossEntropyWithLogits", {logits, labels});
  const Output sum = Op("Neg", {loss->output(0)});
  EXPECT_THAT(Pruned({{loss->output(0)}, {sum}, {}}), ElementsAre(sum.node));
  EXPECT_THAT(Pruned({{loss->output(0), logits, labels}, {sum, loss->output(1)}, {}}),
              ElementsAre(loss, sum.node));
}

TEST_F(PruneTest, FollowsControlInputs) {
  const Node* first = Group({});
  const Node* second = Group({first});
  EXPECT_THAT(Pruned({{}, {}, {second}}), ElementsAre(first, second));
}

TEST_F(PruneTest, EveryEdgePointsForwardWhateverTheOrderOfBuilding) {
  const Node* early = Group({});
  const Node* late = Group({});
  ASSERT_EQ(graph.AddControlInput(early, late), absl::OkStatus());
  EXPECT_THAT(Pruned({{}, {}, {early}}), ElementsAre(late, early));
}

TEST_F(PruneTest, KeepsTheOrderOfTheProgramWhereItIsFree) {
  std::vector<const Node*> nodes;
  for (int i = 0; i < 20; ++i) nodes.push_back(Group({}));
  const std::vector<const Node*> backwards(nodes.rbegin(), nodes.rend());
  EXPECT_EQ(Pruned({{}, {}, backwards}), nodes);
}

TEST_F(PruneTest, APlaceholderMustBeFed) {
  const Output x = Placeholder("x", DataType::kFloat, {2, -1});
  const Output y = Op("Neg", {x});
  const Status status = Prune(graph, {{}, {y}, {}}).status();
  ExpectError(status, absl::StatusCode::kInvalidArgument,
              {"You must feed a value for placeholder tensor 'x' with dtype float", "[2,?]"});
  EXPECT_EQ(StatusNode(status), "x");
}

TEST_F(PruneTest, AFedPlaceholderMayBeAControlInput) {
  const Output x = Placeholder("x", DataType::kFloat);
  const Node* after = Group({x.node});
  EXPECT_THAT(Pruned({{x}, {}, {after}}), ElementsAre(after));
  EXPECT_FALSE(Prune(graph, {{}, {}, {after}}).ok());
}

TEST_F(PruneTest, ACycleIsNamed) {
  const Node* first = Group({});
  const Node* second = Group({first});
  ASSERT_EQ(graph.AddControlInput(first, second), absl::OkStatus());
  ExpectError(Prune(graph, {{}, {}, {second}}).status(), absl::StatusCode::kInvalidArgument,
              {absl::StrCat("a cycle of 2 nodes: ", first->name(), " -> ", second->name(), " -> ",
                            first->name()),
               absl::StrCat("node '", first->name(), "' (op NoOp)")});
  const Node* behind = Group({second});
  const Status status = Prune(graph, {{}, {}, {behind}}).status();
  EXPECT_EQ(StatusNode(status), first->name()) << "not one that waits for the cycle";
}

TEST_F(PruneTest, ALoopIsNoCycle) {
  const Output entered = Op("Enter", {Constant(1.0f)}, {{"frame_name", std::string("loop")}});
  const Node* merge = build.Variadic("Merge", {{entered, entered}});
  const Output next = Op("NextIteration", {merge->output(0)});
  const Output exit = Op("Exit", {merge->output(0)});
  ASSERT_EQ(graph.SetBackEdge(merge, 1, next.node), absl::OkStatus());
  const StatusOr<PrunedGraph> pruned = Prune(graph, {{}, {exit}, {}});
  ASSERT_TRUE(pruned.ok()) << pruned.status();
  EXPECT_THAT(pruned->nodes,
              ElementsAre(entered.node->input(0).node, entered.node, merge, next.node, exit.node));
  EXPECT_TRUE(pruned->has_control_flow);
}

TEST_F(PruneTest, SaysWhetherThereIsControlFlow) {
  const Output a = Constant(1.0f);
  const Output branch = Op("Switch", {a, Constant(Tensor::Scalar<bool>(true))});
  EXPECT_FALSE(Prune(graph, {{}, {a}, {}})->has_control_flow);
  EXPECT_TRUE(Prune(graph, {{}, {branch}, {}})->has_control_flow);
  EXPECT_FALSE(Prune(graph, {{branch}, {Op("Neg", {branch})}, {}})->has_control_flow);
}

}  // namespace
}  // namespace millstream
