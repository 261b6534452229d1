#include "core/plan/plan_executor.h"

#include <algorithm>
#include <memory>
#include <utility>

#include "core/graph/error_details.h"
#include "core/host/host_ctx.h"
#include "core/host/thread_team.h"
#include "core/plan/plan_wait.h"
#include "core/step/float_control.h"
#include "framework/plugin/host_status.h"
#include "framework/plugin/host_tensor.h"
#include "framework/plugin/running_code.h"

namespace millstream {
namespace {

// Instructions between two looks at cancellation and clock.
constexpr int kCallsBetweenChecks = 64;

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
    for (MS_Frame& frame : state_->frames) {
      frame.flags &= ~uint64_t{MS_FRAME_TRACING};
      frame.correlation_id = 0;
    }
  }
  state_->feeds = absl::Span<const Tensor>();
  state_->step = nullptr;
  state_->trace = nullptr;
  state_->run = nullptr;
  state_->runs_alone = false;
  // After an error, views may point to released tensors, so the state is not used again.
  if (failed_) return;
  state_->has_run = true;
  plan_.ReturnState(std::move(state_));
}

Status PlanRun::Begin(StepContext* step, absl::Span<const Tensor> feeds) {
  TracedPart* trace = nullptr;
  if (StepTrace* whole = step->trace()) trace = whole->AddPart(std::string(device_name_));
  if (plan_.memory != nullptr) {
    device_ = std::make_unique<DevicePart>(plan_.memory, step, this);
    MS_RETURN_IF_ERROR(device_->Begin());
    if (trace != nullptr) device_->StartTrace(trace);
  }
  MS_RETURN_IF_ERROR(BeginInside(step, trace, feeds));
  state_->runs_alone = step->scheduler == nullptr;
  return absl::OkStatus();
}

Status PlanRun::BeginInside(StepContext* step, TracedPart* trace, absl::Span<const Tensor> feeds) {
  step_ = step;
  trace_ = trace;
  MS_ASSIGN_OR_RETURN(state_, plan_.TakeState());
  state_->position = 0;
  failed_ = true;  // until it went well
  state_->step = step;
  state_->trace = trace;
  state_->run = this;
  state_->feeds = feeds;
  for (size_t i = 0; i < feeds.size(); ++i) {
    const int root = plan_.feed_roots[i];
    if (root >= 0) state_->PointViews(plan_.roots[root], feeds[i]);
  }
  return AllocateEscaping();
}

Status PlanRun::AllocateEscaping() {
  for (int index : plan_.escaping_roots) {
    const Root& root = plan_.roots[index];
    Tensor& slot = state_->slots[root.index];
    if (slot.has_value()) continue;  // of an iteration before
    StatusOr<BufferRef> buffer = state_->EscapingBuffer(root);
    if (!buffer.ok()) return OutOfMemory(root, buffer.status());
    slot = Tensor(root.dtype, root.shape, *std::move(buffer));
    state_->PointViews(root, slot);
  }
  return absl::OkStatus();
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
    state_->PointViews(root, tensor);
  }
  return absl::OkStatus();
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

Status PlanRun::RunCalls() {
  if (plan_.calls.empty()) return absl::OkStatus();
  const RunningScope running(&PlanRun::DescribeRunning, this);
  const uint32_t control = FloatControl();
  const bool is_plain = device_ == nullptr && trace_ == nullptr &&
                        !float_control_is_watched.load(std::memory_order_relaxed);
  Status status = is_plain ? RunCallsAs<false, false, false>() : RunOtherCalls();
  if (__builtin_expect(FloatControl() != control, false)) RestoreAfterStep(control);
  return status;
}

// Not a part of the flattened ExecutePlan: these forms cost more than a call.
__attribute__((noinline)) Status PlanRun::RunOtherCalls() {
  if (device_ == nullptr) {
    return trace_ == nullptr ? RunCallsAs<false, false, true>() : RunCallsAs<true, false, true>();
  }
  return trace_ == nullptr ? RunCallsAs<false, true, true>() : RunCallsAs<true, true, true>();
}

