// Tensors between devices with their own memory that belong to different tasks.
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "core/on_device/device_session_fixture.h"
#include "core/session/executable.h"
#include "core/testing/two_tasks.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace millstream {
namespace {

using ::testing::ElementsAre;
using ::testing::UnorderedElementsAre;

class TwoTasksOnDeviceTest : public DeviceSessionTest {
 protected:
  TwoTasksOnDeviceTest() : tasks(&graph, {{"SIM", 2}}) {}

  Output OnTask(int task, const std::string& device, absl::string_view op,
                const std::vector<Output>& inputs) {
    build.set_device(absl::StrCat("/job:worker/task:", task, "/device:", device));
    const Output result = Op(op, inputs);
    build.set_device("");
    return result;
  }
  // "a:0 device>host" for each tensor that crosses, with "peers" where no host takes part.
  std::vector<std::string> Transfers() {
    std::vector<std::string> texts;
    const ExecutableBuilder& builder = tasks.task(0).step->builder();
    for (const Transfer& transfer : builder.partitions().transfers) {
      const bool are_peers = !transfer.from_host && !transfer.to_host &&
                             builder.context().devices.ArePeers(transfer.from, transfer.to);
      texts.push_back(absl::StrCat(transfer.tensor, " ", transfer.from_host ? "host" : "device",
                                   ">", transfer.to_host ? "host" : "device",
                                   are_peers ? " peers" : ""));
    }
    return texts;
  }

  TwoTasks tasks;
};

TEST_F(TwoTasksOnDeviceTest, ATensorLeavesItsTaskThroughHostMemory) {
  const Output x = Placeholder("x", DataType::kFloat, PartialShape::Vector(2));
  const Output a = OnTask(0, "SIM:0", "Add", {x, Constant(1.0f)});
  const Output b = OnTask(1, "SIM:0", "Mul", {a, Constant(2.0f)});
  const Output c = OnTask(1, "SIM:1", "Add", {b, a});
  const Output d = OnTask(0, "CPU:0", "Mul", {c, b});
  for (const float i : {0.0f, 1.0f, 2.0f}) {
    const float first = i + 1;
    const float second = 2 * first;
    const float expected = (second + first) * second;
    EXPECT_THAT(Elements<float>(tasks.Fetch({d}, {{x, Values<float>({i, i})}})[0]),
                ElementsAre(expected, expected));
  }
  EXPECT_THAT(Transfers(),
              UnorderedElementsAre(a.name() + " device>device", a.name() + " device>device",
                                   b.name() + " device>device peers", b.name() + " device>host",
                                   c.name() + " device>host"));
}

TEST_F(TwoTasksOnDeviceTest, ADeviceThatFailsEndsTheStepInBothTasks) {
  const Output x = Placeholder("x", DataType::kFloat, PartialShape::Vector(2));
  const Output a = OnTask(0, "SIM:0", "Neg", {x});
  const Output b = OnTask(1, "SIM:1", "Neg", {a});
  Set(0, "fail_copy", 1);
  for (const TwoTasks::Result& result : tasks.Run({b}, {{x, Values<float>({1, 2})}})) {
    EXPECT_FALSE(result.status.ok());
  }
}

}  // namespace
}  // namespace millstream
