// Where a master places the nodes of a step by given costs, and what the other task makes of it.
#include <memory>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "core/graph/structural_role.h"
#include "core/session/executable.h"
#include "core/testing/two_tasks.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace millstream {
namespace {

using ::testing::Each;

constexpr int kMaster = 0;
constexpr int kOther = 1;
constexpr double kMillisecond = 1e6;
constexpr int kDepth = 3;

// Two tasks with a CPU each. The first one is the master's.
class PlacementOverTasksTest : public SessionTest {
 protected:
  PlacementOverTasksTest() : tasks(&graph, {{"CPU", 1}}), costs(tasks.cluster()) {
    EXPECT_EQ(Session::PrepareProcess(), absl::OkStatus());
    tasks.task(kMaster).context.costs = &costs;
    x = Placeholder("x", DataType::kFloat, PartialShape::Vector(4));
    signature.feeds = {x};
  }

  // Nodes that ask for that device, the first of which reads the tensor.
  std::vector<const Node*> Chain(const std::string& device, Output input) {
    build.set_device(device);
    std::vector<const Node*> nodes;
    for (int i = 0; i < kDepth; ++i) {
      input = Op("Neg", {input});
      nodes.push_back(input.node);
    }
    build.set_device("");
    signature.fetches.push_back(input);
    return nodes;
  }
  void Measure(const std::vector<const Node*>& nodes, int task, double nanoseconds) {
    for (const Node* node : nodes) {
      costs.model.AddNodeTime(node, NodeWork{0, 32}, task, nanoseconds);
    }
  }
  void MeasureLatency(double nanoseconds) {
    costs.model.AddTransferTime(kMaster, kOther, 0, nanoseconds);
    costs.model.AddTransferTime(kOther, kMaster, 0, nanoseconds);
  }

  std::unique_ptr<Executable> Compile(int task, const PlacementHints& hints) {
    StatusOr<std::unique_ptr<Executable>> step =
        Executable::Create(&tasks.task(task).context, signature, hints);
    EXPECT_TRUE(step.ok()) << step.status();
    return step.ok() ? *std::move(step) : nullptr;
  }
  // Before anything was measured, and by the costs that were.
  std::unique_ptr<Executable> PlaceFirst() { return Compile(kMaster, PlacementHints()); }
  std::unique_ptr<Executable> PlaceAgain(const Executable& present) {
    const std::vector<Shape> shapes = {Shape({4})};
    PlacementHints hints;
    hints.feed_shapes = &shapes;
    hints.present = &present.builder().placed();
    return Compile(kMaster, hints);
  }
  static std::vector<int> TasksOf(const Executable& step, const std::vector<const Node*>& nodes) {
    std::vector<int> found;
    for (const Node* node : nodes) {
      const std::vector<const Node*>& all = step.builder().nodes();
      for (size_t i = 0; i < all.size(); ++i) {
        if (all[i] == node) found.push_back(step.builder().placed()[i]);
      }
    }
    EXPECT_EQ(found.size(), nodes.size());
    return found;
  }
  // What the other task says to a decision of the master.
  Status Obey(const std::vector<int>& decided) {
    PlacementHints hints;
    hints.decided = &decided;
    return Executable::Create(&tasks.task(kOther).context, signature, hints).status();
  }