// A function of its own, so that all that it needs from call to call stays in registers: in the
// flattened ExecutePlan these values lie on the stack, and each call waits for them.
__attribute__((noinline)) MS_Status* PlanRun::RunRow(int end, int* i) {
  StepState& state = *state_;
  const uint64_t step_id = step_->step_id();
  int position = *i;
  const Call* call = plan_.calls.data() + position;
  MS_Frame* frame = state.frames.data() + position;
  while (true) {
    frame->step_id = step_id;
    state.position = position;
    MS_Status* const failed = call->compute(call->state, frame);
    const bool needs_more = failed != nullptr || call->after != 0 || !state.temps.empty();
    if (needs_more || position + 1 == end) {
      *i = position;
      return failed;
    }
    ++position;
    ++call;
    ++frame;
  }
}

template <bool kTraced, bool kOnDevice, bool kWatched>
Status PlanRun::RunCallsAs() {
  constexpr bool kPlain = !kTraced && !kOnDevice && !kWatched;
  const int count = static_cast<int>(plan_.calls.size());
  const Call* const calls = plan_.calls.data();
  MS_Frame* const frames = state_->frames.data();
  Relaxed<int>& position = state_->position;
  const uint64_t step_id = step_->step_id();
  const uint32_t control = kWatched ? FloatControl() : 0;
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
    int end = std::min(position + kCallsBetweenChecks, count);
    for (int i = position; i < end; ++i) {
      if (kOnDevice && !kTraced && plan_.instructions[i].captured_row >= 0) {
        MS_ASSIGN_OR_RETURN(const int next, ReplayRow(plan_.instructions[i].captured_row));
        if (next > i) {
          end = std::max(end, next);
          i = next - 1;
          continue;
        }
      }
      const int64_t start = kTraced ? StepTrace::Now() : 0;
      if (!kPlain) {
        frames[i].step_id = step_id;
        position = i;
      }
      const bool enqueues = kOnDevice && plan_.instructions[i].transfer == TransferKind::kNone;
      if (kOnDevice && enqueues) device_->StartWork();
      if (kTraced) StartTraced(i);
      MS_Status* const failed =
          kPlain ? RunRow(end, &i) : calls[i].compute(calls[i].state, &frames[i]);
      if (kTraced) step_->trace()->EndExecution();
      if (kWatched && FloatControl() != control) RestoreAfter(i, control);
      if (kOnDevice && enqueues) {
        device_->EndWork(*plan_.instructions[i].node, *plan_.instructions[i].node);
      }
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

Status PlanRun::TakeFetch(size_t index, Tensor* out) {
  const FetchPlan& fetch = plan_.fetches[index];
  const Root& root = plan_.roots[fetch.value.root];
  if (root.kind == RootKind::kHandle) {
    return errors::InvalidArgument("a resource handle cannot be fetched; fetch its value");
  }
  const bool is_escaping = root.kind == RootKind::kEscaping;
  if (fetch.move && (is_escaping || root.kind == RootKind::kSlot)) {
    Tensor& slot = state_->slots[root.index];
    // The state also keeps an escaping root's buffer, to reuse it after the caller releases it. It
    // does not read the buffer.
    const bool own = is_escaping || slot.buffer()->IsUnique();
    const bool is_plain =
        slot.space() == MemorySpace::kHost;  // else it is the device's, and goes with it
    if (own && is_plain && slot.buffer()->writable()) {
      Tensor taken = std::exchange(slot, Tensor());
      *out = fetch.value.shape_known ? taken.Reshaped(fetch.value.shape) : std::move(taken);
      return absl::OkStatus();
    }
  }
  MS_ASSIGN_OR_RETURN(*out, Fetched(index).DeepCopy());
  return absl::OkStatus();
}

Status PlanRun::Fetch(absl::Span<Tensor> fetches) {
  for (size_t i = 0; i < plan_.fetches.size(); ++i) {
    Status taken = TakeFetch(i, &fetches[i]);
    if (!taken.ok()) {
      return AnnotateWithNode(taken, *plan_.roots[plan_.fetches[i].value.root].source.node);
    }
  }
  failed_ = false;
  return absl::OkStatus();
}

// Flattened, because for a step of few small nodes the calls are what it costs. What such a step
// seldom or never does is in plan_waits.cc, plan_errors.cc and plan_trace.cc, out of its reach.
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
  step.Fail(status);  // does nothing if a kernel has stopped the step before
  return step.status();
}

}  // namespace millstream
