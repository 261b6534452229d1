// The dynamic executor: runs a DynamicProgram for one step.
//
// It uses ready counts, frames, iterations and dead tensors. The run is an actor: one thread at a
// time advances it, and only that thread accesses frames and iterations. Kernels run on that thread
// one after the other. Asynchronous and blocking kernels run elsewhere and put their results into
// the inbox of the run.
#ifndef MILLSTREAM_CORE_DYNAMIC_DYNAMIC_RUN_H_
#define MILLSTREAM_CORE_DYNAMIC_DYNAMIC_RUN_H_

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "core/dynamic/program.h"
#include "core/dynamic/state.h"
#include "core/host/kernel_host.h"
#include "core/resources/memory_report.h"
#include "core/step/device_part.h"
#include "core/step/relaxed.h"
#include "core/step/step_context.h"
#include "core/step/step_scheduler.h"
#include "framework/status.h"
#include "framework/tensor.h"

namespace millstream {

class DynamicRun final : public StepPart, public KernelHost {
 public:
  // `device_name` is for messages. REQUIRES: `program` and `device_name` outlive the run.
  DynamicRun(DynamicProgram* program, absl::string_view device_name);
  ~DynamicRun() override;

  // ---- StepPart ----
  // REQUIRES: the step has a scheduler if program->may_wait.
  Status Begin(StepContext* step_context, absl::Span<const Tensor> feeds) override;
  bool Advance() override;
  // INVALID_ARGUMENT names a fetch that is dead.
  Status Fetch(absl::Span<Tensor> fetches) override;
  std::vector<std::string> WaitsFor() const override;
  std::string RunsNow() const override;

  // ---- KernelHost ----
  bool OutputIsInHost(const MS_Ctx& ctx, uint32_t output) const override;
  bool HasPlannedOutput(const MS_Ctx&, uint32_t) const override { return false; }
  Tensor PlannedOutput(const MS_Ctx&, uint32_t) const override { return Tensor(); }
  const Shape* KnownOutputShape(const MS_Ctx&, uint32_t) const override { return nullptr; }
  void SetOutput(MS_Frame* frame, uint32_t output, Tensor tensor) override;
  StatusOr<Tensor> InputTensor(const MS_Ctx& ctx, uint32_t input) const override;
  const Tensor* TakeableInput(const MS_Ctx& ctx, uint32_t input) const override;
  StatusOr<MS_TensorView> KeepTemp(const MS_Ctx& ctx, Tensor tensor) override;

  // Puts an execution that ended elsewhere into the inbox. Any thread may call it; the caller must
  // wake the run afterwards.
  void Post(Execution* execution);

 private:
  // ---- dynamic_run.cc: the main loop and the node actions ----
  void SetUp(Execution* execution);
  void RunReadyNodes();
  void RunFewReadyNodes();
  void RunDead(const NodeProgram& node, Iteration* iteration);
  StatusOr<bool> RunNode(const NodeProgram& node, const ReadyNode& ready);
  void PassOn(const NodeProgram& node, Iteration* iteration);
  Status Switch(const NodeProgram& node, Iteration* iteration);
  Status Merge(const NodeProgram& node, Iteration* iteration);
  void TakeInbox();
  Status WithLast(const Status& interrupted) const;
  Status FetchCopy(const FetchProgram& fetch, const Tensor& tensor, Tensor* out);
  Status TakeFetch(size_t index, Tensor* out);

  // ---- waits.cc: messages about waiting nodes ----
  void AddWaits(const RunningFrame& frame, std::vector<std::string>* waits) const;
  std::string DescribeWaiting(const NodeProgram& node, const Iteration& iteration) const;
  std::string DescribeMissing(const NodeProgram& node, const Iteration& iteration) const;
  bool IsMissing(const Output& input, const ValueSource& source, const Iteration& iteration) const;
  const NodeProgram* MissingControl(const NodeProgram& node, const Iteration& iteration) const;
  bool FailIfStuck(const Iteration& iteration);
  bool FailIfCutOff(const RunningFrame& frame);
  bool EndStuck(const std::vector<std::string>& waits);

  // ---- trace.cc ----
  void Trace(const NodeProgram& node, const Iteration& iteration, int64_t start);

