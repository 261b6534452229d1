// Runs a plan: the instructions in order, on the thread that advances the run.
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

// One run of one plan. An instruction that waits (a Receive whose tensor was not sent yet, an
// asynchronous kernel) holds no thread: the run stops there and continues when it is woken.
class PlanRun final : public StepPart {
 public:
  // `device_name` is for messages. REQUIRES: `plan` and `device_name` outlive the run.
  PlanRun(Plan* plan, absl::string_view device_name);
  ~PlanRun() override;

  // Runs instructions until the end, or until one must wait (see Advance).
  Status RunCalls();

  Status Begin(StepContext* step, absl::Span<const Tensor> feeds) override;  // RESOURCE_EXHAUSTED
  bool Advance() override;
  Status Fetch(absl::Span<Tensor> fetches) override;
  std::vector<std::string> WaitsFor() const override;
  std::string RunsNow() const override;

  // ---- As the work of an instruction of another run: a loop or a branch (plan_iterations.cc) ----
  // Begin, with the trace of the other run; null: it is not traced. `feeds` outlive the run.
  Status BeginInside(StepContext* step, TracedPart* trace, absl::Span<const Tensor> feeds);
  // What fetch `index` would give, in the memory of the run or of a feed. REQUIRES: RunCalls
  // succeeded, and neither Take nor Carry was called since.
  Tensor Fetched(size_t index) const;
  // The value of fetch `index`, a scalar bool. INVALID_ARGUMENT if it is none. REQUIRES: as
  // Fetched.
  StatusOr<bool> FetchedBool(size_t index) const;
  // Takes fetch `index`: a value that later runs do not write. May be a feed. REQUIRES: RunCalls
  // succeeded; each is taken once, in order.
  StatusOr<Tensor> Take(size_t index);
  // Sets the variables to the first fetches. REQUIRES: RunCalls succeeded; the variables are the
  // first feeds.
  Status Carry(absl::Span<Tensor> variables);
  // Begins again, with the present values of the feeds.
  Status Repeat();
  // The last iteration succeeded: later runs may use the state.
  void EndInside();

  // Call::compute of an asynchronous kernel; `state` is the KernelInstance.
  static MS_Status* StartAsync(void* kernel_instance, MS_Frame* frame);
  // Call::compute of an instruction that the executor runs itself; `state` is the Instruction.
  using Function = MS_Status* (*)(void* instruction, MS_Frame* frame);
  static Function FunctionOf(TransferKind kind);

 private:
  class Wait;

  template <bool kTraced, bool kOnDevice, bool kWatched>
  Status RunCallsAs();
  // Calls kernels from position *i until one fails, has more to do than its call, or is the last
  // before `end`. Sets *i to the position of this one, and returns its error.
  MS_Status* RunRow(int end, int* i);
  Status RunOtherCalls();  // traced, on a device, or watched
  Status PassOutputsOn(int position);
  Status AfterCall(int position, uint32_t after);
  Status TakeFetch(size_t index, Tensor* out);
  Status AllocateEscaping();
  // ---- plan_waits.cc ----
  bool AwaitsDevice() const;
  bool HasArrived() const;
  Status FinishWait();
  // ---- plan_capture.cc ----
  // Enqueues the work of a row of Plan::captured_rows as it was recorded, or records it first.
  // Returns the position after the row; if its kernels are to be called instead, the row's own.
  StatusOr<int> ReplayRow(int number);
  Status RunFirst(const CapturedRow& row);
  // Makes the graph do what the kernels of the row would do in this step.
  Status PrepareRow(const CapturedRow& row, RowGraph* graph);
  Status RecordRow(const CapturedRow& row, RowGraph* graph);
  // ---- plan_trace.cc ----
  void Trace(int position, int64_t start);
  // Prepares the frame at `position` for a traced execution.
  void StartTraced(int position);
  std::vector<std::string> TracedInputs(const Instruction& instruction) const;
  // ---- plan_errors.cc ----
  Status Annotate(int position, const Status& status) const;
  Status OutOfMemory(const Root& root, const Status& reason) const;
  Status CheckInterruption(int last);  // `last`: the instruction that ran, or -1
  static void DescribeRunning(const void* run, CrashLine* line);
  // A kernel left another floating-point environment than `control`: that at `position`, or any.
  void RestoreAfter(int position, uint32_t control) const;
  void RestoreAfterStep(uint32_t control) const;
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
  TracedPart* trace_ = nullptr;  // null: the run is not traced
  int64_t wait_start_ = 0;       // start time of the waiting instruction, if traced
  bool waiting_ = false;         // the run waits for the last of `waits_`
  bool failed_ = false;          // another step must not use the state
  // One for each instruction that waited in this step for another part or an asynchronous kernel.
  std::vector<std::unique_ptr<Wait>> waits_;
  std::unique_ptr<DevicePart> device_;  // null: the plan uses host memory only
  // ---- Of a loop (plan_iterations.cc) ----
  // A variable whose next value is computed in memory of its shape: the two change places. A small
  // value is copied instead, because all who read it would have to be told of its new place.
  struct Exchange {
    int variable;
    int result;          // root
    int feed;            // root; -1: nobody reads the variable
    size_t copied = 0;   // bytes to copy; 0: the two change places
    bool moved = false;  // the two changed places in the last iteration
  };
  void FindExchanges();
  bool CanWrite(int root) const;
  void CarryOver(Exchange* exchange, Tensor* variable);
  void Point(int root, const Tensor& tensor);
  bool knows_exchanges_ = false;
  std::vector<Exchange> exchanges_;
  std::vector<int> others_;      // the other variables
  std::vector<Tensor> carried_;  // their next values
  std::vector<int> looked_at_;   // roots that are fetched and stay where they are
};

// Runs one step of a plan that never waits, on the caller's thread. After an error `fetches` are
// unspecified, and the plan stays usable. REQUIRES: !plan->may_wait; `feeds` have the dtypes of the
// signature and the shapes plan->feed_shapes. Thread-safe.
Status ExecutePlan(Plan* plan, absl::string_view device_name, absl::Span<const Tensor> feeds,
                   absl::Span<Tensor> fetches, const RunOptions& options);

}  // namespace millstream

#endif  // MILLSTREAM_CORE_PLAN_PLAN_EXECUTOR_H_
