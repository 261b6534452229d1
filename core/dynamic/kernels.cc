// The calls of kernels by the dynamic executor, and its KernelHost functions.
#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "core/dynamic/activate.h"
#include "core/graph/error_details.h"
#include "core/host/host_ctx.h"
#include "core/resources/memory_report.h"
#include "core/step/float_control.h"
#include "core/step/step_trace.h"
#include "core/step/worker_pool.h"
#include "framework/plugin/host_status.h"
#include "framework/plugin/host_tensor.h"
#include "framework/plugin/running_code.h"

namespace millstream {
namespace {

// A kernel that takes longer than this may run on another thread.
constexpr uint32_t kExpensiveNanoseconds = 30000;
constexpr int kKernelsBetweenTimings = 31;

Execution* ExecutionOf(MS_Frame* frame) { return static_cast<Execution*>(frame->ctx); }
const Execution& ExecutionOf(const MS_Ctx& ctx) { return static_cast<const Execution&>(ctx); }

std::string DescribeInput(const Value& value) {
  if (!value.tensor.has_value()) return value.view.dtype == MS_RESOURCE ? "resource" : "?";
  return absl::StrCat(DataTypeName(value.tensor.dtype()), value.tensor.shape().ToString());
}

// In a signal handler.
void DescribeExecution(const void* execution, CrashLine* line) {
  const auto& running = *static_cast<const Execution*>(execution);
  DescribeRunning(running.node->call(), running.kernel, line);
}

// Restores the floating-point environment that the kernel changed.
void RestoreAfter(const Execution& execution, uint32_t control) {
  CrashLine line;
  DescribeExecution(&execution, &line);
  RestoreFloatControl(control, line.text());
}

// Around the call of a kernel: in a traced step the call is numbered, for the profilers of devices.
// `trace` null: the step is not traced. The execution may have ended before the scope does.
class CorrelationScope {
 public:
  CorrelationScope(StepTrace* trace, Execution* execution) : trace_(trace) {
    if (trace_ == nullptr) return;
    execution->frame.correlation_id = trace_->BeginExecution(execution->program->node->name());
  }
  CorrelationScope(const CorrelationScope&) = delete;
  CorrelationScope& operator=(const CorrelationScope&) = delete;
  ~CorrelationScope() {
    if (trace_ != nullptr) trace_->EndExecution();
  }

