#include "core/testing/allocation_sweep.h"

#include <string>
#include <utility>

#include "framework/allocation_faults_for_tests.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace millstream {
namespace {

constexpr int kSteps = 3;
// No step of these has more allocations.
constexpr int kMostRuns = 3000;

// The error of a step whose memory was refused.
void ExpectNamesNode(const Status& status) {
  EXPECT_EQ(status.code(), absl::StatusCode::kResourceExhausted) << status;
  EXPECT_NE(StatusNode(status), "") << status;
  EXPECT_THAT(std::string(status.message()), ::testing::HasSubstr("node '"));
}

void ExpectSameBits(const std::vector<Tensor>& values, const std::vector<Tensor>& expected) {
  ASSERT_EQ(values.size(), expected.size());
  for (size_t i = 0; i < values.size(); ++i) {
    EXPECT_TRUE(TensorsEqual(values[i], expected[i]))
        << i << ": " << values[i].DebugString() << ", not " << expected[i].DebugString();
  }
}

}  // namespace

AllocationSweep::AllocationSweep(const TrainingStep* step, Opener open, int64_t failures)
    : step_(*step), open_(std::move(open)), failures_(failures) {
  const std::unique_ptr<Session> session = open_();
  EXPECT_EQ(Run(session.get(), step_.initialize()).status, absl::OkStatus());
  variables_.push_back(Variables(session.get()));
  for (int i = 0; i < kSteps; ++i) {
    Outcome outcome = Train(session.get());
    EXPECT_EQ(outcome.status, absl::OkStatus());
    fetches_.push_back(std::move(outcome.fetches));
    variables_.push_back(Variables(session.get()));
  }
}

AllocationSweep::Outcome AllocationSweep::Run(Session* session, const StepSignature& signature,
                                              std::vector<Tensor> feeds, int64_t nth) const {
  Outcome outcome;
  outcome.fetches.resize(signature.fetches.size());
  const auto run = [&] {
    outcome.status = session->Run(signature, feeds, absl::MakeSpan(outcome.fetches), RunOptions());
  };
  if (nth == 0) {
    run();
    return outcome;
  }
  const AllocationFaults faults(nth, failures_);
  run();
  outcome.hits = faults.hits();
  return outcome;
}

AllocationSweep::Outcome AllocationSweep::Train(Session* session, int64_t nth) const {
  return Run(session, step_.train(), step_.Batch(), nth);
}

std::vector<Tensor> AllocationSweep::Variables(Session* session) const {
  Outcome outcome = Run(session, step_.read());
  EXPECT_EQ(outcome.status, absl::OkStatus());
  return std::move(outcome.fetches);
}

void AllocationSweep::Assign(Session* session, const std::vector<Tensor>& values) const {
  EXPECT_EQ(Run(session, step_.restore(), values).status, absl::OkStatus());
}

std::unique_ptr<Session> AllocationSweep::OpenInitialized() const {
  std::unique_ptr<Session> session = open_();
  EXPECT_EQ(Run(session.get(), step_.initialize()).status, absl::OkStatus());
  return session;
}

void AllocationSweep::ExpectFailedAlone(Session* session, const Outcome& outcome) const {
  const std::vector<Tensor> left = Variables(session);
  ASSERT_EQ(left.size(), variables_[0].size());
  if (outcome.status.ok()) {  // it went another way
    ExpectSameBits(outcome.fetches, fetches_[0]);
    ExpectSameBits(left, variables_[1]);
  } else {
    ExpectNamesNode(outcome.status);
    for (size_t i = 0; i < left.size(); ++i) {
      EXPECT_TRUE(TensorsEqual(left[i], variables_[0][i]) ||
                  TensorsEqual(left[i], variables_[1][i]))
          << "half an update of variable " << i << ": " << left[i].DebugString();
    }
  }
  Assign(session, variables_[0]);
}

void AllocationSweep::ExpectTrains(Session* session) const {
  for (int i = 0; i < kSteps; ++i) {
    const Outcome outcome = Train(session);
    ASSERT_EQ(outcome.status, absl::OkStatus());
    ExpectSameBits(outcome.fetches, fetches_[i]);
  }
  ExpectSameBits(Variables(session), variables_[kSteps]);
}

int AllocationSweep::Initialization() {
  for (int nth = 1; nth < kMostRuns && !::testing::Test::HasFailure(); ++nth) {
    SCOPED_TRACE(nth);
    const std::unique_ptr<Session> session = open_();
    const Outcome outcome = Run(session.get(), step_.initialize(), {}, nth);
    if (!outcome.status.ok()) {
      ExpectNamesNode(outcome.status);
      EXPECT_EQ(Run(session.get(), step_.initialize()).status, absl::OkStatus());
    }
    ExpectTrains(session.get());
    if (outcome.hits == 0) return nth - 1;
  }
  return 0;
}

int AllocationSweep::FirstSteps() {
  for (int nth = 1; nth < kMostRuns && !::testing::Test::HasFailure(); ++nth) {
    SCOPED_TRACE(nth);
    const std::unique_ptr<Session> session = OpenInitialized();
    const Outcome outcome = Train(session.get(), nth);
    ExpectFailedAlone(session.get(), outcome);
    ExpectTrains(session.get());
    if (outcome.hits == 0) return nth - 1;
  }
  return 0;
}

int AllocationSweep::LaterSteps() {
  const std::unique_ptr<Session> session = OpenInitialized();
  ExpectTrains(session.get());
  // What callers keep is not there for the next step.
  std::vector<std::vector<Tensor>> kept;
  for (int nth = 1; nth < kMostRuns && !::testing::Test::HasFailure(); ++nth) {
    SCOPED_TRACE(nth);
    Assign(session.get(), variables_[0]);
    for (int i = 0; i < 2; ++i) kept.push_back(Train(session.get()).fetches);
    Assign(session.get(), variables_[0]);
    const Outcome outcome = Train(session.get(), nth);
    ExpectFailedAlone(session.get(), outcome);
    ExpectTrains(session.get());
    if (outcome.hits == 0) return nth - 1;
  }
  return 0;
}

int AllocationSweep::ReadsAndAssignments() {
  const std::unique_ptr<Session> session = OpenInitialized();
  int runs = 0;
  bool goes_on = true;
  for (int nth = 1; goes_on && nth < kMostRuns && !::testing::Test::HasFailure(); ++nth) {
    SCOPED_TRACE(nth);
    goes_on = false;
    for (const bool reads : {true, false}) {
      const Outcome outcome = reads ? Run(session.get(), step_.read(), {}, nth)
                                    : Run(session.get(), step_.restore(), variables_[0], nth);
      if (!outcome.status.ok()) ExpectNamesNode(outcome.status);
      ExpectSameBits(Variables(session.get()), variables_[0]);
      runs += outcome.hits > 0 ? 1 : 0;
      goes_on |= outcome.hits > 0;
    }
  }
  return runs;
}

}  // namespace millstream
