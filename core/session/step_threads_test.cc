// Which threads the kernels of one step get.
#include <atomic>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "absl/synchronization/notification.h"
#include "absl/time/time.h"
#include "core/host/thread_team.h"
#include "core/testing/kernel_bodies.h"
#include "core/testing/session_fixture.h"
#include "framework/testing/hang_guard.h"
#include "gtest/gtest.h"

namespace millstream {
namespace {

class StepThreadsTest : public SessionTest {
 protected:
  void Start(int cpus, int inter_op_threads, int intra_op_threads) {
    SessionOptions options;
    options.device_count["CPU"] = cpus;
    options.inter_op_threads = inter_op_threads;
    options.intra_op_threads = intra_op_threads;
    StartSession(options);
  }
  Output Body(BodyKind kind, const std::string& device, KernelBody body) {
    build.set_device(device);
    const Output output = AddBody(&build, kind, {}, std::move(body));
    build.set_device("");
    return output;
  }
};

// There is one team, and the part that the driver advances may be using it.
TEST_F(StepThreadsTest, AnAsynchronousKernelHasOneThread) {
  Start(2, 1, 4);
  std::atomic<uint32_t> beside{0};
  std::atomic<uint32_t> here{0};
  const Output a = Body(BodyKind::kAsync, "/device:CPU:0", [&](MS_Frame* frame) {
    beside = ThreadsApi()->num_threads(frame);
    return GiveScalar(frame, 1);
  });
  const Output b = Body(BodyKind::kPlain, "/device:CPU:1", [&](MS_Frame* frame) {
    here = ThreadsApi()->num_threads(frame);
    return GiveScalar(frame, 2);
  });
  EXPECT_EQ(*Value(Op("Add", {a, b})).data<float>(), 3);
  EXPECT_EQ(beside, 1u);
  EXPECT_EQ(here, 4u);
}

// Kernels that wait for one of the same step.
class BlockingKernelsTest : public StepThreadsTest, public ::testing::WithParamInterface<int> {
 protected:
  Output Waiter(const std::string& device) {
    return Body(BodyKind::kBlocking, device, [this](MS_Frame* frame) -> Status {
      const bool came = awaited_.WaitForNotificationWithTimeout(kHangGuard);
      return came ? GiveScalar(frame, 1) : absl::AbortedError(HangGuardFailure().message());
    });
  }
  Output Awaited(BodyKind kind, const std::string& device) {
    return Body(kind, device, [this](MS_Frame* frame) {
      awaited_.Notify();
      return GiveScalar(frame, 1);
    });
  }
  absl::Notification awaited_;
};

TEST_P(BlockingKernelsTest, DoNotHoldUpWhatIsReady) {
  Start(1, GetParam(), 1);
  std::vector<Output> fetches;
  for (int i = 0; i < 5; ++i) fetches.push_back(Waiter(""));
  fetches.push_back(Awaited(BodyKind::kPlain, ""));
  EXPECT_EQ(Run(fetches).status(), absl::OkStatus());
}

TEST_P(BlockingKernelsTest, DoNotHoldUpEachOther) {
  Start(1, GetParam(), 1);
  std::vector<Output> fetches;
  for (int i = 0; i < 5; ++i) fetches.push_back(Waiter(""));
  fetches.push_back(Awaited(BodyKind::kBlocking, ""));
  EXPECT_EQ(Run(fetches).status(), absl::OkStatus());
}

TEST_P(BlockingKernelsTest, DoNotHoldUpAnotherDevice) {
  Start(2, GetParam(), 1);
  const Output waits = Waiter("/device:CPU:0");
  const Output ends = Awaited(BodyKind::kPlain, "/device:CPU:1");
  EXPECT_EQ(Run({waits, ends}).status(), absl::OkStatus());
}

INSTANTIATE_TEST_SUITE_P(InterOpThreads, BlockingKernelsTest, ::testing::Values(1, 2, 3));

}  // namespace
}  // namespace millstream
