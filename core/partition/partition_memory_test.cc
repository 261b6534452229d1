// Transfers to and from a device that has memory of its own: which end is in host memory.
#include <map>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "core/device/memory_space.h"
#include "core/dynamic/dynamic_fixture.h"
#include "core/partition/partition.h"
#include "core/placement/placer.h"
#include "framework/plugin/kernel_registry.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace millstream {
namespace {

using ::testing::ElementsAre;
using ::testing::UnorderedElementsAre;

constexpr char kAccelerator[] = "ACC";

// A kernel of the accelerator that is placed and never run.
KernelRegistration Kernel(const char* op, std::vector<std::string> host_args) {
  KernelRegistration kernel;
  kernel.op = op;
  kernel.device_type = kAccelerator;
  kernel.plugin = "test";
  kernel.host_args = std::move(host_args);
  return kernel;
}

Status RegisterAccelerator() {
  std::vector<KernelRegistration> kernels;
  kernels.push_back(Kernel("Neg", {}));
  kernels.push_back(Kernel("Tile", {"multiples"}));
  kernels.push_back(Kernel("Abs", {"y"}));
  kernels.push_back(Kernel("ConcatV2", {"axis"}));
  return KernelRegistry::Global()->Commit(std::move(kernels));
}

class PartitionMemoryTest : public DynamicTest {
 protected:
  PartitionMemoryTest() {
    static std::once_flag once;
    std::call_once(once, [] { EXPECT_EQ(RegisterAccelerator(), absl::OkStatus()); });
  }

  Output On(const char* device, absl::string_view op, const std::vector<Output>& inputs) {
    build.set_device(device);
    const Output result = Op(op, inputs);
    build.set_device("");
    return result;
  }
  Output OnCpu(absl::string_view op, const std::vector<Output>& inputs) {
    return On("/device:CPU:0", op, inputs);
  }
  Output OnAccelerator(absl::string_view op, const std::vector<Output>& inputs) {
    return On("/device:ACC:0", op, inputs);
  }
  // A number that is only known as the step runs.
  Output Given(const std::string& name, DataType dtype) {
    return OnCpu("Neg", {Placeholder(name, dtype, PartialShape::Vector(1))});
  }

  void Cut(const std::vector<Output>& fetches, DeviceTraits accelerator = DeviceTraits()) {
    ASSERT_EQ(build.status(), absl::OkStatus());
    DeviceSet devices;
    devices.Add({"/job:localhost/replica:0/task:0/device:CPU:0",
                 {/*host_memory=*/true, /*runs_on_callers_thread=*/true, /*is_default=*/true}});
    devices.Add({"/job:localhost/replica:0/task:0/device:ACC:0", accelerator});
    StepSignature signature;
    signature.fetches = fetches;
    for (const Node* node : graph.nodes()) {
      if (node->op().name == "Placeholder") signature.feeds.push_back(node->output(0));
    }
    const StatusOr<PrunedGraph> pruned = Prune(graph, signature);
    ASSERT_TRUE(pruned.ok()) << pruned.status();
    const StatusOr<Placement> placement = Place(graph, *pruned, devices, PlacementOptions());
    ASSERT_TRUE(placement.ok()) << placement.status();
    StatusOr<PartitionedGraph> cut = PartitionGraph(*pruned, *placement, devices, signature);
    ASSERT_TRUE(cut.ok()) << cut.status();
    cut_ = *std::move(cut);
  }
  // "a:0 host>device" for each tensor that crosses.
  std::vector<std::string> Transfers() const {
    std::vector<std::string> texts;
    for (const Transfer& transfer : cut_.transfers) {
      texts.push_back(absl::StrCat(transfer.tensor, " ", transfer.from_host ? "host" : "device",
                                   ">", transfer.to_host ? "host" : "device"));
    }
    return texts;
  }
  // The ops of the transfers of each part.
  std::vector<std::string> TransferOps(int part) const {
    std::vector<std::string> ops;
    for (const Node* node : cut_.parts[part].pruned.nodes) {
      const std::string& op = node->op().name;
      if (op.find("Send") != std::string::npos || op.find("Recv") != std::string::npos) {
        ops.push_back(op);
      }
    }
    return ops;
  }

