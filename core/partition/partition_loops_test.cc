// What the partitioner makes of a loop over several devices: transfers, control loops, refusals.
#include "core/partition/partition_loops.h"

#include <map>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "core/dynamic/dynamic_fixture.h"
#include "core/graph/control_flow.h"
#include "core/partition/partition.h"
#include "core/placement/placer.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace millstream {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::UnorderedElementsAre;
using Outputs = std::vector<Output>;

constexpr auto kInvalid = absl::StatusCode::kInvalidArgument;

const DeviceTraits kCpu{/*host_memory=*/true, /*runs_on_callers_thread=*/true, /*is_default=*/true};

class PartitionLoopsTest : public DynamicTest {
 protected:
  // Every node is where it asks to be, or on CPU 0.
  StatusOr<PartitionedGraph> Cut(const Outputs& fetches, int cpus, const Outputs& feeds = {}) {
    MS_RETURN_IF_ERROR(build.status());
    DeviceSet devices;
    for (int i = 0; i < cpus; ++i) {
      devices.Add({absl::StrCat("/job:localhost/replica:0/task:0/device:CPU:", i), kCpu});
    }
    const StepSignature signature{feeds, fetches, {}};
    MS_ASSIGN_OR_RETURN(const PrunedGraph pruned, Prune(graph, signature));
    MS_ASSIGN_OR_RETURN(const Placement placement,
                        Place(graph, pruned, devices, PlacementOptions()));
    return PartitionGraph(pruned, placement, devices, signature);
  }
  // "a:0 0>1" for each tensor that crosses.
  std::vector<std::string> Transfers(const Outputs& fetches, int cpus) {
    const StatusOr<PartitionedGraph> parts = Cut(fetches, cpus);
    EXPECT_TRUE(parts.ok()) << parts.status();
    std::vector<std::string> texts;
    if (!parts.ok()) return texts;
    for (const Transfer& transfer : parts->transfers) {
      texts.push_back(absl::StrCat(transfer.tensor, " ", transfer.from, ">", transfer.to));
    }
    return texts;
  }
  static std::string Crossing(const Output& output, int from, int to) {
    return absl::StrCat(output.name(), " ", from, ">", to);
  }
  // How many nodes of an op each part has.
  std::vector<int> Counts(const Output& fetch, int cpus, const std::string& op) {
    const StatusOr<PartitionedGraph> parts = Cut({fetch}, cpus);
    EXPECT_TRUE(parts.ok()) << parts.status();
    std::vector<int> counts;
    if (!parts.ok()) return counts;
    for (const Partition& part : parts->parts) {
      counts.push_back(0);
      for (const Node* node : part.pruned.nodes) counts.back() += node->op().name == op ? 1 : 0;
    }
    return counts;
  }
  Output OnCpu(int cpu, const std::function<Output()>& body) {
    build.set_device(absl::StrCat("/cpu:", cpu));
    const Output result = body();
    build.set_device("");
    return result;
  }
  // Doubles a number until it is 100; `cpu` does the doubling.
  Loop Doubling(int cpu, const std::string& name = "loop") {
    LoopOptions loop_options;
    loop_options.name = name;
    return While(
        {Constant(1.0f)},
        [&](const Outputs& v) {
          return Op("Less", {v[0], ConstantAfter(100, v[0].node)});
        },
        [&](const Outputs& v) {
          read_ = v[0];
          written_ = OnCpu(cpu, [&] { return Op("Add", {v[0], v[0]}); });
          return Outputs{written_};
        },
        loop_options);
  }

  Output read_;  // of the last loop: what the body reads and gives
  Output written_;
};

TEST_F(PartitionLoopsTest, ALoopOnOneDeviceIsLeftAlone) {
  const Loop loop = Doubling(0);
  EXPECT_THAT(Transfers({loop.exits[0]}, 2), IsEmpty());
  const Output behind = OnCpu(1, [&] { return Op("Neg", {loop.exits[0]}); });
  EXPECT_THAT(Transfers({behind}, 2), ElementsAre(Crossing(loop.exits[0], 0, 1)));
  EXPECT_THAT(Counts(behind, 2, "Merge"), ElementsAre(1, 0));
}

TEST_F(PartitionLoopsTest, ABodyElsewhereGetsAControlLoop) {
  const Loop loop = Doubling(1);
  // What the body reads and gives, and the predicate for the other device's control loop.
  EXPECT_THAT(Transfers({loop.exits[0]}, 2),
              UnorderedElementsAre(Crossing(read_, 0, 1), Crossing(written_, 1, 0),
                                   Crossing(loop.pred, 0, 1)));
  for (const char* op : {"Enter", "Merge", "Switch", "NextIteration"}) {
    EXPECT_THAT(Counts(loop.exits[0], 2, op), ElementsAre(2, 1)) << op;
  }
  EXPECT_THAT(Counts(loop.exits[0], 2, "LoopCond"), ElementsAre(1, 0));
}

TEST_F(PartitionLoopsTest, AnInvariantEntersTheLoopWhereItIsRead) {
  const Output limit = Op("Neg", {Constant(-100.0f)});
  const Output entered = Enter(limit, "loop", true);
  const Loop loop = While(
      {Constant(1.0f)},
      [&](const Outputs& v) {
        return Op("Less", {v[0], entered});
      },
      [&](const Outputs& v) {
        return Outputs{OnCpu(1, [&] { return Op("Minimum", {Op("Add", {v[0], v[0]}), entered}); })};
      });
  const std::vector<std::string> transfers = Transfers({loop.exits[0]}, 2);
  EXPECT_THAT(transfers, ::testing::Contains(Crossing(limit, 0, 1)));
  EXPECT_THAT(transfers, ::testing::Not(::testing::Contains(Crossing(entered, 0, 1))));
  EXPECT_THAT(Counts(loop.exits[0], 2, "Enter"), ElementsAre(3, 2));
}

