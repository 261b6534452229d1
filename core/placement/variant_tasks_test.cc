// Lists and other variants stay in one task of a cluster.
#include "core/placement/variant_tasks.h"

#include <string>
#include <vector>

#include "core/graph/graph_builder.h"
#include "core/placement/placer.h"
#include "core/session/session.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace millstream {
namespace {

using ::testing::AllOf;
using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

const DeviceTraits kCpu{/*host_memory=*/true, /*runs_on_callers_thread=*/true, /*is_default=*/true};

// A list that is made, gets an element and loses it.
class VariantTasksTest : public ::testing::Test {
 protected:
  VariantTasksTest() : build(&graph, "") {
    EXPECT_EQ(Session::PrepareProcess(), absl::OkStatus());
    const Output unbounded = build.Int32(-1);
    made = build.NodeOf("EmptyTensorList", {unbounded, unbounded},
                        {{"element_dtype", DataType::kFloat}, {"shape_type", DataType::kInt32}});
    pushed =
        build.NodeOf("TensorListPushBack", {made->output(0), build.ScalarOf(DataType::kFloat, 1)},
                     {{"element_dtype", DataType::kFloat}});
    popped = build.NodeOf("TensorListPopBack", {pushed->output(0), unbounded},
                          {{"element_dtype", DataType::kFloat}});
    EXPECT_EQ(build.status(), absl::OkStatus());
  }

  // Each task has two CPUs.
  void AddTask(int task) {
    const std::string name = "/job:worker/replica:0/task:" + std::to_string(task) + "/device:";
    devices.Add({name + "CPU:0", kCpu});
    devices.Add({name + "CPU:1", kCpu});
  }
  void Ask(const Node* node, const std::string& device) {
    EXPECT_EQ(graph.SetDevice(node, device), absl::OkStatus());
  }
  StatusOr<Placement> PlaceAll() {
    StepSignature signature;
    signature.fetches = {popped->output(1)};
    StatusOr<PrunedGraph> found = Prune(graph, signature);
    EXPECT_TRUE(found.ok()) << found.status();
    if (!found.ok()) return found.status();
    pruned = *std::move(found);
    return Place(graph, pruned, devices, options);
  }
  // The devices of the list's nodes, in the order in which they are made; none after an error.
  std::vector<std::string> Devices() {
    const StatusOr<Placement> placement = PlaceAll();
    EXPECT_TRUE(placement.ok()) << placement.status();
    std::vector<std::string> names;
    if (!placement.ok()) return names;
    for (const Node* const node : {made, pushed, popped}) {
      for (size_t i = 0; i < pruned.nodes.size(); ++i) {
        if (pruned.nodes[i] == node) names.push_back(devices[placement->devices[i]].name);
      }
    }
    EXPECT_EQ(names.size(), 3);
    return names;
  }

  Graph graph;
  GraphBuilder build;
  const Node* made;
  const Node* pushed;
  const Node* popped;
  DeviceSet devices;
  PrunedGraph pruned;
  PlacementOptions options;
};

TEST_F(VariantTasksTest, AListIsWhereAnyOfItsNodesAsksToBe) {
  AddTask(0);
  AddTask(1);
  EXPECT_THAT(Devices(), Each("/job:worker/replica:0/task:0/device:CPU:0"));
  for (const Node* const asking : {made, pushed, popped}) {
    Ask(asking, "/job:worker/task:1");
    EXPECT_THAT(Devices(), Each("/job:worker/replica:0/task:1/device:CPU:0"));
    Ask(asking, "");
  }
}

TEST_F(VariantTasksTest, RequestsForTwoTasksAreRefusedWithTheNodesAndTheirRequests) {
  AddTask(0);
  AddTask(1);
  Ask(made, "/job:worker/task:1");
  Ask(popped, "/job:worker/task:0");
  const Status status = PlaceAll().status();
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(status.message()),
              AllOf(HasSubstr("dtype variant"), HasSubstr("'" + pushed->name() + "'"),
                    HasSubstr("'" + popped->name() + "'"), HasSubstr("/task:1/device:CPU:0"),
                    HasSubstr("it asks for '/job:worker/task:0'"),
                    HasSubstr("it is together with '" + made->name() +
                              "', which asks for '/job:worker/task:1'")));
}

TEST_F(VariantTasksTest, DevicesOfOneTaskMayShareAList) {
  AddTask(0);
  AddTask(1);
  Ask(made, "/job:worker/task:1/cpu:1");
  Ask(popped, "/job:worker/task:1/cpu:0");
  EXPECT_THAT(Devices(), ElementsAre("/job:worker/replica:0/task:1/device:CPU:1",
                                     "/job:worker/replica:0/task:1/device:CPU:1",
                                     "/job:worker/replica:0/task:1/device:CPU:0"));
}

TEST_F(VariantTasksTest, WithOneTaskEachNodeIsWhereItAsksToBe) {
  AddTask(0);
  Ask(pushed, "/cpu:1");
  EXPECT_THAT(Devices(), ElementsAre("/job:worker/replica:0/task:0/device:CPU:0",
                                     "/job:worker/replica:0/task:0/device:CPU:1",
                                     "/job:worker/replica:0/task:0/device:CPU:0"));
}

TEST_F(VariantTasksTest, WithSoftPlacementTheFirstRequestIsThatOfAll) {
  AddTask(0);
  AddTask(1);
  options.allow_soft_placement = true;
  Ask(pushed, "/job:worker/task:1");
  Ask(popped, "/job:worker/task:0");
  EXPECT_THAT(Devices(), Each("/job:worker/replica:0/task:1/device:CPU:0"));
}

TEST_F(VariantTasksTest, SoftPlacementMovesAListWithinTheTaskThatItAsksFor) {
  AddTask(0);
  AddTask(1);
  options.allow_soft_placement = true;
  Ask(pushed, "/job:worker/task:1/device:GPU:0");
  EXPECT_THAT(Devices(), Each("/job:worker/replica:0/task:1/device:CPU:0"));
}

}  // namespace
}  // namespace millstream
