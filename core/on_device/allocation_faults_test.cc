// An allocation that fails, of host memory or in a device's arena, whichever of a step it is, fails
// that step: the error names the node, and the session trains on with the same bits.
#include <memory>
#include <string>
#include <utility>

#include "core/on_device/device_session_fixture.h"
#include "core/testing/allocation_sweep.h"
#include "core/testing/training_step.h"
#include "framework/allocation_faults_for_tests.h"
#include "framework/testing/hang_guard.h"
#include "gtest/gtest.h"

namespace millstream {
namespace {

struct Case {
  const char* name;
  bool on_device = false;  // every node that can be is on a simulated one
  bool with_control_flow = false;
  int64_t failures = 1;  // in a row
  bool optimize = true;
  int threads = 0;  // for parts of the step
};

class AllocationFaultsTest : public SessionTest, public ::testing::WithParamInterface<Case> {
 protected:
  AllocationFaultsTest()
      : step_(Builder(), GetParam().with_control_flow),
        sweep_(
            &step_, [this] { return Open(); }, GetParam().failures) {}

  GraphBuilder* Builder() {
    if (GetParam().on_device) build.set_device("/device:SIM:0");
    return &build;
  }

  std::unique_ptr<Session> Open() {
    EXPECT_EQ(build.status(), absl::OkStatus());
    SessionOptions options;
    options.intra_op_threads = 1;
    options.inter_op_threads = GetParam().threads;
    options.optimize = GetParam().optimize;
    if (GetParam().on_device) {
      LoadSims();
      options.allow_soft_placement = true;
      options.operation_timeout_ms = kHangGuardMillis;
    }
    StartSession(options);
    return std::move(session);
  }

  TrainingStep step_;
  AllocationSweep sweep_;
};

// Less would be no test.
constexpr int kFewest = 5;

TEST_P(AllocationFaultsTest, InitializationFailsAlone) {
  EXPECT_GT(sweep_.Initialization(), kFewest);
}

TEST_P(AllocationFaultsTest, AFirstStepFailsAlone) { EXPECT_GT(sweep_.FirstSteps(), kFewest); }

TEST_P(AllocationFaultsTest, ALaterStepFailsAlone) { EXPECT_GT(sweep_.LaterSteps(), kFewest); }

TEST_P(AllocationFaultsTest, ReadsAndAssignmentsFailAlone) {
  EXPECT_GT(sweep_.ReadsAndAssignments(), kFewest);
}

constexpr int64_t kAll = AllocationFaults::kAllOthers;

INSTANTIATE_TEST_SUITE_P(
    Steps, AllocationFaultsTest,
    ::testing::Values(Case{"Plan"}, Case{"PlanWithoutMore", false, false, kAll},
                      Case{"PlanAsWritten", false, false, 1, false}, Case{"Loop", false, true},
                      Case{"LoopWithoutMore", false, true, kAll},
                      Case{"LoopOnThreads", false, true, 1, true, 3}, Case{"DevicePlan", true},
                      Case{"DevicePlanWithoutMore", true, false, kAll},
                      Case{"DeviceLoop", true, true},
                      Case{"DeviceLoopWithoutMore", true, true, kAll}),
    [](const auto& instance) { return std::string(instance.param.name); });

}  // namespace
}  // namespace millstream