  // ---- kernels.cc: kernels on this thread and elsewhere ----
  Status Prepare(const NodeProgram& node, Iteration* iteration, Execution* execution);
  bool ShouldRunBeside(const NodeProgram& node) const;
  bool IsAlone() const;
  std::atomic<uint32_t>& CostOf(const NodeProgram& node) const;
  Status RunTimedKernel(const NodeProgram& node, Iteration* iteration);
  Status RunKernel(const NodeProgram& node, Iteration* iteration);
  Status EndKernel(Execution* execution);
  Status KeepOutputs(const NodeProgram& node, const Execution& execution);
  Status StartBeside(const NodeProgram& node, Iteration* iteration);
  void CancelBeside();
  Status Send(const NodeProgram& node, Iteration* iteration, bool is_dead);
  // True if the tensor was sent already, so that the node is done.
  StatusOr<bool> Receive(const NodeProgram& node, Iteration* iteration);
  Status EndReceive(const NodeProgram& node, Iteration* iteration, Parcel parcel);
  Status EndBeside(Execution* execution);
  Status Annotate(const NodeProgram& node, const Iteration& iteration, const Status& status) const;

  // ---- spaces.cc: copies between host memory and the memory of a device ----
  Status MoveInputs(Execution* execution);
  StatusOr<Value> MoveTo(bool to_host, const ValueSource& source, const Tensor& tensor);
  StatusOr<Tensor> InHost(const Tensor& tensor);
  StatusOr<Tensor> CopyForCaller(const Tensor& tensor);
  std::vector<LiveTensor> LiveTensors() const;
  void AddLive(const Iteration& iteration, std::vector<LiveTensor>* live) const;

  // ---- activate.h: who waits for a node ----
  void Activate(const WaitEdge& edge, Iteration* iteration, bool is_dead);
  void ActivateAll(uint32_t first_edge, uint32_t count, Iteration* iteration, bool is_dead);
  void ActivateOutputs(const NodeProgram& node, Iteration* iteration, bool is_dead);
  void ActivateNode(const NodeProgram& node, Iteration* iteration, bool is_dead);
  void MakeReady(uint32_t node, Iteration* iteration, bool is_dead);
  void Finish(Iteration* iteration);

  // ---- propagate.cc: values and deadness ----
  const Value& ValueAt(const ValueSource& source, const Iteration& iteration) const;
  Value TakeInput(const NodeProgram& node, Iteration* iteration, uint32_t input);
  void DropInput(const NodeProgram& node, Iteration* iteration, uint32_t input);
  void DropInputs(const NodeProgram& node, Iteration* iteration);
  void Fill(const OutputProgram& output, Iteration* iteration, Value value);
  void ActivateMerge(const WaitEdge& edge, Iteration* iteration, bool is_dead);
  void Enter(const NodeProgram& node, Iteration* iteration, bool is_dead);
  Status Exit(const NodeProgram& node, Iteration* iteration);
  void NextIteration(const NodeProgram& node, Iteration* iteration);
  Iteration* StartIteration(RunningFrame* frame);
  void GiveIteration(const NodeProgram& node, Iteration* iteration, Value value);
  void RetireIterations(RunningFrame* frame);
  void LeaveFrame(RunningFrame* frame);

  DynamicProgram& program_;
  const absl::string_view device_name_;
  std::unique_ptr<DynamicState> state_;
  TracedPart* trace_ = nullptr;  // null: the run is not traced
  Iteration* root_ = nullptr;
  std::unique_ptr<DevicePart> device_;          // null: the program uses host memory only
  Relaxed<const NodeProgram*> last_ = nullptr;  // the node that runs or ran last
  bool finished_ = false;                       // no node can run any more
  bool is_clean_ = false;                       // another step can use the state
  bool has_cancelled_ = false;                  // CancelBeside was called
  int beside_ = 0;                              // executions elsewhere that have not ended
  int workers_ = 0;                             // of those, the ones on worker threads
  int most_workers_ = 0;
  int kernels_since_timing_ = 0;
  std::atomic<Execution*> inbox_{nullptr};  // a linked list, the newest first
};

}  // namespace millstream

#endif  // MILLSTREAM_CORE_DYNAMIC_DYNAMIC_RUN_H_
