// Runs a training step repeatedly. In each run a later allocation fails, until a run makes all its
// allocations. Each failure must affect only its own step.
#ifndef MILLSTREAM_CORE_TESTING_ALLOCATION_SWEEP_H_
#define MILLSTREAM_CORE_TESTING_ALLOCATION_SWEEP_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "core/session/session.h"
#include "core/testing/training_step.h"

namespace millstream {

// After a failed step, each variable must have the bits that it had before, or the bits after its
// update if the update ran before the failure.
class AllocationSweep {
 public:
  using Opener = std::function<std::unique_ptr<Session>()>;

  // Sessions of `step` come from `open`. Of the allocations of a step, `failures` fail in a row.
  AllocationSweep(const TrainingStep* step, Opener open, int64_t failures);

  // ---- Each gives the number of runs in which something failed ----
  // Of the initialization of variables, in new sessions.
  int Initialization();
  // Of the first training step of new sessions, with all that is compiled for it.
  int FirstSteps();
  // Of later training steps, which are compiled already.
  int LaterSteps();
  // Of steps that fetch, and that are fed, the variables.
  int ReadsAndAssignments();

 private:
  struct Outcome {
    Status status;
    int64_t hits = 0;  // allocations that failed
    std::vector<Tensor> fetches;
  };
  // One step of the signature; its `nth` allocation fails, none for 0.
  Outcome Run(Session* session, const StepSignature& signature, std::vector<Tensor> feeds = {},
              int64_t nth = 0) const;
  Outcome Train(Session* session, int64_t nth = 0) const;
  std::vector<Tensor> Variables(Session* session) const;
  void Assign(Session* session, const std::vector<Tensor>& values) const;
  std::unique_ptr<Session> OpenInitialized() const;
  // Checks the variables after a failed training step in a session whose variables had their
  // initial values, and restores these.
  void ExpectFailedAlone(Session* session, const Outcome& outcome) const;
  // The first training steps give what they gave without failures.
  void ExpectTrains(Session* session) const;

  const TrainingStep& step_;
  const Opener open_;
  const int64_t failures_;
  // Without failures: after how many training steps.
  std::vector<std::vector<Tensor>> variables_;
  std::vector<std::vector<Tensor>> fetches_;
};

}  // namespace millstream

#endif  // MILLSTREAM_CORE_TESTING_ALLOCATION_SWEEP_H_
