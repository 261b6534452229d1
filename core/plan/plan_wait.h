// The wait of an instruction for another part of the step or for an asynchronous kernel.
#ifndef MILLSTREAM_CORE_PLAN_PLAN_WAIT_H_
#define MILLSTREAM_CORE_PLAN_PLAN_WAIT_H_

#include <atomic>
#include <utility>

#include "core/partition/rendezvous.h"
#include "core/plan/plan_executor.h"
#include "core/step/step_context.h"
#include "core/step/step_scheduler.h"
#include "framework/status.h"

namespace millstream {

// One instruction that waits, in one step.
class PlanRun::Wait final : public MS_Done, public Rendezvous::Receiver {
 public:
  // `kernel`: the node of the asynchronous kernel; null: the instruction is a Receive.
  explicit Wait(PlanRun* run, const Node* kernel = nullptr) : run_(*run), kernel_(kernel) {
    complete = &Wait::Complete;
  }

  void Receive(Status result, Parcel received) override {
    Keep(std::move(result), std::move(received));
    run_.step_->scheduler->Wake(&run_);
  }
  // Stores the result. `arrived` is set last, because the run reads the other members after it.
  void Keep(Status result, Parcel received) {
    status = std::move(result);
    if (status.ok() && received.dead) {
      status = errors::Internal("a tensor of a branch that was not taken");
    }
    parcel = std::move(received);
    arrived.store(true, std::memory_order_release);
  }

  std::atomic<bool> arrived{false};
  Status status;
  Parcel parcel;  // of a Receive

 private:
  static void Complete(MS_Done* done, Status result) {
    Wait* const wait = static_cast<Wait*>(done);
    wait->Keep(std::move(result), Parcel());
    wait->run_.step_->scheduler->FinishOutside(&wait->run_, wait->kernel_);
  }
  PlanRun& run_;
  const Node* const kernel_;
};

}  // namespace millstream

#endif  // MILLSTREAM_CORE_PLAN_PLAN_WAIT_H_
