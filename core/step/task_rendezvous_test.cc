#include "core/step/task_rendezvous.h"

#include <atomic>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "core/partition/local_rendezvous.h"
#include "core/step/step_context.h"
#include "core/step/step_scheduler.h"
#include "gtest/gtest.h"

namespace millstream {
namespace {

// Edge 0 stays in the task, edge 1 comes from another.
constexpr RendezvousKey kOwn{0, 0, nullptr};
constexpr RendezvousKey kShared{1, 0, nullptr};

Parcel Number(float number) { return Parcel{Tensor::Scalar<float>(number), false, nullptr}; }

// A part that waits for one tensor.
class Waiting final : public StepPart, public Rendezvous::Receiver {
 public:
  explicit Waiting(const RendezvousKey& key) : key_(key) {}
  Status Begin(StepContext* step, absl::Span<const Tensor> /*feeds*/) override {
    step_ = step;
    return absl::OkStatus();
  }
  bool Advance() override {
    if (!has_asked_) {
      has_asked_ = true;
      Parcel parcel;
      const StatusOr<bool> here = step_->rendezvous->Receive(key_, this, &parcel);
      if (!here.ok() || *here) Keep(here.status(), std::move(parcel));
    }
    if (!has_come_.load(std::memory_order_acquire)) return false;
    if (!status_.ok()) step_->Fail(status_);
    return true;
  }
  void Receive(Status status, Parcel parcel) override {
    Keep(std::move(status), std::move(parcel));
    step_->scheduler->Wake(this);
  }
  Status Fetch(absl::Span<Tensor> fetches) override {
    fetches[0] = parcel_.tensor;
    return absl::OkStatus();
  }
  std::vector<std::string> WaitsFor() const override { return {"a tensor"}; }
  std::string RunsNow() const override { return ""; }

 private:
  void Keep(Status status, Parcel parcel) {
    status_ = std::move(status);
    parcel_ = std::move(parcel);
    has_come_.store(true, std::memory_order_release);
  }
  const RendezvousKey key_;
  StepContext* step_ = nullptr;
  bool has_asked_ = false;
  std::atomic<bool> has_come_{false};
  Status status_;
  Parcel parcel_;
};

// Fails without a wait for what it asked for, if it asked.
class Failing : public StepPart {
 public:
  Status Begin(StepContext* step, absl::Span<const Tensor> /*feeds*/) override {
    step_ = step;
    return absl::OkStatus();
  }
  bool Advance() override {
    step_->Fail(errors::OutOfRange("this part fails"));
    return true;
  }
  Status Fetch(absl::Span<Tensor> /*fetches*/) override { return absl::OkStatus(); }
  std::vector<std::string> WaitsFor() const override { return {}; }
  std::string RunsNow() const override { return ""; }

 protected:
  StepContext* step_ = nullptr;
};

class AskingAndFailing final : public Failing, public Rendezvous::Receiver {
 public:
  bool Advance() override {
    Parcel parcel;
    EXPECT_FALSE(*step_->rendezvous->Receive(kShared, this, &parcel));
    return Failing::Advance();
  }
  void Receive(Status status, Parcel /*parcel*/) override { received = std::move(status); }
  Status received;
};

class TaskRendezvousTest : public ::testing::Test {
 protected:
  TaskRendezvousTest() : step(options, settings), scheduler(&step, 1) {
    step.scheduler = &scheduler;
    step.rendezvous = &own;
  }
  Status Drive(std::vector<StepPart*> parts) {
    for (StepPart* part : parts) EXPECT_EQ(part->Begin(&step, {}), absl::OkStatus());
    return scheduler.Drive(parts);
  }
  float ValueOf(Waiting* part) {
    Tensor tensor;
    EXPECT_EQ(part->Fetch(absl::MakeSpan(&tensor, 1)), absl::OkStatus());
    return tensor.has_value() ? *tensor.data<float>() : -1;
  }

