#include "core/step/rendezvous_link.h"

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "core/step/step_context.h"
#include "core/step/step_scheduler.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace millstream {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

// Does what a test says while it is called.
class Calling final : public Rendezvous {
 public:
  Status Send(const RendezvousKey& key, Parcel /*parcel*/) override {
    calls.push_back(absl::StrCat("sends ", key.edge));
    if (during) std::exchange(during, nullptr)();
    return result;
  }
  StatusOr<bool> Receive(const RendezvousKey& /*key*/, Receiver* /*receiver*/,
                         Parcel* /*parcel*/) override {
    return errors::Unimplemented("nobody receives here");
  }
  void Abort(const Status& error) override {
    calls.push_back(absl::StrCat("aborts: ", error.message()));
    if (during) std::exchange(during, nullptr)();
  }

  std::function<void()> during;  // of the next call
  Status result;
  std::vector<std::string> calls;
};

class RendezvousLinkTest : public ::testing::Test {
 protected:
  static RendezvousKey Key(int64_t edge) { return {edge, 0, nullptr}; }
  static Parcel Number() { return Parcel{Tensor::Scalar<float>(1), false, nullptr}; }
  void Expect(int times) {
    for (int i = 0; i < times; ++i) link_.Expect();
  }
  // The step waits for all that is expected.
  Status EndStep() { return scheduler_.Drive({}); }

  RunOptions options_;
  SessionSettings settings_;
  StepContext step_{options_, settings_};
  StepScheduler scheduler_{&step_, 1};
  Calling rendezvous_;
  RendezvousLink link_{&rendezvous_, &scheduler_, nullptr};
};

TEST_F(RendezvousLinkTest, NoLockIsHeldWhileATensorIsSent) {
  Expect(1);
  rendezvous_.during = [this] {
    Expect(1);
    link_.Send(Key(2), Number());
  };
  link_.Send(Key(1), Number());
  EXPECT_EQ(EndStep(), absl::OkStatus());
  EXPECT_THAT(rendezvous_.calls, ElementsAre("sends 1", "sends 2"));
}

TEST_F(RendezvousLinkTest, ASendThatHasBegunEndsByItselfWhenTheLinkIsCut) {
  Expect(3);
  rendezvous_.during = [this] { link_.Cut(); };
  link_.Send(Key(1), Number());
  link_.Send(Key(2), Number());
  link_.Cut();
  EXPECT_EQ(EndStep(), absl::OkStatus());
  EXPECT_THAT(rendezvous_.calls, ElementsAre("sends 1"));
}

TEST_F(RendezvousLinkTest, ASendThatFailsEndsTheStepWithoutALock) {
  Expect(2);
  rendezvous_.result = absl::InternalError("it was sent before");
  link_.Send(Key(1), Number());
  rendezvous_.result = absl::OkStatus();
  link_.Send(Key(2), Number());
  EXPECT_EQ(EndStep(), absl::OkStatus());
  EXPECT_THAT(rendezvous_.calls, ElementsAre("sends 1", "aborts: it was sent before", "sends 2"));
}

TEST_F(RendezvousLinkTest, NothingIsSentWhenTheLinkWasCut) {
  Expect(1);
  link_.Cut();
  link_.Send(Key(1), Number());
  EXPECT_EQ(EndStep(), absl::OkStatus());
  EXPECT_THAT(rendezvous_.calls, IsEmpty());
}

}  // namespace
}  // namespace millstream
