// An allocation of host memory that fails, whichever of a step it is, fails that step: the error
// names the node, and the session trains on with the same bits.
#include <memory>
#include <string>
#include <utility>

#include "core/testing/allocation_sweep.h"
#include "core/testing/session_fixture.h"
#include "core/testing/training_step.h"
#include "framework/allocation_faults_for_tests.h"
#include "gtest/gtest.h"

namespace millstream {
namespace {

struct Case {
  const char* name;
  bool with_control_flow = false;
  int64_t failures = 1;  // in a row
  bool optimize = true;
  int threads = 0;  // for parts of the step
};

class AllocationFaultsTest : public SessionTest, public ::testing::WithParamInterface<Case> {
 protected:
  AllocationFaultsTest()
      : step_(&build, GetParam().with_control_flow),
        sweep_(
            &step_, [this] { return Open(); }, GetParam().failures) {}

  std::unique_ptr<Session> Open() {
    EXPECT_EQ(build.status(), absl::OkStatus());
    SessionOptions options;
    options.intra_op_threads = 1;
    options.inter_op_threads = GetParam().threads;
    options.optimize = GetParam().optimize;
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

INSTANTIATE_TEST_SUITE_P(Steps, AllocationFaultsTest,
                         ::testing::Values(Case{"Plan"}, Case{"PlanWithoutMore", false, kAll},
                                           Case{"PlanAsWritten", false, 1, false},
                                           Case{"Loop", true}, Case{"LoopWithoutMore", true, kAll},
                                           Case{"LoopOnThreads", true, 1, true, 3}),
                         [](const auto& instance) { return std::string(instance.param.name); });

}  // namespace
}  // namespace millstream
