// Runs a plan: the instructions one after the other, on the thread that advances it.
#ifndef MILLSTREAM_CORE_PLAN_PLAN_EXECUTOR_H_
#define MILLSTREAM_CORE_PLAN_PLAN_EXECUTOR_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "core/partition/rendezvous.h"
#include "core/plan/plan.h"
#include "core/plan/step_state.h"
#include "core/step/device_part.h"
#include "core/step/step_context.h"
#include "core/step/step_scheduler.h"
#include "framework/status.h"
#include "framework/tensor.h"

namespace millstream {

// One run of one plan. An instruction that waits (a Receive whose tensor is not there, an
// asynchronous kernel) holds no thread: the run is left at that place and goes on when it is woken.
class PlanRun final : public StepPart {
 public:
  // `device_name` is for messages, and must outlive the run, as must `plan`.
  PlanRun(Plan* plan, absl::string_view device_name);
  ~PlanRun() override;

  // Goes on to the end, or to an instruction that has to wait (Advance tells which).
  Status RunCalls();

  Status Begin(StepContext* step, absl::Span<const Tensor> feeds) override;  // RESOURCE_EXHAUSTED
  bool Advance() override;
  Status Fetch(absl::Span<Tensor> fetches) override;
  std::vector<std::string> WaitsFor() const override;
  std::string RunsNow() const override;

  // What Call::compute is for an asynchronous kernel; `state` is the KernelInstance.
  static MS_Status* StartAsync(void* kernel_instance, MS_Frame* frame);
  // And for an instruction that the executor does itself; `state` is the Instruction.
  using Function = MS_Status* (*)(void* instruction, MS_Frame* frame);
  static Function FunctionOf(TransferKind kind);

 private:
  class Wait;

  template <bool kTraced, bool kOnDevice>
  Status RunCallsAs();
  Status RunOtherCalls();  // traced, or on a device
  Status PassOutputsOn(int position);
  Status AfterCall(int position, uint32_t after);
  Status TakeFetch(const FetchPlan& fetch, Tensor* out);
  // ---- plan_waits.cc ----
  bool AwaitsDevice() const;
  bool HasArrived() const;
  Status FinishWait();
  // ---- plan_trace.cc ----
  void Trace(int position, int64_t start);
  std::vector<std::string> TracedInputs(const Instruction& instruction) const;
  // ---- plan_errors.cc ----
  Status Annotate(int position, const Status& status) const;
  Status OutOfMemory(const Root& root, const Status& reason) const;
  Status CheckInterruption(int last);  // `last`: the instruction that ran, or -1
  static void DescribeRunning(const void* run, CrashLine* line);
  // ---- plan_transfers.cc ----
  static PlanRun* Of(MS_Frame* frame);
  static MS_Status* Receive(void* instruction, MS_Frame* frame);
  static MS_Status* Send(void* instruction, MS_Frame* frame);
  static MS_Status* ToDevice(void* instruction, MS_Frame* frame);
  static MS_Status* ToHost(void* instruction, MS_Frame* frame);
  static MS_Status* AwaitHost(void* instruction, MS_Frame* frame);
  StatusOr<Tensor> Borrowed(const ValueRef& value) const;

  Plan& plan_;
  const absl::string_view device_name_;
  std::unique_ptr<StepState> state_;
  StepContext* step_ = nullptr;
  TracedPart* trace_ = nullptr;  // null: nobody asked
  int64_t wait_start_ = 0;       // of the instruction that waits, when traced
  bool waiting_ = false;         // for what the last of `waits_` is to bring
  bool failed_ = false;          // what the state holds is of no use to another step
  // One for each instruction that waited in this step for another part or an asynchronous kernel.
  std::vector<std::unique_ptr<Wait>> waits_;
  std::unique_ptr<DevicePart> device_;  // null: the plan works in the host's memory
};

// One step of a plan that never waits. `feeds` have the dtypes that the signature wants and the
// shapes of plan->feed_shapes. Thread-safe. After an error `fetches` are unspecified, and the plan
// stays usable.
Status ExecutePlan(Plan* plan, absl::string_view device_name, absl::Span<const Tensor> feeds,
                   absl::Span<Tensor> fetches, const RunOptions& options);

}  // namespace millstream

#endif  // MILLSTREAM_CORE_PLAN_PLAN_EXECUTOR_H_