  RunOptions options;
  SessionSettings settings;
  LocalRendezvous shared;
  StepContext step;
  StepScheduler scheduler;
  TaskRendezvous own{&shared, {false, true}, &scheduler};
};

TEST_F(TaskRendezvousTest, TensorsOfTheTaskDoNotLeaveIt) {
  ASSERT_EQ(own.Send(kOwn, Number(1)), absl::OkStatus());
  ASSERT_EQ(own.Send(kShared, Number(2)), absl::OkStatus());
  Waiting unused(kOwn);
  Parcel parcel;
  EXPECT_TRUE(*shared.Receive(kShared, &unused, &parcel));
  EXPECT_EQ(*parcel.tensor.data<float>(), 2);
  EXPECT_TRUE(*own.Receive(kOwn, &unused, &parcel));
  EXPECT_EQ(*parcel.tensor.data<float>(), 1);
}

TEST_F(TaskRendezvousTest, WhatIsThereAlreadyIsTaken) {
  ASSERT_EQ(shared.Send(kShared, Number(4)), absl::OkStatus());
  Waiting part(kShared);
  EXPECT_EQ(Drive({&part}), absl::OkStatus());
  EXPECT_EQ(ValueOf(&part), 4);
}

// The driver asks when it has long had nothing to do, and has looked whether the step is stuck.
TEST_F(TaskRendezvousTest, AStepThatWaitsForAnotherTaskIsNotStuck) {
  options.should_stop_argument = &shared;
  options.should_stop = [](void* argument) {
    static_cast<LocalRendezvous*>(argument)->Send(kShared, Number(4)).IgnoreError();
    return false;
  };
  StepContext asking(options, settings);
  StepScheduler its_scheduler(&asking, 1);
  TaskRendezvous its_own(&shared, {false, true}, &its_scheduler);
  asking.scheduler = &its_scheduler;
  asking.rendezvous = &its_own;
  Waiting part(kShared);
  ASSERT_EQ(part.Begin(&asking, {}), absl::OkStatus());
  EXPECT_EQ(its_scheduler.Drive({&part}), absl::OkStatus());
  EXPECT_EQ(ValueOf(&part), 4);
}

TEST_F(TaskRendezvousTest, AStepThatWaitsForItselfIsStuck) {
  Waiting part(kOwn);
  EXPECT_EQ(Drive({&part}).code(), absl::StatusCode::kInternal);
}

TEST_F(TaskRendezvousTest, TheErrorOfAnotherTaskEndsTheStep) {
  Waiting part(kShared);
  std::thread other([this] { shared.Abort(errors::OutOfRange("the other task fails")); });
  EXPECT_EQ(Drive({&part}), errors::OutOfRange("the other task fails"));
  other.join();
}

TEST_F(TaskRendezvousTest, AStepThatFailsDoesNotWaitForOtherTasksAndTellsThem) {
  Waiting part(kShared);
  Failing failing;
  EXPECT_EQ(Drive({&part, &failing}), errors::OutOfRange("this part fails"));
  Waiting late(kShared);
  Parcel parcel;
  EXPECT_EQ(shared.Receive({1, 9, nullptr}, &late, &parcel).status(),
            errors::OutOfRange("this part fails"));
}

TEST_F(TaskRendezvousTest, WhatAPartLeavesThatFailsIsEndedToo) {
  AskingAndFailing part;
  EXPECT_EQ(Drive({&part}), errors::OutOfRange("this part fails"));
  EXPECT_EQ(part.received, errors::OutOfRange("this part fails"));
}

// A rendezvous that keeps its receiver when the step ends, as one between processes may.
class Late final : public Rendezvous {
 public:
  Status Send(const RendezvousKey& /*key*/, Parcel /*parcel*/) override { return absl::OkStatus(); }
  StatusOr<bool> Receive(const RendezvousKey& /*key*/, Receiver* given,
                         Parcel* /*parcel*/) override {
    receiver = given;
    return false;
  }
  void Abort(const Status& /*error*/) override {}
  Receiver* receiver = nullptr;
};

TEST_F(TaskRendezvousTest, WhatComesAfterTheEndIsDropped) {
  Late between;
  Waiting part(kShared);
  {
    TaskRendezvous cut(&between, {false, true}, &scheduler);
    step.rendezvous = &cut;
    Failing failing;
    EXPECT_EQ(Drive({&part, &failing}), errors::OutOfRange("this part fails"));
  }
  ASSERT_NE(between.receiver, nullptr);
  between.receiver->Receive(absl::OkStatus(), Number(1));
  EXPECT_EQ(ValueOf(&part), -1);
}

}  // namespace
}  // namespace millstream
