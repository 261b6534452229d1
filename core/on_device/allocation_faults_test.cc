// An allocation that fails, of host memory or in a device's arena, whichever of a step it is, fails
// that step: the error names the node, and the session trains on with the same bits.
#include <memory>
#include <string>
#include <utility>

#include "core/on_device/device_session_fixture.h"
#include "core/testing/allocation_sweep.h"
#include "core/testing/training_step.h"
#include "framework/allocation_faults_for_tests.h"
#include "gtest/gtest.h"

namespace millstream {
namespace {

struct Case {
  const char* name;
  bool with_control_flow = false;
  int64_t failures = 1;  // in a row
};

// Every node that can be is on a simulated device; a failure of the CPU's memory may be anywhere.
class DeviceAllocationFaultsTest : public SessionTest, public ::testing::WithParamInterface<Case> {
 protected:
  DeviceAllocationFaultsTest()
      : step_(OnDevice(), GetParam().with_control_flow),
        sweep_(
            &step_, [this] { return Open(); }, GetParam().failures) {}

  GraphBuilder* OnDevice() {
    build.set_device("/device:SIM:0");
    return &build;
  }

  std::unique_ptr<Session> Open() {
    EXPECT_EQ(build.status(), absl::OkStatus());
    LoadSims();
    SessionOptions options;
    options.intra_op_threads = 1;
    options.allow_soft_placement = true;
    options.operation_timeout_ms = 60000;  // a step that hangs fails
    StartSession(options);
    return std::move(session);
  }

  TrainingStep step_;
  AllocationSweep sweep_;
};

// Less would be no test.
constexpr int kFewest = 5;

TEST_P(DeviceAllocationFaultsTest, InitializationFailsAlone) {
  EXPECT_GT(sweep_.Initialization(), kFewest);
}

TEST_P(DeviceAllocationFaultsTest, AFirstStepFailsAlone) {
  EXPECT_GT(sweep_.FirstSteps(), kFewest);
}

TEST_P(DeviceAllocationFaultsTest, ALaterStepFailsAlone) {
  EXPECT_GT(sweep_.LaterSteps(), kFewest);
}

TEST_P(DeviceAllocationFaultsTest, ReadsAndAssignmentsFailAlone) {
  EXPECT_GT(sweep_.ReadsAndAssignments(), kFewest);
}

constexpr int64_t kAll = AllocationFaults::kAllOthers;

INSTANTIATE_TEST_SUITE_P(Steps, DeviceAllocationFaultsTest,
                         ::testing::Values(Case{"Plan"}, Case{"PlanWithoutMore", false, kAll},
                                           Case{"Loop", true}, Case{"LoopWithoutMore", true, kAll}),
                         [](const auto& instance) { return std::string(instance.param.name); });

}  // namespace
}  // namespace millstream
