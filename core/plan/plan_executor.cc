#include "core/plan/plan_executor.h"

#include <algorithm>
#include <atomic>
#include <memory>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "core/graph/error_details.h"
#include "core/host/host_ctx.h"
#include "core/host/thread_team.h"
#include "core/numerics/numeric_checks.h"
#include "core/plan/plan_wait.h"
#include "core/resources/memory_report.h"
#include "framework/plugin/host_status.h"
#include "framework/plugin/host_tensor.h"
#include "framework/plugin/running_code.h"

namespace millstream {
namespace {

// Instructions between two looks at cancellation and clock.
constexpr int kCallsBetweenChecks = 64;

// What a node does that a pass made of several.
std::vector<std::string> FusedOps(const Node& node) {
  for (const char* attr : {"steps", "fused_ops"}) {
    StatusOr<std::vector<std::string>> ops = node.Attr<std::vector<std::string>>(attr);
    if (ops.ok()) return *std::move(ops);
  }
  return {};
}

bool IsCopy(const Instruction& instruction) {
  return instruction.transfer == TransferKind::kToDevice ||
         instruction.transfer == TransferKind::kToHost;
}

// A copy between a device and the host stands for no node of the program.
std::string TracedName(const Instruction& instruction) {
  const std::string& name = instruction.node->name();
  if (!IsCopy(instruction)) return name;
  const bool to_host = instruction.transfer == TransferKind::kToHost;
  return absl::StrCat(name, to_host ? "/_to_host" : "/_to_device");
}

std::string TracedOp(const Instruction& instruction) {
  if (!IsCopy(instruction)) return instruction.node->op().name;
  return instruction.transfer == TransferKind::kToHost ? "_CopyToHost" : "_CopyToDevice";
}

// The Send that brings what this Receive gets.
std::string SenderOf(const std::string& receive) {
  const size_t suffix = receive.rfind("/_");
  if (suffix == std::string::npos) return receive;
  return absl::StrCat(receive.substr(0, suffix),
                      absl::StrReplaceAll(receive.substr(suffix), {{"Recv", "Send"}}));
}

}  // namespace

PlanRun::PlanRun(Plan* plan, absl::string_view device_name)
    : plan_(*plan), device_name_(device_name) {}

PlanRun::~PlanRun() {
  if (state_ == nullptr) return;
  device_ = nullptr;
  for (Tensor& slot : state_->slots) {
    if (slot.has_value()) slot = Tensor();
  }
  state_->temps.clear();
  if (trace_ != nullptr) {
    for (MS_Frame& frame : state_->frames) frame.flags &= ~uint64_t{MS_FRAME_TRACING};
  }
  state_->feeds = absl::Span<const Tensor>();
  state_->step = nullptr;
  state_->run = nullptr;
  state_->runs_alone = false;
  // A step that failed half way leaves views of tensors that are gone: its state is not used again.
  if (!failed_) plan_.ReturnState(std::move(state_));
}

Status PlanRun::Begin(StepContext* step, absl::Span<const Tensor> feeds) {
  step_ = step;
  if (plan_.memory != nullptr) {
    device_ = std::make_unique<DevicePart>(plan_.memory, step, this);
    MS_RETURN_IF_ERROR(device_->Begin());
  }
  MS_ASSIGN_OR_RETURN(state_, plan_.TakeState());
  state_->position = 0;
  state_->runs_alone = step->scheduler == nullptr;
  failed_ = true;  // until it went well
  if (StepTrace* trace = step->trace()) trace_ = trace->AddPart(std::string(device_name_));
  if (device_ != nullptr && trace_ != nullptr) device_->StartTrace(trace_);
  state_->step = step;
  state_->run = this;
  state_->feeds = feeds;
  for (size_t i = 0; i < feeds.size(); ++i) {
    const int root = plan_.feed_roots[i];
    if (root >= 0) state_->PointViews(plan_.roots[root], feeds[i].raw(), &feeds[i]);
  }
  for (int index : plan_.escaping_roots) {
    const Root& root = plan_.roots[index];
    StatusOr<BufferRef> buffer = state_->EscapingBuffer(root);
    if (!buffer.ok()) {
      const Status full = errors::ResourceExhausted(
          "out of memory: no ", root.bytes(), " bytes for ", root.source.name(), " ",
          DataTypeName(root.dtype), root.shape.ToString(), ": ", buffer.status().message());
      return WithLargest(AnnotateWithNode(full, *root.source.node), state_->LiveTensors(0));
    }
    state_->PointViews(root, (*buffer)->data(), nullptr);
    state_->slots[root.index] = Tensor(root.dtype, root.shape, *std::move(buffer));
  }
  return absl::OkStatus();
}

// Adds what a reader needs to find the node: name, op, device, what it was given, the user's line.
Status PlanRun::Annotate(int position, const Status& status) const {
  const Instruction& instruction = plan_.instructions[position];
  std::vector<std::string> inputs;
  for (const ValueRef& value : instruction.inputs) {
    inputs.push_back(absl::StrCat(DataTypeName(plan_.roots[value.root].dtype),
                                  value.shape_known ? value.shape.ToString() : ""));
  }
  Status described = status;
  if (!inputs.empty()) described = WithErrorDetail(described, "inputs", JoinInputs(inputs));
  const Status placed = WithErrorPlace(described, device_name_, plan_.memory);
  const Status named = AnnotateWithNode(placed, *instruction.node);
  if (!absl::IsResourceExhausted(named)) return named;
  return WithLargest(named, state_->LiveTensors(position));
}

Status PlanRun::PassOutputsOn(int position) {
  const Instruction& instruction = plan_.instructions[position];
  MS_TensorView* views = state_->views.data() + instruction.first_output_view;
  for (size_t k = 0; k < instruction.outputs.size(); ++k) {
    const Root& root = plan_.roots[instruction.outputs[k].root];
    if (root.kind != RootKind::kSlot) continue;
    const Tensor& tensor = state_->slots[root.index];
    views[k] = NullView();
    if (!tensor.has_value()) {
      const bool used = (instruction.outputs_used[k / 64] >> (k % 64)) & 1;
      if (used) return errors::Internal("the kernel did not set output ", k);
      continue;
    }
    if (tensor.is_on_device() == root.in_host) {
      return errors::Internal("the kernel gave output ", k, " in ",
                              root.in_host ? "the device's" : "host", " memory");
    }
    state_->PointViews(root, tensor.raw(), &tensor);
  }
  return absl::OkStatus();
}

// The error of a step that took too long says how far it came.
Status PlanRun::CheckInterruption(int last) {
  Status interrupted = step_->CheckInterruption();
  if (!absl::IsDeadlineExceeded(interrupted) || last < 0) return interrupted;
  return Status(interrupted.code(),
                absl::StrCat(interrupted.message(), "; last ran ",
                             plan_.instructions[last].node->Describe(), ", on ", device_name_));
}

Status PlanRun::AfterCall(int position, uint32_t after) {
  if ((after & kAfterLocks) && ReleaseLeftLocks(&state_->contexts[position])) {
    return Annotate(position, LeftLockedError());
  }
  if (after & kAfterOutputs) {
    Status passed = PassOutputsOn(position);
    if (!passed.ok()) return Annotate(position, passed);
  }
  if (after & kAfterRelease) {
    for (int slot : plan_.instructions[position].release) state_->slots[slot] = Tensor();
  }
  return (after & kAfterCheck) ? CheckInterruption(position) : absl::OkStatus();
}

// Whether the instruction at `position` waits for the device, and for nobody else.
bool PlanRun::AwaitsDevice() const {
  return plan_.instructions[state_->position].transfer == TransferKind::kAwaitHost;
}

// An instruction that waits has started; true when what it waits for is there.
bool PlanRun::HasArrived() const {
  if (AwaitsDevice()) return !device_->IsWaiting();
  return waits_.back()->arrived.load(std::memory_order_acquire);
}

// Takes what came for the instruction at `position`.
Status PlanRun::FinishWait() {
  waiting_ = false;
  Relaxed<int>& position = state_->position;
  if (AwaitsDevice()) {
    if (trace_ != nullptr) Trace(position, wait_start_);
    MS_RETURN_IF_ERROR(AfterCall(position, plan_.calls[position].after & ~kAfterWait));
    ++position;
    return absl::OkStatus();
  }
  Wait& wait = *waits_.back();
  const bool left_locked = ReleaseLeftLocks(&state_->contexts[position]);
  if (!wait.status.ok()) return Annotate(position, wait.status);
  if (left_locked) return Annotate(position, LeftLockedError());
  const Instruction& instruction = plan_.instructions[position];
  if (instruction.checks != nullptr) {
    const Status checked =
        instruction.checks->CheckResults(*instruction.kernel, &state_->frames[position]);
    if (!checked.ok()) return Annotate(position, checked);
  }
  if (wait.parcel.tensor.has_value()) {
    Tensor tensor = std::move(wait.parcel.tensor);
    if (device_ != nullptr) {
      const Root& root = plan_.roots[instruction.outputs[0].root];
      StatusOr<Tensor> unpacked =
          device_->Unpack(Parcel{std::move(tensor), false, wait.parcel.ready}, root.in_host);
      if (!unpacked.ok()) return Annotate(position, unpacked.status());
      tensor = *std::move(unpacked);
    }
    state_->SetOutput(&state_->frames[position], 0, std::move(tensor));
  }
  if (trace_ != nullptr) Trace(position, wait_start_);
  MS_RETURN_IF_ERROR(AfterCall(position, plan_.calls[position].after & ~kAfterWait));
  state_->temps.clear();
  ++position;
  return absl::OkStatus();
}

// In a signal handler: what stands at `position`.
void PlanRun::DescribeRunning(const void* run, CrashLine* line) {
  const PlanRun& crashed = *static_cast<const PlanRun*>(run);
  const int position = crashed.state_->position;
  if (position >= static_cast<int>(crashed.plan_.instructions.size())) return;
  const Instruction& instruction = crashed.plan_.instructions[position];
  millstream::DescribeRunning(*instruction.node, instruction.kernel, line);
}

Status PlanRun::RunCalls() {
  if (plan_.calls.empty()) return absl::OkStatus();
  const RunningScope running(&PlanRun::DescribeRunning, this);
  if (device_ != nullptr) {
    return trace_ == nullptr ? RunCallsAs<false, true>() : RunCallsAs<true, true>();
  }
  return trace_ == nullptr ? RunCallsAs<false, false>() : RunCallsAs<true, false>();
}

// By the names under which they are traced.
std::vector<std::string> PlanRun::TracedInputs(const Instruction& instruction) const {
  std::vector<std::string> names;
  if (instruction.transfer == TransferKind::kReceive) {
    names.push_back(SenderOf(instruction.node->name()));
    return names;
  }
  const bool by_node = instruction.reads.empty();
  const std::vector<Output>& inputs = by_node ? instruction.node->inputs() : instruction.reads;
  for (size_t k = 0; k < instruction.inputs.size(); ++k) {
    const Root& root = plan_.roots[instruction.inputs[k].root];
    const Instruction* const made = root.first < 0 ? nullptr : &plan_.instructions[root.first];
    const bool is_copy = made != nullptr && IsCopy(*made);
    const bool is_named = !IsCopy(instruction) && k < inputs.size();
    if (is_copy) {
      names.push_back(TracedName(*made));
    } else {
      names.push_back(is_named ? inputs[k].node->name() : root.source.node->name());
    }
  }
  return names;
}

// Records the execution of an instruction that started at `start` and has just ended.
void PlanRun::Trace(int position, int64_t start) {
  const Instruction& instruction = plan_.instructions[position];
  if (instruction.transfer == TransferKind::kAwaitHost) return;
  TracedNode traced;
  traced.name = TracedName(instruction);
  traced.op = TracedOp(instruction);
  if (!instruction.reads.empty()) traced.fused_ops = FusedOps(*instruction.node);
  traced.inputs = TracedInputs(instruction);
  traced.start = start;
  traced.end = StepTrace::Now();
  traced.thread = StepTrace::ThisThread();
  traced.scratch_bytes = instruction.scratch_bytes;
  for (const Tensor& temp : state_->temps) traced.scratch_bytes += temp.bytes();
  for (size_t k = 0; k < instruction.outputs.size(); ++k) {
    const Root& root = plan_.roots[instruction.outputs[k].root];
    const bool in_slab = root.kind == RootKind::kPlanned;
    const Tensor* const slot = in_slab ? nullptr : &state_->slots[root.index];
    if (!in_slab && !slot->has_value()) continue;
    TracedOutput output;
    output.index = static_cast<int>(k);
    output.dtype = root.dtype;
    output.shape = in_slab ? root.shape : slot->shape();
    output.bytes = in_slab ? root.bytes() : slot->bytes();
    output.allocated = !in_slab;
    traced.outputs.push_back(std::move(output));
  }
  trace_->nodes.push_back(std::move(traced));
  if (device_ != nullptr) device_->KeepSpan();
}

template <bool kTraced, bool kOnDevice>
Status PlanRun::RunCallsAs() {
  const int count = static_cast<int>(plan_.calls.size());
  const Call* const calls = plan_.calls.data();
  MS_Frame* const frames = state_->frames.data();
  Relaxed<int>& position = state_->position;
  const uint64_t step_id = step_->step_id();
  while (position < count) {
    if (waiting_) {
      if (!HasArrived()) return absl::OkStatus();
      MS_RETURN_IF_ERROR(FinishWait());
      continue;
    }
    // As the step starts the clock has just been read.
    if (position > 0 || step_->IsStopping()) {
      MS_RETURN_IF_ERROR(CheckInterruption(position - 1));
    }
    const int end = std::min(position + kCallsBetweenChecks, count);
    for (int i = position; i < end; ++i) {
      frames[i].step_id = step_id;
      const int64_t start = kTraced ? StepTrace::Now() : 0;
      position = i;
      const bool enqueues = kOnDevice && plan_.instructions[i].transfer == TransferKind::kNone;
      if (kOnDevice && enqueues) device_->StartWork();
      if (kTraced) frames[i].flags |= MS_FRAME_TRACING;
      MS_Status* failed = calls[i].compute(calls[i].state, &frames[i]);
      if (kOnDevice && enqueues) device_->EndWork(*plan_.instructions[i].node);
      if (failed != nullptr) {
        ReleaseLeftLocks(&state_->contexts[i]);
        return Annotate(i, TakeAbiStatus(failed));
      }
      if (calls[i].after & kAfterWait) {
        wait_start_ = start;
        waiting_ = true;
        break;
      }
      if (kTraced) Trace(i, start);
      if (calls[i].after != 0) MS_RETURN_IF_ERROR(AfterCall(i, calls[i].after));
      if (!state_->temps.empty()) state_->temps.clear();
    }
    if (!waiting_) position = end;
  }
  return absl::OkStatus();
}

MS_Status* PlanRun::StartAsync(void* kernel_instance, MS_Frame* frame) {
  auto* const kernel = static_cast<KernelInstance*>(kernel_instance);
  PlanRun* const run = static_cast<StepState*>(frame->ctx->host)->run;
  run->waits_.push_back(std::make_unique<Wait>(run, frame->ctx->node));
  frame->ctx->is_beside = true;  // another part of the step may use the team
  run->step_->scheduler->StartOutside({frame->ctx->node, run, run->device_name_});
  kernel->registration().compute_async(kernel->state(), frame, run->waits_.back().get());
  return nullptr;
}

bool PlanRun::Advance() {
  const bool awaits_device = device_ != nullptr && device_->IsWaiting();
  if (awaits_device && step_->IsStopping()) {
    step_->Fail(step_->CheckInterruption());
    device_->LetGo();
    return true;
  }
  Status status = RunCalls();
  if (!status.ok()) {
    step_->Fail(status);
    // A kernel that is still out there writes to this run's memory.
    if (waiting_ && !HasArrived()) return false;
    if (device_ != nullptr) device_->LetGo();
    return true;
  }
  if (waiting_) return false;
  return device_ == nullptr || device_->Drain();
}

std::vector<std::string> PlanRun::WaitsFor() const {
  if (device_ != nullptr && device_->IsWaiting()) return {device_->WaitsFor()};
  return {DescribeWait(*plan_.instructions[state_->position].node, device_name_)};
}

std::string PlanRun::RunsNow() const {
  const int position = state_->position;
  if (position >= static_cast<int>(plan_.instructions.size())) return "";
  return absl::StrCat(plan_.instructions[position].node->Describe(), ", on ", device_name_);
}

Status PlanRun::TakeFetch(const FetchPlan& fetch, Tensor* out) {
  const Root& root = plan_.roots[fetch.value.root];
  const auto shaped = [&](const Tensor& tensor) {
    return fetch.value.shape_known ? tensor.Reshaped(fetch.value.shape) : tensor;
  };
  switch (root.kind) {
    case RootKind::kConstant: {
      MS_ASSIGN_OR_RETURN(*out, shaped(root.constant).DeepCopy());
      return absl::OkStatus();
    }
    case RootKind::kFeed: {
      MS_ASSIGN_OR_RETURN(*out, shaped(state_->feeds[root.index]).DeepCopy());
      return absl::OkStatus();
    }
    case RootKind::kPlanned: {
      const Tensor in_slab(root.dtype, root.shape, state_->slab, root.offset);
      MS_ASSIGN_OR_RETURN(*out, shaped(in_slab).DeepCopy());
      return absl::OkStatus();
    }
    case RootKind::kEscaping:
    case RootKind::kSlot: break;
    case RootKind::kHandle:
      return errors::InvalidArgument("a resource handle cannot be fetched; fetch its value");
  }
  Tensor& slot = state_->slots[root.index];
  // An escaping root's buffer is also kept for reuse once the caller drops it; nobody reads it.
  const bool own = root.kind == RootKind::kEscaping || slot.buffer()->IsUnique();
  const bool is_plain =
      slot.space() == MemorySpace::kHost;  // else it is the device's, and goes with it
  if (fetch.move && own && is_plain && slot.buffer()->writable()) {
    *out = shaped(std::exchange(slot, Tensor()));
    return absl::OkStatus();
  }
  MS_ASSIGN_OR_RETURN(*out, shaped(slot).DeepCopy());
  return absl::OkStatus();
}

Status PlanRun::Fetch(absl::Span<Tensor> fetches) {
  for (size_t i = 0; i < plan_.fetches.size(); ++i) {
    const FetchPlan& fetch = plan_.fetches[i];
    Status taken = TakeFetch(fetch, &fetches[i]);
    if (!taken.ok()) {
      return AnnotateWithNode(taken, *plan_.roots[fetch.value.root].source.node);
    }
  }
  failed_ = false;
  return absl::OkStatus();
}

// Flattened, because for a step of few small nodes the calls are what it costs.
__attribute__((flatten)) Status ExecutePlan(Plan* plan, absl::string_view device_name,
                                            absl::Span<const Tensor> feeds,
                                            absl::Span<Tensor> fetches, const RunOptions& options) {
  StepContext step(options, *plan->settings);
  // A step that only orders others, and these have nothing to run either.
  if (plan->calls.empty() && plan->fetches.empty() && step.trace() == nullptr) {
    return step.IsStopping() ? step.CheckInterruption() : absl::OkStatus();
  }
  PlanRun run(plan, device_name);
  MS_RETURN_IF_ERROR(run.Begin(&step, feeds));
  step.holds_permit = step.max_threads > 1 && step.needs_permit && ParallelPermit::TryAcquire();
  Status status = run.RunCalls();
  if (step.holds_permit) ParallelPermit::Release();
  if (status.ok()) return run.Fetch(fetches);
  step.Fail(status);  // unless a kernel found first that the step is to stop
  return step.status();
}

}  // namespace millstream
