#include "core/dynamic/dynamic_run.h"

#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "core/dynamic/activate.h"
#include "core/step/float_control.h"

namespace millstream {
namespace {

// Nodes between two looks at the inbox, at cancellation and at the clock.
constexpr int kNodesBetweenLooks = 64;

// `argument` is where it is.
Status CheckPredicate(const char* argument, const MS_TensorView& pred) {
  if (pred.rank == 0 && pred.dtype == MS_BOOL) return absl::OkStatus();
  return errors::InvalidArgument(argument, " must be a scalar bool, got ",
                                 DataTypeName(FromAbiDataType(pred.dtype)),
                                 Shape(absl::MakeConstSpan(pred.dims, pred.rank)).ToString());
}

}  // namespace

DynamicRun::DynamicRun(DynamicProgram* program, absl::string_view device_name)
    : program_(*program), device_name_(device_name) {}

// After an error, the state still has values and frames, so it is not used again.
DynamicRun::~DynamicRun() {
  if (state_ != nullptr && is_clean_) program_.ReturnState(std::move(state_));
}

// Sets the fields that no execution changes.
void DynamicRun::SetUp(Execution* execution) {
  execution->host = this;
  execution->run = this;
  MS_Frame& frame = execution->frame;
  frame = MS_Frame{};
  frame.head.size = sizeof(MS_Frame);
  frame.ctx = execution;
  frame.inputs = execution->input_views.data();
  frame.outputs = execution->output_views.data();
  frame.step_id = step->step_id();
  frame.flags = program_.deterministic ? MS_FRAME_DETERMINISTIC : 0;
  FillFrame(program_.device, &frame);
  if (trace_ != nullptr) frame.flags |= MS_FRAME_TRACING;
}

Status DynamicRun::Begin(StepContext* step_context, absl::Span<const Tensor> feeds) {
  step = step_context;
  if (program_.may_wait && step->scheduler == nullptr) {
    return errors::Internal("a step with nodes that wait needs a scheduler");
  }
  memory = program_.memory;
  if (memory != nullptr) {
    device_ = std::make_unique<DevicePart>(memory, step, this);
    MS_RETURN_IF_ERROR(device_->Begin());
  }
  state_ = program_.TakeState();
  if (StepTrace* whole = step->trace()) trace_ = whole->AddPart(std::string(device_name_));
  trace = trace_;
  if (device_ != nullptr && trace_ != nullptr) device_->StartTrace(trace_);
  SetUp(&state_->inline_execution);
  if (step->scheduler != nullptr) most_workers_ = step->scheduler->threads() - 1;
  // Marks the caller's memory, so that it is never written and never kept, wherever it is passed
  // on.
  for (size_t i = 0; i < feeds.size(); ++i) {
    state_->feeds[i] =
        Value(Tensor(feeds[i].dtype(), feeds[i].shape(),
                     BorrowBuffer(feeds[i].raw(), feeds[i].bytes(), false, nullptr)));
  }
  RunningFrame* const frame = state_->NewFrame(0, nullptr);
  root_ = state_->NewIteration(frame);
  for (uint32_t node : program_.ready_at_start) MakeReady(node, root_, false);
  finished_ = program_.ready_at_start.empty();
  return absl::OkStatus();
}

void DynamicRun::Post(Execution* execution) {
  Execution* last = inbox_.load(std::memory_order_relaxed);
  do {
    execution->next = last;
  } while (!inbox_.compare_exchange_weak(last, execution, std::memory_order_release,
                                         std::memory_order_relaxed));
}

void DynamicRun::TakeInbox() {
  if (inbox_.load(std::memory_order_relaxed) == nullptr) return;
  Execution* last = inbox_.exchange(nullptr, std::memory_order_acquire);
  Execution* first = nullptr;  // in the order in which they came
  while (last != nullptr) {
    Execution* const before = std::exchange(last->next, first);
    first = std::exchange(last, before);
  }
  while (first != nullptr) {
    Execution* const execution = std::exchange(first, first->next);
    --beside_;
    workers_ -= execution->program->action == NodeAction::kKernel ? 1 : 0;
    const NodeProgram& node = *execution->program;
    Iteration* const iteration = execution->iteration;
    Status status = EndBeside(execution);
    if (!status.ok()) step->Fail(Annotate(node, *iteration, status));
    if (trace_ != nullptr && status.ok()) Trace(node, *iteration, execution->start);
    state_->Recycle(execution);
    if (status.ok() && !step->IsStopping()) Finish(iteration);
  }
}

bool DynamicRun::Advance() {
  while (true) {
    TakeInbox();
    const Status interrupted = step->CheckInterruption();
    if (!interrupted.ok()) {
      step->Fail(WithLast(interrupted));
      state_->ready.Clear();
      CancelBeside();
      TakeInbox();
      if (beside_ > 0) return false;
      if (device_ != nullptr) device_->LetGo();  // it is not waited for
      return true;
    }
    if (state_->ready.empty()) {
      // Outside of loops every node runs, dead or not.
      const bool is_done = finished_ && root_->HasRunAll();
      if (is_done) return device_ == nullptr || device_->Drain();
      if (beside_ > 0) return false;
      step->Fail(StuckStepError(WaitsFor()));
      continue;
    }
    RunReadyNodes();
  }
}

// Adds the last node to the error of a step that exceeded its time limit.
Status DynamicRun::WithLast(const Status& interrupted) const {
  if (!absl::IsDeadlineExceeded(interrupted) || last_ == nullptr) return interrupted;
  return Status(interrupted.code(), absl::StrCat(interrupted.message(), "; last ran ", RunsNow()));
}

void DynamicRun::RunReadyNodes() {
  const uint32_t control = FloatControl();
  RunFewReadyNodes();
  if (FloatControl() == control) return;
  // One of a few: from now on kernels are looked after one by one.
  float_control_is_watched.store(true, std::memory_order_relaxed);
  RestoreFloatControl(control, absl::StrCat("a kernel, ", RunsNow(), " or one before it,"));
}

void DynamicRun::RunFewReadyNodes() {
  ReadyQueue& ready = state_->ready;
  for (int i = 0; i < kNodesBetweenLooks && !ready.empty(); ++i) {
    const ReadyNode next = ready.Pop();
    const NodeProgram& node = program_.nodes[next.node];
    last_ = &node;
    if (next.is_dead && !node.runs_when_dead) {
      RunDead(node, next.iteration);
      Finish(next.iteration);
      continue;
    }
    const int64_t start = trace_ == nullptr ? 0 : StepTrace::Now();
    Status status;
    bool done = true;
    // Most nodes are kernels that can run only here.
    if (node.action == NodeAction::kKernel && most_workers_ == 0) {
      status = RunKernel(node, next.iteration);
    } else {
      const StatusOr<bool> ran = RunNode(node, next);
      status = ran.status();
      done = ran.ok() && *ran;
    }
    if (!status.ok()) {
      step->Fail(Annotate(node, *next.iteration, status));
      return;
    }
    if (!done) continue;
    if (trace_ != nullptr) Trace(node, *next.iteration, start);
    Finish(next.iteration);
  }
}

// The outputs of a dead node are dead. Exceptions: a dead NextIteration starts no iteration, and
// whether an Exit is dead is known only when no iteration is left.
void DynamicRun::RunDead(const NodeProgram& node, Iteration* iteration) {
  if (node.action == NodeAction::kEnter) {
    Enter(node, iteration, true);
    return;
  }
  DropInputs(node, iteration);
  if (node.action == NodeAction::kExit || node.action == NodeAction::kNextIteration) return;
  ActivateNode(node, iteration, true);
}

// Returns true if the node is done, false if it ends later on another thread.
StatusOr<bool> DynamicRun::RunNode(const NodeProgram& node, const ReadyNode& ready) {
  Iteration* const iteration = ready.iteration;
  Status status;
  switch (node.action) {
    case NodeAction::kKernel:
      if (!ShouldRunBeside(node)) {
        status = RunTimedKernel(node, iteration);
        break;
      }
      MS_RETURN_IF_ERROR(StartBeside(node, iteration));
      return false;
    case NodeAction::kBlocking:
      if (IsAlone()) {
        status = RunKernel(node, iteration);
        break;
      }
      [[fallthrough]];
    case NodeAction::kAsync: MS_RETURN_IF_ERROR(StartBeside(node, iteration)); return false;
    case NodeAction::kPassOn: PassOn(node, iteration); break;
    case NodeAction::kNothing:
      DropInputs(node, iteration);
      ActivateNode(node, iteration, false);
      break;
    case NodeAction::kLoopCond:
      status = CheckPredicate("'input' of LoopCond",
                              ValueAt(program_.inputs[node.first_input], *iteration).view);
      if (status.ok()) PassOn(node, iteration);
      break;
    case NodeAction::kSwitch: status = Switch(node, iteration); break;
    case NodeAction::kMerge: status = Merge(node, iteration); break;
    case NodeAction::kEnter: Enter(node, iteration, false); break;
    case NodeAction::kExit: status = Exit(node, iteration); break;
    case NodeAction::kNextIteration: NextIteration(node, iteration); break;
    case NodeAction::kSend: status = Send(node, iteration, ready.is_dead); break;
    case NodeAction::kReceive: return Receive(node, iteration);
  }
  if (!status.ok()) return status;
  return true;
}

void DynamicRun::PassOn(const NodeProgram& node, Iteration* iteration) {
  for (uint32_t i = 0; i < node.num_inputs; ++i) {
    Value value = TakeInput(node, iteration, i);
    if (i < node.num_outputs) {
      Fill(program_.outputs[node.first_output + i], iteration, std::move(value));
    }
  }
  ActivateNode(node, iteration, false);
}

Status DynamicRun::Switch(const NodeProgram& node, Iteration* iteration) {
  const ValueSource pred = program_.inputs[node.first_input + 1];
  const Value& decides = ValueAt(pred, *iteration);
  MS_RETURN_IF_ERROR(CheckPredicate("'pred' of Switch", decides.view));
  bool taken = false;
  if (decides.tensor.is_on_device()) {
    MS_ASSIGN_OR_RETURN(const Tensor copied, InHost(decides.tensor));
    taken = *copied.data<bool>();
  } else {
    taken = *(static_cast<const bool*>(decides.view.mem.base) + decides.view.mem.offset);
  }
  DropInput(node, iteration, 1);
  const OutputProgram& live = program_.outputs[node.first_output + (taken ? 1 : 0)];
  const OutputProgram& dead = program_.outputs[node.first_output + (taken ? 0 : 1)];
  Fill(live, iteration, TakeInput(node, iteration, 0));
  ActivateAll(live.first_edge, live.num_edges, iteration, false);
  ActivateAll(dead.first_edge, dead.num_edges, iteration, true);
  ActivateAll(node.first_control_edge, node.num_control_edges, iteration, false);
  return absl::OkStatus();
}

Status DynamicRun::Merge(const NodeProgram& node, Iteration* iteration) {
  const int32_t live = iteration->pending[node.local].live;
  Fill(program_.outputs[node.first_output], iteration,
       TakeInput(node, iteration, static_cast<uint32_t>(live)));
  const OutputProgram& index = program_.outputs[node.first_output + 1];
  if (index.uses > 0) {
    MS_ASSIGN_OR_RETURN(Tensor value, Tensor::Create(DataType::kInt32, Shape()));
    *value.data<int32_t>() = live;
    Fill(index, iteration, Value(std::move(value)));
  }
  ActivateNode(node, iteration, false);
  return absl::OkStatus();
}

Status DynamicRun::FetchCopy(const FetchProgram& fetch, const Tensor& tensor, Tensor* out) {
  StatusOr<Tensor> copied = CopyForCaller(tensor);
  if (absl::IsResourceExhausted(copied.status())) {
    return AnnotateWithNode(copied.status(), *fetch.output.node);
  }
  MS_RETURN_IF_ERROR(copied.status());
  *out = *std::move(copied);
  return absl::OkStatus();
}

Status DynamicRun::TakeFetch(size_t index, Tensor* out) {
  const FetchProgram& fetch = program_.fetches[index];
  if (fetch.source.place != ValuePlace::kSlot) {
    return FetchCopy(fetch, ValueAt(fetch.source, *root_).tensor, out);
  }
  Slot& slot = root_->slots[fetch.source.index];
  if (slot.uses == 0) {
    return AnnotateWithNode(
        errors::InvalidArgument("Retval[", index, "] does not have value: ", fetch.output.name(),
                                " is on a branch that was not taken"),
        *fetch.output.node);
  }
  Tensor& tensor = slot.value.tensor;
  if (!tensor.has_value()) {
    return AnnotateWithNode(
        errors::InvalidArgument("a resource handle cannot be fetched; fetch its value"),
        *fetch.output.node);
  }
  const bool is_own = tensor.buffer() && tensor.buffer()->IsUnique() &&
                      tensor.buffer()->writable() && tensor.space() == MemorySpace::kHost;
  if (fetch.may_move && is_own) {
    *out = std::exchange(tensor, Tensor());
    return absl::OkStatus();
  }
  return FetchCopy(fetch, tensor, out);
}

Status DynamicRun::Fetch(absl::Span<Tensor> fetches) {
  for (size_t i = 0; i < program_.fetches.size(); ++i) {
    MS_RETURN_IF_ERROR(TakeFetch(i, &fetches[i]));
  }
  for (Value& feed : state_->feeds) feed = Value();
  for (Value& feed : state_->device_feeds) feed = Value();
  RunningFrame* const frame = root_->frame;
  state_->Recycle(root_);
  state_->Recycle(frame);
  is_clean_ = true;
  return absl::OkStatus();
}

}  // namespace millstream
