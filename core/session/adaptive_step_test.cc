// Which steps of a session that places by costs are placed again.
#include <memory>

#include "core/session/executable.h"
#include "core/session/session.h"
#include "core/testing/session_fixture.h"
#include "gtest/gtest.h"

namespace millstream {
namespace {

// On two CPUs, either of which runs any node.
class AdaptiveStepTest : public SessionTest {
 protected:
  AdaptiveStepTest() {
    EXPECT_EQ(LoadCpuPlugin(), absl::OkStatus());
    EXPECT_EQ(Session::PrepareProcess(), absl::OkStatus());
    devices_ = CreateDevices({{"CPU", 2}}).value();
    context_.graph = &graph;
    context_.SetDevices(devices_);
    costs_ = std::make_unique<SessionCosts>(context_.devices);
    context_.costs = costs_.get();
  }

  bool IsPlacedByCosts(const Output& fetch) {
    const StatusOr<std::unique_ptr<Executable>> step =
        Executable::Create(&context_, {{}, {fetch}, {}});
    EXPECT_TRUE(step.ok()) << step.status();
    return step.ok() && (*step)->builder().is_placed_by_costs();
  }

  DeviceList devices_;
  ExecutableContext context_;
  std::unique_ptr<SessionCosts> costs_;
};

TEST_F(AdaptiveStepTest, AStepWithANodeThatMayRunAnywhereIsPlacedByCosts) {
  build.set_device("/cpu:1");
  const Output x = Constant(1.0f);
  build.set_device("");
  EXPECT_TRUE(IsPlacedByCosts(Op("Neg", {x})));
}

TEST_F(AdaptiveStepTest, AStepWhoseNodesAllAskForADeviceIsNot) {
  build.set_device("/cpu:1");
  EXPECT_FALSE(IsPlacedByCosts(Op("Neg", {Constant(1.0f)})));
}

TEST_F(AdaptiveStepTest, WithoutCostsNoStepIs) {
  context_.costs = nullptr;
  EXPECT_FALSE(IsPlacedByCosts(Op("Neg", {Constant(1.0f)})));
}

}  // namespace
}  // namespace millstream