 private:
  StepTrace* const trace_;
};

// Runs on any thread.
void RunHandedOff(void* argument) {
  auto* const execution = static_cast<Execution*>(argument);
  const NodeProgram& node = *execution->program;
  StepContext* const step = execution->run->step;
  const Status interrupted = step->CheckInterruption();
  if (!interrupted.ok()) {
    step->Fail(interrupted);
    execution->complete(execution, interrupted);
    return;
  }
  MS_Status* failed = nullptr;
  const uint32_t control = FloatControl();
  {
    const RunningScope running(&DescribeExecution, execution);
    const CorrelationScope correlated(step->trace(), execution);
    failed = node.compute(node.state, &execution->frame);
  }
  if (FloatControl() != control) RestoreAfter(*execution, control);
  execution->complete(execution, failed == nullptr ? Status() : TakeAbiStatus(failed));
}

void Complete(MS_Done* done, Status status) {
  auto* const execution = static_cast<Execution*>(done);
  DynamicRun* const run = execution->run;
  StepScheduler* const scheduler = run->step->scheduler;
  const Node* const node = execution->node;  // Post hands the execution over
  execution->status = std::move(status);
  run->Post(execution);
  scheduler->FinishOutside(run, node);
}

}  // namespace

void Execution::Receive(Status result, Parcel parcel) {
  DynamicRun* const waiting = run;
  StepScheduler* const scheduler = waiting->step->scheduler;
  status = std::move(result);
  received = std::move(parcel);
  waiting->Post(this);
  scheduler->Wake(waiting);
}

// ---- KernelHost ----

void DynamicRun::SetOutput(MS_Frame* frame, uint32_t output, Tensor tensor) {
  const Execution& execution = *ExecutionOf(frame);
  const OutputProgram& compiled = program_.outputs[execution.program->first_output + output];
  // Only the thread that runs the node accesses its slots until it has ended.
  Value& value = execution.iteration->slots[compiled.slot].value;
  value = Value(std::move(tensor));
  frame->outputs[output] = value.view;
}

StatusOr<Tensor> DynamicRun::InputTensor(const MS_Ctx& ctx, uint32_t input) const {
  const Execution& execution = ExecutionOf(ctx);
  const ValueSource source = program_.inputs[execution.program->first_input + input];
  const bool was_moved =
      input < execution.moved.size() && execution.moved[input].tensor.has_value();
  const Tensor& tensor =
      was_moved ? execution.moved[input].tensor : ValueAt(source, *execution.iteration).tensor;
  if (!tensor.has_value()) {
    return errors::Internal("input ", input, " is a resource handle, which has no value");
  }
  // Fed tensors are borrowed, also after other nodes passed them on.
  if (tensor.buffer() && !tensor.buffer()->writable()) return CopyOf(tensor);
  return tensor;
}

const Tensor* DynamicRun::TakeableInput(const MS_Ctx& ctx, uint32_t input) const {
  const Execution& execution = ExecutionOf(ctx);
  const ValueSource source = program_.inputs[execution.program->first_input + input];
  if (source.place != ValuePlace::kSlot || !execution.moved.empty()) return nullptr;
  if (program_.keeps_inputs) return nullptr;
  const Slot& slot = execution.iteration->slots[source.index];
  const bool is_sole = execution.is_beside
                           ? input < 64 && ((execution.sole_reader >> input) & 1) != 0
                           : slot.uses == 1;
  if (!is_sole) return nullptr;
  const Tensor& tensor = slot.value.tensor;
  const bool is_own = tensor.buffer() && tensor.offset() == 0 && tensor.buffer()->IsUnique() &&
                      tensor.buffer()->writable();
  return is_own ? &tensor : nullptr;
}

StatusOr<MS_TensorView> DynamicRun::KeepTemp(const MS_Ctx& ctx, Tensor tensor) {
  std::vector<Tensor>& temps = const_cast<Execution&>(ExecutionOf(ctx)).temps;
  // Views borrow the Tensor objects, which therefore stay where they are.
  if (temps.capacity() == 0) temps.reserve(kMaxTemps);
  if (temps.size() == kMaxTemps) {
    return errors::ResourceExhausted("a kernel asked for more than ", kMaxTemps,
                                     " pieces of temporary memory");
  }
  temps.push_back(std::move(tensor));
  return MakeView(temps.back(), nullptr);
}

// ---- Kernels that run here, one after the other ----

// Passes the outputs on after the kernel succeeded. A part of RunKernel, where a call of it would
// cost as much as what it does.
inline __attribute__((always_inline)) Status DynamicRun::EndKernel(Execution* execution) {
  const NodeProgram& node = *execution->program;
  Iteration* const iteration = execution->iteration;
  if (!execution->temps.empty() || !execution->moved.empty()) execution->DropCopies();
  if (node.num_outputs > 0) MS_RETURN_IF_ERROR(KeepOutputs(node, *execution));
  if (node.num_inputs > 0) DropInputs(node, iteration);
  if (node.num_outputs > 0) ActivateOutputs(node, iteration, false);
  ActivateAll(node.first_control_edge, node.num_control_edges, iteration, false);
  return absl::OkStatus();
}

inline Status DynamicRun::Prepare(const NodeProgram& node, Iteration* iteration,
                                  Execution* execution) {
  execution->program = &node;
  execution->iteration = iteration;
  execution->node = node.node;
  execution->kernel = node.kernel;
  const ValueSource* const sources = program_.inputs.data() + node.first_input;
  for (uint32_t i = 0; i < node.num_inputs; ++i) {
    execution->input_views[i] = ValueAt(sources[i], *iteration).view;
  }
  for (uint32_t k = 0; k < node.num_outputs; ++k) execution->output_views[k] = NullView();
  execution->frame.outputs_used = program_.used_words.data() + node.first_used_word;
  execution->frame.n_in = node.num_inputs;
  execution->frame.n_out = node.num_outputs;
  return program_.memory == nullptr ? absl::OkStatus() : MoveInputs(execution);
}

// True if the kernel should run on another thread: it takes long, other nodes are ready, and a
// thread is free.
bool DynamicRun::ShouldRunBeside(const NodeProgram& node) const {
  return node.may_run_beside && workers_ < most_workers_ && !state_->ready.empty() &&
         CostOf(node).load(std::memory_order_relaxed) > kExpensiveNanoseconds;
}

// True if a kernel may block the thread that advances the run, because nothing else can run in the
// step before the kernel ends.
bool DynamicRun::IsAlone() const {
  return beside_ == 0 && state_->ready.empty() && step->scheduler->num_parts() == 1;
}

std::atomic<uint32_t>& DynamicRun::CostOf(const NodeProgram& node) const {
  return program_.costs[&node - program_.nodes.data()];
}

// Measures some executions of kernels that may run on another thread.
Status DynamicRun::RunTimedKernel(const NodeProgram& node, Iteration* iteration) {
  std::atomic<uint32_t>& cost = CostOf(node);
  const bool is_known = cost.load(std::memory_order_relaxed) != 0;
  if (is_known && ++kernels_since_timing_ < kKernelsBetweenTimings) {
    return RunKernel(node, iteration);
  }
  kernels_since_timing_ = 0;
  const int64_t start = StepTrace::Now();
  Status status = RunKernel(node, iteration);
  const int64_t nanoseconds = std::min<int64_t>(StepTrace::Now() - start, UINT32_MAX);
  cost.store(static_cast<uint32_t>(std::max<int64_t>(nanoseconds, 1)), std::memory_order_relaxed);
  return status;
}

Status DynamicRun::RunKernel(const NodeProgram& node, Iteration* iteration) {
  Execution* const execution = &state_->inline_execution;
  MS_RETURN_IF_ERROR(Prepare(node, iteration, execution));
  MS_Status* failed = nullptr;
  const bool is_watched = float_control_is_watched.load(std::memory_order_relaxed);
  const uint32_t control = is_watched ? FloatControl() : 0;
  if (device_ != nullptr) device_->StartWork();
  {
    const RunningScope running(&DescribeExecution, execution);
    const CorrelationScope correlated(trace_ == nullptr ? nullptr : step->trace(), execution);
    failed = node.compute(node.state, &execution->frame);
  }
  if (is_watched && FloatControl() != control) RestoreAfter(*execution, control);
  if (device_ != nullptr) device_->EndWork(*node.node, *node.node);
  const bool left_locked = execution->locks.held && ReleaseLeftLocks(execution);
  if (failed == nullptr) return left_locked ? LeftLockedError() : EndKernel(execution);
  execution->temps.clear();
  return TakeAbiStatus(failed);
}

// Looks whether the kernel has set what is read of it.
Status DynamicRun::KeepOutputs(const NodeProgram& node, const Execution& execution) {
  Iteration* const iteration = execution.iteration;
  for (uint32_t k = 0; k < node.num_outputs; ++k) {
    const OutputProgram& output = program_.outputs[node.first_output + k];
    Slot& slot = iteration->slots[output.slot];
    if (!slot.value.tensor.has_value()) {
      const bool used = (execution.frame.outputs_used[k / 64] >> (k % 64)) & 1;
      if (used) return errors::Internal("the kernel did not set output ", k);
    } else if (output.uses == 0) {
      slot.value.tensor = Tensor();
    } else {
      slot.uses = output.uses;
      ++iteration->filled_slots;
    }
  }
  return absl::OkStatus();
}

// ---- What ends on another thread ----

Status DynamicRun::StartBeside(const NodeProgram& node, Iteration* iteration) {
  if (step->scheduler == nullptr) {
    return errors::Internal("the kernel ends on another thread, but the step has no scheduler");
  }
  Execution* const execution = state_->NewExecution();
  SetUp(execution);
  execution->is_beside = true;
  execution->start = trace_ == nullptr ? 0 : StepTrace::Now();
  execution->complete = &Complete;
  const Status prepared = Prepare(node, iteration, execution);
  if (!prepared.ok()) {
    state_->Recycle(execution);
    return prepared;
  }
  execution->sole_reader = 0;
  for (uint32_t i = 0; i < std::min<uint32_t>(node.num_inputs, 64); ++i) {
    const ValueSource source = program_.inputs[node.first_input + i];
    if (source.place == ValuePlace::kSlot && iteration->slots[source.index].uses == 1) {
      execution->sole_reader |= uint64_t{1} << i;
    }
  }
  ++beside_;
  if (auto* const describe = node.kernel->registration().waits_for) {
    execution->waits_for = describe(node.state, &execution->frame);
  }
  step->scheduler->StartOutside({node.node, this, device_name_, execution->waits_for});
  if (node.action == NodeAction::kAsync) {
    const RunningScope running(&DescribeExecution, execution);
    const CorrelationScope correlated(step->trace(), execution);
    node.compute_async(node.state, &execution->frame, execution);
    return absl::OkStatus();
  }
  if (node.action == NodeAction::kBlocking) {
    // If the system provides no thread, the kernel blocks this one.
    if (!WorkerPool::Global()->RunBlocking(&RunHandedOff, execution)) RunHandedOff(execution);
    return absl::OkStatus();
  }
  ++workers_;
  if (!step->scheduler->RunElsewhere(&RunHandedOff, execution)) RunHandedOff(execution);
  return absl::OkStatus();
}

// Calls `cancel` of the running asynchronous kernels that have it, once each, because the step
// stops.
void DynamicRun::CancelBeside() {
  if (std::exchange(has_cancelled_, true)) return;
  for (const std::unique_ptr<Execution>& execution : state_->executions) {
    if (!execution->is_active || execution->program->action != NodeAction::kAsync) continue;
    const NodeProgram& node = *execution->program;
    auto* const cancel = node.kernel->registration().cancel;
    if (cancel != nullptr) cancel(node.state, &execution->frame, execution.get());
  }
}

// Ends an execution that ran elsewhere. If the step stops, its outputs are not passed on.
Status DynamicRun::EndBeside(Execution* execution) {
  const bool left_locked = ReleaseLeftLocks(execution);
  if (!execution->status.ok() || step->IsStopping()) return execution->status;
  if (left_locked) return LeftLockedError();
  if (execution->program->action == NodeAction::kReceive) {
    return EndReceive(*execution->program, execution->iteration, std::move(execution->received));
  }
  if (NumericChecks* const checks = execution->program->checks) {
    MS_RETURN_IF_ERROR(checks->CheckResults(*execution->kernel, &execution->frame));
  }
  return EndKernel(execution);
}

Status DynamicRun::Send(const NodeProgram& node, Iteration* iteration, bool is_dead) {
  const RendezvousKey key{node.transfer_edge, iteration->key, node.node};
  Tensor tensor;
  if (is_dead) {
    DropInputs(node, iteration);
  } else {
    tensor = TakeInput(node, iteration, 0).tensor;
    if (!tensor.has_value()) return errors::Internal("a resource handle cannot leave its device");
    // What the caller fed is not passed on.
    if (tensor.buffer() && !tensor.buffer()->writable()) {
      MS_ASSIGN_OR_RETURN(tensor, CopyOf(tensor));
    }
  }
  if (tensor.is_on_device()) {
    MS_RETURN_IF_ERROR(device_->Send(key, node.is_peer, std::move(tensor)));
  } else {
    MS_RETURN_IF_ERROR(step->rendezvous->Send(key, Parcel{std::move(tensor), is_dead, nullptr}));
  }
  ActivateNode(node, iteration, false);
  return absl::OkStatus();
}

StatusOr<bool> DynamicRun::Receive(const NodeProgram& node, Iteration* iteration) {
  const RendezvousKey key{node.transfer_edge, iteration->key, node.node};
  Execution* const execution = state_->NewExecution();
  SetUp(execution);
  execution->start = trace_ == nullptr ? 0 : StepTrace::Now();
  execution->program = &node;
  execution->iteration = iteration;
  execution->node = node.node;
  Parcel parcel;
  StatusOr<bool> here = step->rendezvous->Receive(key, execution, &parcel);
  if (here.ok() && !*here) {
    ++beside_;
    return false;
  }
  state_->Recycle(execution);
  if (!here.ok()) return here;
  MS_RETURN_IF_ERROR(EndReceive(node, iteration, std::move(parcel)));
  return true;
}

Status DynamicRun::EndReceive(const NodeProgram& node, Iteration* iteration, Parcel parcel) {
  DropInputs(node, iteration);
  const bool is_dead = parcel.dead;
  if (!is_dead) {
    Tensor tensor = std::move(parcel.tensor);
    if (device_ != nullptr) {
      const bool in_host = node.node->op().name == "_HostRecv";
      MS_ASSIGN_OR_RETURN(
          tensor,
          device_->Unpack(*node.node, Parcel{std::move(tensor), false, parcel.ready}, in_host));
    }
    Fill(program_.outputs[node.first_output], iteration, Value(std::move(tensor)));
  }
  ActivateNode(node, iteration, is_dead);
  return absl::OkStatus();
}

// Adds the details of the node to an error: name, op, device, loop, inputs, the user's line.
Status DynamicRun::Annotate(const NodeProgram& node, const Iteration& iteration,
                            const Status& status) const {
  std::vector<std::string> inputs;
  for (uint32_t i = 0; i < node.num_inputs; ++i) {
    inputs.push_back(DescribeInput(ValueAt(program_.inputs[node.first_input + i], iteration)));
  }
  Status described = status;
  if (!inputs.empty()) described = WithErrorDetail(described, "inputs", JoinInputs(inputs));
  if (iteration.frame->parent != nullptr) {
    const std::string& loop = iteration.frame->program->name;
    described = WithErrorDetail(
        described, "loop", absl::StrCat("iteration ", iteration.number, " of frame '", loop, "'"));
  }
  const Status placed = WithErrorPlace(described, device_name_, program_.memory);
  const Status named = AnnotateWithNode(placed, *node.node);
  return absl::IsResourceExhausted(named) ? WithLargest(named, LiveTensors()) : named;
}

}  // namespace millstream