  TwoTasks tasks;
  SessionCosts costs;
  Output x;
  StepSignature signature;
};

TEST_F(PlacementOverTasksTest, AFreeChainMovesToTheIdleTask) {
  const auto pinned = Chain("/job:worker/task:0", x);
  const auto free = Chain("/job:worker", x);
  const std::unique_ptr<Executable> first = PlaceFirst();
  EXPECT_TRUE(first->builder().is_placed_by_costs());
  EXPECT_THAT(TasksOf(*first, free), Each(kMaster)) << "nothing is measured as yet";
  for (const auto& chain : {pinned, free}) Measure(chain, kMaster, 10 * kMillisecond);
  MeasureLatency(kMillisecond);
  const std::unique_ptr<Executable> second = PlaceAgain(*first);
  EXPECT_THAT(TasksOf(*second, pinned), Each(kMaster));
  EXPECT_THAT(TasksOf(*second, free), Each(kOther));
  EXPECT_EQ(PlaceAgain(*second)->builder().placed(), second->builder().placed());
  EXPECT_EQ(PlaceAgain(*first)->builder().placed(), second->builder().placed());
}

TEST_F(PlacementOverTasksTest, WhatAsksForATaskStaysWhereItAsks) {
  const auto here = Chain("/job:worker/task:0", x);
  const auto also_here = Chain("/job:worker/task:0", x);
  const auto there = Chain("/job:worker/task:1", x);
  const std::unique_ptr<Executable> first = PlaceFirst();
  for (const auto& chain : {here, also_here}) Measure(chain, kMaster, 10 * kMillisecond);
  Measure(there, kOther, kMillisecond);
  const std::unique_ptr<Executable> second = PlaceAgain(*first);
  for (const auto& chain : {here, also_here}) EXPECT_THAT(TasksOf(*second, chain), Each(kMaster));
  EXPECT_THAT(TasksOf(*second, there), Each(kOther));
  EXPECT_FALSE(second->builder().is_placed_by_costs());
}

TEST_F(PlacementOverTasksTest, WhatIsColocatedMovesTogether) {
  const auto pinned = Chain("/job:worker/task:0", x);
  const auto free = Chain("", x);
  const Output beside = Op(
      "Neg", {x}, {{"_class", std::vector<std::string>{absl::StrCat("loc:@", pinned[0]->name())}}});
  signature.fetches.push_back(beside);
  const std::unique_ptr<Executable> first = PlaceFirst();
  for (const auto& chain : {pinned, free, {beside.node}}) {
    Measure(chain, kMaster, 10 * kMillisecond);
  }
  const std::unique_ptr<Executable> second = PlaceAgain(*first);
  EXPECT_THAT(TasksOf(*second, {beside.node}), Each(kMaster));
  EXPECT_THAT(TasksOf(*second, free), Each(kOther));
}

TEST_F(PlacementOverTasksTest, TransfersThatCostMoreThanTheyGainKeepTheChain) {
  const auto pinned = Chain("/job:worker/task:0", x);
  const auto free = Chain("", x);
  const std::unique_ptr<Executable> first = PlaceFirst();
  for (const auto& chain : {pinned, free}) Measure(chain, kMaster, 10 * kMillisecond);
  MeasureLatency(40 * kMillisecond);
  EXPECT_EQ(PlaceAgain(*first)->builder().placed(), first->builder().placed());
}

TEST_F(PlacementOverTasksTest, ASmallGainIsNoReasonToMove) {
  const auto pinned = Chain("/job:worker/task:0", x);
  const auto free = Chain("", x);
  const std::unique_ptr<Executable> first = PlaceFirst();
  for (const auto& chain : {pinned, free}) Measure(chain, kMaster, 10 * kMillisecond);
  MeasureLatency(14 * kMillisecond);  // 58 ms instead of 60
  EXPECT_EQ(PlaceAgain(*first)->builder().placed(), first->builder().placed());
}

TEST_F(PlacementOverTasksTest, ATaskThatWasMeasuredToBeSlowGetsNothing) {
  const auto pinned = Chain("/job:worker/task:0", x);
  const auto free = Chain("", x);
  const std::unique_ptr<Executable> first = PlaceFirst();
  for (const auto& chain : {pinned, free}) Measure(chain, kMaster, 10 * kMillisecond);
  const std::unique_ptr<Executable> second = PlaceAgain(*first);
  ASSERT_THAT(TasksOf(*second, free), Each(kOther));
  Measure(free, kOther, 50 * kMillisecond);
  EXPECT_THAT(TasksOf(*PlaceAgain(*second), free), Each(kMaster));
}

TEST_F(PlacementOverTasksTest, StateStaysInItsTask) {
  const auto pinned = Chain("/job:worker/task:0", x);
  const Output read = Read(Variable("v", DataType::kFloat, PartialShape::Vector(4)));
  const Output random = Op("RandomUniform", {Constant(Values<int32_t>({4}))},
                           {{"dtype", DataType::kFloat}, {"T", DataType::kInt32}});
  signature.fetches.push_back(read);
  signature.fetches.push_back(random);
  const std::vector<const Node*> with_state = {read.node, random.node};
  const std::unique_ptr<Executable> first = PlaceFirst();
  ASSERT_THAT(TasksOf(*first, with_state), Each(kMaster));
  for (const auto& nodes : {pinned, with_state}) Measure(nodes, kMaster, 20 * kMillisecond);
  EXPECT_THAT(TasksOf(*PlaceAgain(*first), with_state), Each(kMaster));
}

TEST_F(PlacementOverTasksTest, ListsOfTensorsStayInTheirTask) {
  const auto pinned = Chain("/job:worker/task:0", x);
  const GraphBuilder::Attrs attrs = {{"element_dtype", DataType::kFloat}};
  const Output empty =
      Op("EmptyTensorList", {Constant(Values<int32_t>({4})), Constant(Tensor::Scalar<int32_t>(-1))},
         {{"element_dtype", DataType::kFloat}, {"shape_type", DataType::kInt32}});
  const Output pushed = Op("TensorListPushBack", {empty, x}, attrs);
  const Output length = Op("TensorListLength", {pushed});
  signature.fetches.push_back(length);
  const std::vector<const Node*> lists = {pushed.node, length.node};
  const std::unique_ptr<Executable> first = PlaceFirst();
  ASSERT_THAT(TasksOf(*first, lists), Each(kMaster));
  for (const auto& nodes : {pinned, lists}) Measure(nodes, kMaster, 20 * kMillisecond);
  EXPECT_THAT(TasksOf(*PlaceAgain(*first), lists), Each(kMaster));
}

TEST_F(PlacementOverTasksTest, TheOtherTaskCutsTheStepAsTheMasterDoes) {
  const auto pinned = Chain("/job:worker/task:0", x);
  const auto free = Chain("", x);
  const std::unique_ptr<Executable> first = PlaceFirst();
  for (const auto& chain : {pinned, free}) Measure(chain, kMaster, 10 * kMillisecond);
  const std::unique_ptr<Executable> second = PlaceAgain(*first);
  PlacementHints hints;
  hints.decided = &second->builder().placed();
  const std::unique_ptr<Executable> there = Compile(kOther, hints);
  EXPECT_EQ(there->builder().placed(), second->builder().placed());
  const PartitionedGraph& cut = there->builder().partitions();
  const PartitionedGraph& of_master = second->builder().partitions();
  ASSERT_EQ(cut.parts.size(), 2);
  ASSERT_EQ(of_master.parts.size(), 2);
  ASSERT_EQ(cut.transfers.size(), of_master.transfers.size());
  for (size_t edge = 0; edge < cut.transfers.size(); ++edge) {
    EXPECT_EQ(cut.transfers[edge].tensor, of_master.transfers[edge].tensor);
    EXPECT_EQ(cut.transfers[edge].to, of_master.transfers[edge].to);
  }
}

TEST_F(PlacementOverTasksTest, ADecisionThatTheRequestsForbidIsRefused) {
  const auto pinned = Chain("/job:worker/task:0", x);
  Chain("", x);
  const std::vector<int> placed = PlaceFirst()->builder().placed();
  EXPECT_EQ(Obey(placed), absl::OkStatus());
  const auto refused = [&](std::vector<int> decided, const std::string& text) {
    ExpectError(Obey(decided), absl::StatusCode::kInvalidArgument, {text});
  };
  refused(std::vector<int>(placed.size(), kOther), pinned[0]->name());
  refused({kMaster}, absl::StrCat("the devices of ", placed.size(), " nodes"));
  refused(std::vector<int>(placed.size(), 2), "device number 2");
  refused(std::vector<int>(placed.size(), -1), "device number -1");
}

// ---- Measures of messages ----

// A step whose tensor goes to the other task and comes back, with a trace of it.
class MeasuredMessagesTest : public PlacementOverTasksTest {
 protected:
  MeasuredMessagesTest() {
    const Output here = Chain("/job:worker/task:0", x).back()->output(0);
    const Output there = Chain("/job:worker/task:1", here).back()->output(0);
    signature.fetches.clear();
    Chain("/job:worker/task:0", there);
    step = PlaceFirst();
  }

