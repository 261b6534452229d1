// Values that are the same in each step stand in every task that reads them.
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "core/dynamic/dynamic_fixture.h"
#include "core/graph/prune.h"
#include "core/partition/partition.h"
#include "core/placement/placer.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace millstream {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::UnorderedElementsAre;

const DeviceTraits kCpu{/*host_memory=*/true, /*runs_on_callers_thread=*/true, /*is_default=*/true};

class LastingValuesTest : public DynamicTest {
 protected:
  LastingValuesTest() {
    for (int task = 0; task < 2; ++task) {
      devices_.push_back(absl::StrCat("/job:worker/replica:0/task:", task, "/device:CPU:0"));
    }
    many_ = Constant(Values<float>(std::vector<float>(256, 2)));
    few_ = Constant(Values<float>({2}));
  }

  Output On(int device, absl::string_view op, const std::vector<Output>& inputs,
            GraphBuilder::Attrs attrs = {}) {
    build.set_device(devices_[device]);
    const Output result = Op(op, inputs, attrs);
    build.set_device("");
    return result;
  }
  // The value, read on device 0 by a node whose own value differs from step to step.
  Output ReadOnZero(const Output& value) {
    const Output x = Placeholder("x", DataType::kFloat, PartialShape::Vector(1));
    feeds_.push_back(x);
    return On(0, "AddV2", {value, x});
  }
  PartitionedGraph Cut(const Output& fetch) {
    EXPECT_TRUE(build.ok()) << build.status();
    DeviceSet devices;
    for (const std::string& name : devices_) devices.Add({name, kCpu});
    const StepSignature signature{feeds_, {fetch}, {}};
    const StatusOr<PrunedGraph> pruned = Prune(graph, signature);
    EXPECT_TRUE(pruned.ok()) << pruned.status();
    if (!pruned.ok()) return {};
    const StatusOr<Placement> placement = Place(graph, *pruned, devices, PlacementOptions());
    EXPECT_TRUE(placement.ok()) << placement.status();
    if (!placement.ok()) return {};
    StatusOr<PartitionedGraph> parts = PartitionGraph(*pruned, *placement, devices, signature);
    EXPECT_TRUE(parts.ok()) << parts.status();
    return parts.ok() ? *std::move(parts) : PartitionedGraph();
  }
  // The tensors that cross in a step.
  std::vector<std::string> Transfers(const Output& fetch) {
    std::vector<std::string> tensors;
    for (const Transfer& transfer : Cut(fetch).transfers) tensors.push_back(transfer.tensor);
    return tensors;
  }

  std::vector<std::string> devices_;
  std::vector<Output> feeds_;
  Output many_;
  Output few_;
};

// As deep as no stack is that a function calls itself on.
TEST_F(LastingValuesTest, AChainOfAnyLengthStandsWhereItIsRead) {
  constexpr int kLength = 100'000;
  Output value = many_;
  for (int i = 0; i < kLength; ++i) value = On(1, "Neg", {value});
  const PartitionedGraph cut = Cut(ReadOnZero(value));
  EXPECT_THAT(cut.transfers, IsEmpty());
  ASSERT_FALSE(cut.parts.empty());
  EXPECT_GE(cut.parts[0].pruned.nodes.size(), size_t{kLength});
}

TEST_F(LastingValuesTest, AValueOfConstantsStandsWhereItIsRead) {
  const Output value = On(1, "Neg", {many_});
  const PartitionedGraph cut = Cut(ReadOnZero(value));
  EXPECT_THAT(cut.transfers, IsEmpty());
  std::vector<int> copies;
  for (const Partition& part : cut.parts) {
    int count = 0;
    for (const Node* node : part.pruned.nodes) count += node->name() == value.node->name();
    copies.push_back(count);
  }
  EXPECT_THAT(copies, ElementsAre(1, 0));
}

TEST_F(LastingValuesTest, WhatItIsComputedFromStandsBesideIt) {
  const Output inner = On(1, "Neg", {few_});
  EXPECT_THAT(Transfers(ReadOnZero(On(1, "AddV2", {many_, inner}))), IsEmpty());
}

TEST_F(LastingValuesTest, ASmallValueIsSent) {
  const Output value = On(1, "Neg", {few_});
  EXPECT_THAT(Transfers(ReadOnZero(value)), ElementsAre(value.name()));
}

TEST_F(LastingValuesTest, AValueThatIsNotFoldedForItsSizeIsSent) {
  const Output dims = Constant(Values<int32_t>({1 << 20}));
  const Output value = On(1, "Fill", {dims, Constant(1.0f)});
  EXPECT_THAT(Transfers(ReadOnZero(value)), ElementsAre(value.name()));
}

TEST_F(LastingValuesTest, WhatDiffersFromStepToStepIsSent) {
  const Output drawn =
      On(1, "RandomUniform", {Constant(Values<int32_t>({256}))}, {{"dtype", DataType::kFloat}});
  EXPECT_THAT(Transfers(ReadOnZero(drawn)), ElementsAre(drawn.name()));
}

TEST_F(LastingValuesTest, AValueOfWhatIsFedIsSent) {
  const Output value = On(1, "Neg", {many_});
  feeds_.push_back(many_);
  EXPECT_THAT(Transfers(ReadOnZero(value)), ElementsAre(value.name()));
}

TEST_F(LastingValuesTest, ANodeThatIsAwaitedStaysWhereItIs) {
  const Output value = On(1, "Neg", {many_});
  build.set_control_inputs({value.node});
  const Output read = ReadOnZero(value);
  build.set_control_inputs({});
  EXPECT_THAT(Transfers(read), UnorderedElementsAre(value.name(), "^" + value.node->name()));
}

TEST_F(LastingValuesTest, DevicesOfOneTaskSendToEachOther) {
  devices_[1] = "/job:worker/replica:0/task:0/device:CPU:1";
  const Output value = On(1, "Neg", {many_});
  EXPECT_THAT(Transfers(ReadOnZero(value)), ElementsAre(value.name()));
}

}  // namespace
}  // namespace millstream