TEST_F(PartitionLoopsTest, ANextIterationStandsBesideItsMerge) {
  const Loop loop = Doubling(1);
  for (const Node* node : graph.nodes()) {
    if (node->op().name != "NextIteration") continue;
    ASSERT_EQ(graph.SetDevice(node, "/cpu:2"), absl::OkStatus());
  }
  EXPECT_THAT(Counts(loop.exits[0], 3, "NextIteration"), ElementsAre(2, 1, 0));
}

TEST_F(PartitionLoopsTest, AnExitStandsWhereTheLoopIs) {
  const Loop loop = Doubling(0);
  ASSERT_EQ(graph.SetDevice(loop.exits[0].node, "/cpu:1"), absl::OkStatus());
  const Output behind = OnCpu(1, [&] { return Op("Neg", {loop.exits[0]}); });
  EXPECT_THAT(Transfers({behind}, 2), ElementsAre(Crossing(loop.exits[0], 0, 1)));
}

TEST_F(PartitionLoopsTest, AnInnerLoopElsewhereNeedsTheOuterControlLoop) {
  const Loop outer = While(
      {Constant(0.0f)},
      [&](const Outputs& v) {
        return Op("Less", {v[0], ConstantAfter(100, v[0].node)});
      },
      [&](const Outputs& v) {
        LoopOptions inner_options;
        inner_options.name = "inner";
        const Loop inner = While(
            {v[0]},
            [&](const Outputs& w) {
              return Op("Less", {w[0], ConstantAfter(50, w[0].node)});
            },
            [&](const Outputs& w) {
              return Outputs{OnCpu(1, [&] { return Op("Add", {w[0], w[0]}); })};
            },
            inner_options);
        return Outputs{Op("Add", {inner.exits[0], ConstantAfter(1, v[0].node)})};
      });
  // Both loops have a control loop on both devices.
  EXPECT_THAT(Counts(outer.exits[0], 2, "Merge"), ElementsAre(4, 2));
  EXPECT_THAT(Counts(outer.exits[0], 2, "LoopCond"), ElementsAre(2, 0));
}

TEST_F(PartitionLoopsTest, ACutLoopWithoutLoopCondIsRefused) {
  const Output entered = Enter(Constant(1.0f), "loop");
  const Output x = OnCpu(1, [&] { return Op("Neg", {entered}); });
  const Output y = OnCpu(0, [&] { return Op("Neg", {x}); });
  ExpectError(Cut({Op("Exit", {y})}, 2).status(), kInvalid,
              {"frame 'loop'", "CPU:0", "CPU:1", "must have one LoopCond, got 0"});
}

TEST_F(PartitionLoopsTest, ACutLoopWithTwoLoopCondsIsRefused) {
  const Loop loop = While(
      {Constant(1.0f)},
      [&](const Outputs& v) {
        return Op("LoopCond", {Op("Less", {v[0], ConstantAfter(100, v[0].node)})});
      },
      [&](const Outputs& v) {
        return Outputs{OnCpu(1, [&] { return Op("Add", {v[0], v[0]}); })};
      });
  ExpectError(Cut({loop.exits[0]}, 2).status(), kInvalid,
              {"must have one LoopCond, got 2: LoopCond, LoopCond_1"});
}

TEST_F(PartitionLoopsTest, ALoopCondOfTheFirstIterationAloneIsRefused) {
  const Output once = Enter(Bool(true), "loop");
  const Loop loop = While(
      {Constant(1.0f)}, [&](const Outputs&) { return Op("LogicalNot", {once}); },
      [&](const Outputs& v) {
        return Outputs{OnCpu(1, [&] { return Op("Add", {v[0], v[0]}); })};
      });
  ExpectError(Cut({loop.exits[0]}, 2).status(), kInvalid,
              {"node 'LoopCond'", "must run in every iteration of frame 'loop'"});
}

TEST_F(PartitionLoopsTest, WhatIsMissingInTheFirstIterationCannotCross) {
  const Output entered = Enter(Constant(1.0f), "loop");
  const Node* merge = Merge({entered, entered});
  const Output pred = Op("LoopCond", {Op("Less", {merge->output(0), ConstantAfter(5, merge)})});
  const Node* decision = build.NodeOf("Switch", {merge->output(0), pred});
  const Output next = Op("NextIteration", {decision->output(1)});
  const Output behind = Op("Neg", {next});
  const Output elsewhere = OnCpu(1, [&] { return Op("Neg", {behind}); });
  ASSERT_EQ(graph.SetBackEdge(merge, 1, next.node), absl::OkStatus());
  const Output merged = Merge({entered, elsewhere})->output(0);
  const Node* end = build.NodeOf("Switch", {merged, pred});
  ExpectError(Cut({Op("Exit", {end->output(0)})}, 2).status(), kInvalid,
              {"node 'Neg'", "CPU:1", "does not run in the first iteration of frame 'loop'"});
}

}  // namespace
}  // namespace millstream