  // Adds the part of a task, with a node and the transfers. `receives` and `sends`: start and end.
  void Trace(int task, int64_t busy_until, std::pair<int64_t, int64_t> receives,
             std::pair<int64_t, int64_t> sends) {
    const PartitionedGraph& cut = step->builder().partitions();
    TracedPart* const part = trace.AddPart(tasks.cluster()[task].name);
    TracedNode& before = part->nodes.emplace_back();
    before.name = "before";
    before.end = busy_until;
    for (const Partition& one : cut.parts) {
      if (one.device != task) continue;
      for (const Node* node : one.pruned.nodes) {
        const StructuralRole role = RoleOf(node->op().name);
        if (role != StructuralRole::kSend && role != StructuralRole::kReceive) continue;
        const bool is_send = role == StructuralRole::kSend;
        TracedNode& traced = part->nodes.emplace_back();
        traced.name = node->name();
        std::tie(traced.start, traced.end) = is_send ? sends : receives;
        if (!is_send) traced.outputs.emplace_back().bytes = 16;
      }
    }
  }
  void Measure() { step->builder().Measure(trace, {Shape({4})}); }

  std::unique_ptr<Executable> step;
  StepTrace trace;
};

TEST_F(MeasuredMessagesTest, ATransferTakesFromItsSendToTheEndOfItsReceive) {
  Trace(kMaster, 100, {1500, 9000}, {1000, 1100});
  Trace(kOther, 50, {3000, 5000}, {7000, 7100});
  Measure();
  EXPECT_EQ(costs.model.Link(kMaster, kOther).latency, 5000 - 1000);
  EXPECT_EQ(costs.model.Link(kOther, kMaster).latency, 9000 - 7000);
}

TEST_F(MeasuredMessagesTest, ATensorThatWaitsForItsReceiverTellsNothing) {
  Trace(kMaster, 100, {1500, 9000}, {1000, 1100});
  Trace(kOther, 4900, {4950, 5000}, {7000, 7100});
  Measure();
  EXPECT_FALSE(costs.model.IsLinkMeasured(kMaster, kOther));
  EXPECT_TRUE(costs.model.IsLinkMeasured(kOther, kMaster));
}

TEST_F(MeasuredMessagesTest, ATaskThatReportsNothingGetsNoCosts) {
  Trace(kMaster, 100, {1500, 9000}, {1000, 1100});
  Measure();
  EXPECT_FALSE(costs.model.IsLinkMeasured(kMaster, kOther));
  EXPECT_FALSE(costs.model.IsLinkMeasured(kOther, kMaster));
  for (const Node* node : step->builder().nodes()) {
    EXPECT_FALSE(costs.model.IsMeasured(node, kOther)) << node->name();
  }
}

}  // namespace
}  // namespace millstream