  PartitionedGraph cut_;
};

TEST_F(PartitionMemoryTest, AHostArgumentArrivesInHostMemory) {
  const Output data = Given("data", DataType::kFloat);
  const Output multiples = Given("multiples", DataType::kInt32);
  Cut({OnAccelerator("Tile", {data, multiples})});
  EXPECT_THAT(Transfers(),
              UnorderedElementsAre(data.name() + " host>device", multiples.name() + " host>host"));
  EXPECT_THAT(TransferOps(0), ElementsAre("_Send", "_Send"));
  EXPECT_THAT(TransferOps(1), UnorderedElementsAre("_Recv", "_HostRecv"));
}

TEST_F(PartitionMemoryTest, ATensorWantedInBothMemoriesCrossesOnceForEach) {
  const Output count = Given("count", DataType::kInt32);
  const Output data = Given("data", DataType::kFloat);
  const Output tiled = OnAccelerator("Tile", {data, count});
  const Output again = OnAccelerator("Tile", {tiled, count});
  const Output negative = OnAccelerator("Neg", {count});
  const Output negative_again = OnAccelerator("Neg", {count});
  Cut({again, negative, negative_again});
  EXPECT_THAT(Transfers(),
              UnorderedElementsAre(data.name() + " host>device", count.name() + " host>host",
                                   count.name() + " host>device"));
}

TEST_F(PartitionMemoryTest, AResultLeavesFromWhereTheKernelPutIt) {
  const Output data = Given("data", DataType::kFloat);
  const Output in_device = OnAccelerator("Neg", {data});
  const Output in_host = OnAccelerator("Abs", {data});
  Cut({OnCpu("Neg", {in_device}), OnCpu("Neg", {in_host})});
  EXPECT_THAT(Transfers(),
              UnorderedElementsAre(data.name() + " host>device", in_device.name() + " device>host",
                                   in_host.name() + " host>host"));
  EXPECT_THAT(TransferOps(1), UnorderedElementsAre("_Recv", "_Send", "_HostSend"));
}

TEST_F(PartitionMemoryTest, ArgumentsOfSeveralTensorsAreCountedThrough) {
  const Output data = Given("data", DataType::kInt32);
  const Output axis = OnCpu("Neg", {Placeholder("axis", DataType::kInt32, PartialShape({}))});
  build.set_device("/device:ACC:0");
  const Node* const joined = build.Variadic("ConcatV2", {{data, data, data}, {axis}});
  build.set_device("");
  const MemorySpaces spaces = MemorySpacesOf(*joined, kAccelerator);
  EXPECT_THAT(spaces.input_in_host, ElementsAre(false, false, false, true));
  EXPECT_THAT(spaces.output_in_host, ElementsAre(false));
  EXPECT_THAT(HostMemorySpaces(joined->call()).input_in_host, ElementsAre(true, true, true, true));
}

TEST_F(PartitionMemoryTest, NothingIsCopiedForADeviceThatWorksInHostMemory) {
  const Output data = Given("data", DataType::kFloat);
  const Output there = OnAccelerator("Neg", {data});
  const Output back = OnCpu("Neg", {there});
  DeviceTraits traits;
  traits.host_memory = true;
  Cut({back}, traits);
  EXPECT_THAT(Transfers(),
              UnorderedElementsAre(data.name() + " host>host", there.name() + " host>host"));
  EXPECT_THAT(TransferOps(1), UnorderedElementsAre("_Recv", "_Send"));
}

TEST_F(PartitionMemoryTest, ControlEdgesAndStringsStayInHostMemory) {
  const Output data = Given("data", DataType::kFloat);
  build.set_control_inputs({data.node});
  const Output other = OnAccelerator("Neg", {Constant(1.0f)});
  build.set_control_inputs({});
  Cut({other});
  EXPECT_THAT(Transfers(), ElementsAre("^" + data.node->name() + " host>host"));
  const Output text = Placeholder("text", DataType::kString);
  const Output same = Op("Identity", {text});
  EXPECT_THAT(MemorySpacesOf(*same.node, kAccelerator).input_in_host, ElementsAre(true));
  EXPECT_THAT(MemorySpacesOf(*same.node, kAccelerator).output_in_host, ElementsAre(true));
}

// The first device is one of the task that runs what asks for none.
TEST_F(PartitionMemoryTest, AcceleratorsOfOtherTasksDoNotAttractNodesWithoutADevice) {
  const std::string first = "/job:worker/replica:0/task:1/device:";
  const std::string second = "/job:worker/replica:0/task:0/device:";
  const DeviceTraits cpu = {/*host_memory=*/true, /*runs_on_callers_thread=*/true,
                            /*is_default=*/true};
  const Output there = On("/job:worker/task:0", "Neg", {Constant(1.0f)});
  const Output anywhere = Op("Neg", {there});
  StepSignature signature;
  signature.fetches = {anywhere};
  const StatusOr<PrunedGraph> pruned = Prune(graph, signature);
  ASSERT_TRUE(pruned.ok()) << pruned.status();
  const auto device_of = [&](const Output& output, const DeviceSet& devices) -> std::string {
    const StatusOr<Placement> placement = Place(graph, *pruned, devices, PlacementOptions());
    if (!placement.ok()) return placement.status().ToString();
    for (size_t i = 0; i < pruned->nodes.size(); ++i) {
      if (pruned->nodes[i] == output.node) return devices[placement->devices[i]].name;
    }
    return "";
  };
  DeviceSet without;
  without.Add({first + "CPU:0", cpu});
  without.Add({second + "CPU:0", cpu});
  without.Add({second + "ACC:0", DeviceTraits()});
  EXPECT_EQ(device_of(there, without), second + "ACC:0");
  EXPECT_EQ(device_of(anywhere, without), first + "CPU:0");
  DeviceSet with;
  with.Add({first + "CPU:0", cpu});
  with.Add({first + "ACC:0", DeviceTraits()});
  with.Add({second + "CPU:0", cpu});
  with.Add({second + "ACC:0", DeviceTraits()});
  EXPECT_EQ(device_of(anywhere, with), first + "ACC:0");
}

}  // namespace
}  // namespace millstream
