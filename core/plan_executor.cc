#include "core/plan_executor.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <memory>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "core/host_ctx.h"
#include "core/step_state.h"
#include "core/thread_team.h"
#include "framework/plugin/host_status.h"
#include "framework/plugin/host_tensor.h"

namespace millstream {
namespace {

// Instructions between two looks at cancellation and clock.
constexpr int kCallsBetweenChecks = 64;

// Asking the front end whether to stop costs it a lock.
constexpr int64_t kMillisBetweenQuestions = 50;

std::atomic<uint64_t> next_step_id{1};

int64_t NowMillis() {
  return std::chrono::duration_cast<std::chrono::milliseconds>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

// One run of one plan. Lives on the stack of ExecutePlan.
class StepRunner {
 public:
  StepRunner(Plan* plan, StepState* state, absl::string_view device_name)
      : plan_(*plan), state_(*state), device_name_(device_name) {}

  Status Begin(absl::Span<const Tensor> feeds, const RunOptions& options);
  Status RunCalls();
  Status Fetch(absl::Span<Tensor> fetches);
  // Drops what the step still holds, whether it went well or not.
  void End();

 private:
  Status PassOutputsOn(int position);
  Status AfterCall(int position, uint32_t after);
  Status CheckInterruption();
  Status Annotate(int position, const Status& status) const;
  Status TakeFetch(const FetchPlan& fetch, Tensor* out);

  const Plan& plan_;
  StepState& state_;
  const absl::string_view device_name_;
  int64_t deadline_ms_ = 0;
  int64_t last_asked_ms_ = 0;
};

Status StepRunner::Begin(absl::Span<const Tensor> feeds, const RunOptions& options) {
  state_.feeds = feeds;
  state_.options = &options;
  state_.step_id = next_step_id.fetch_add(1, std::memory_order_relaxed);
  if (options.timeout_ms > 0 || options.should_stop != nullptr) {
    last_asked_ms_ = NowMillis();
    if (options.timeout_ms > 0) deadline_ms_ = last_asked_ms_ + options.timeout_ms;
  }
  for (size_t i = 0; i < feeds.size(); ++i) {
    const int root = plan_.feed_roots[i];
    if (root >= 0) state_.PointViews(plan_.roots[root], feeds[i].raw(), &feeds[i]);
  }
  for (int index : plan_.escaping_roots) {
    const Root& root = plan_.roots[index];
    BufferRef buffer = state_.EscapingBuffer(root);
    if (!buffer) {
      return AnnotateWithNode(
          errors::ResourceExhausted("out of memory: no ", root.bytes(), " bytes for ",
                                    root.source.name(), " ", DataTypeName(root.dtype),
                                    root.shape.ToString()),
          *root.source.node);
    }
    state_.PointViews(root, buffer->data(), nullptr);
    state_.slots[root.index] = Tensor(root.dtype, root.shape, std::move(buffer));
  }
  return absl::OkStatus();
}

Status StepRunner::CheckInterruption() {
  const RunOptions& options = *state_.options;
  if (options.cancellation != nullptr && options.cancellation->IsCancelled()) {
    return errors::Cancelled("the step was cancelled");
  }
  if (options.should_stop == nullptr && deadline_ms_ == 0) return absl::OkStatus();
  const int64_t now = NowMillis();
  if (options.should_stop != nullptr && now - last_asked_ms_ >= kMillisBetweenQuestions) {
    last_asked_ms_ = now;
    if (options.should_stop(options.should_stop_argument)) {
      return errors::Cancelled("the step was interrupted");
    }
  }
  if (deadline_ms_ != 0 && now > deadline_ms_) {
    return absl::DeadlineExceededError(
        absl::StrCat("the step took longer than ", options.timeout_ms, " ms"));
  }
  return absl::OkStatus();
}

// Adds what a reader needs to find the node: name, op, device, what it was given, the user's line.
Status StepRunner::Annotate(int position, const Status& status) const {
  const Instruction& instruction = plan_.instructions[position];
  std::string inputs =
      absl::StrJoin(instruction.inputs, ", ", [&](std::string* out, const ValueRef& value) {
        const Root& root = plan_.roots[value.root];
        absl::StrAppend(out, DataTypeName(root.dtype),
                        value.shape_known ? value.shape.ToString() : "");
      });
  const Status described(status.code(), absl::StrCat(status.message(), " [inputs: ", inputs,
                                                     "; device: ", device_name_, "]"));
  return AnnotateWithNode(described, *instruction.node);
}

Status StepRunner::PassOutputsOn(int position) {
  const Instruction& instruction = plan_.instructions[position];
  MS_TensorView* views = state_.views.data() + instruction.first_output_view;
  for (size_t k = 0; k < instruction.outputs.size(); ++k) {
    const Root& root = plan_.roots[instruction.outputs[k].root];
    if (root.kind != RootKind::kSlot) continue;
    const Tensor& tensor = state_.slots[root.index];
    views[k] = NullView();
    if (!tensor.has_value()) {
      const bool used = (instruction.outputs_used[k / 64] >> (k % 64)) & 1;
      if (used) return errors::Internal("the kernel did not set output ", k);
      continue;
    }
    state_.PointViews(root, tensor.raw(), &tensor);
  }
  return absl::OkStatus();
}

Status StepRunner::AfterCall(int position, uint32_t after) {
  if ((after & kAfterLocks) && ReleaseLeftLocks(&state_.contexts[position])) {
    return Annotate(position, errors::Internal("the kernel left variables locked"));
  }
  if (after & kAfterOutputs) {
    Status passed = PassOutputsOn(position);
    if (!passed.ok()) return Annotate(position, passed);
  }
  if (after & kAfterRelease) {
    for (int slot : plan_.instructions[position].release) state_.slots[slot] = Tensor();
  }
  return (after & kAfterCheck) ? CheckInterruption() : absl::OkStatus();
}

Status StepRunner::RunCalls() {
  const int count = static_cast<int>(plan_.calls.size());
  const Call* const calls = plan_.calls.data();
  MS_Frame* const frames = state_.frames.data();
  for (int begin = 0; begin < count; begin += kCallsBetweenChecks) {
    MS_RETURN_IF_ERROR(CheckInterruption());
    const int end = std::min(begin + kCallsBetweenChecks, count);
    for (int i = begin; i < end; ++i) {
      frames[i].step_id = state_.step_id;
      MS_Status* failed = calls[i].compute(calls[i].state, &frames[i]);
      if (failed != nullptr) {
        ReleaseLeftLocks(&state_.contexts[i]);
        return Annotate(i, TakeAbiStatus(failed));
      }
      if (calls[i].after != 0) MS_RETURN_IF_ERROR(AfterCall(i, calls[i].after));
      if (!state_.temps.empty()) state_.temps.clear();
    }
  }
  return absl::OkStatus();
}

Status StepRunner::TakeFetch(const FetchPlan& fetch, Tensor* out) {
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
      MS_ASSIGN_OR_RETURN(*out, shaped(state_.feeds[root.index]).DeepCopy());
      return absl::OkStatus();
    }
    case RootKind::kPlanned: {
      const Tensor in_slab(root.dtype, root.shape, state_.slab, root.offset);
      MS_ASSIGN_OR_RETURN(*out, shaped(in_slab).DeepCopy());
      return absl::OkStatus();
    }
    case RootKind::kEscaping:
    case RootKind::kSlot: break;
    case RootKind::kHandle:
      return AnnotateWithNode(
          errors::InvalidArgument("a resource handle cannot be fetched; fetch its value"),
          *root.source.node);
  }
  Tensor& slot = state_.slots[root.index];
  // An escaping root's buffer is also kept for reuse once the caller drops it; nobody reads it.
  const bool own = root.kind == RootKind::kEscaping || slot.buffer()->IsUnique();
  if (fetch.move && own && slot.buffer()->writable()) {
    *out = shaped(std::exchange(slot, Tensor()));
    return absl::OkStatus();
  }
  MS_ASSIGN_OR_RETURN(*out, shaped(slot).DeepCopy());
  return absl::OkStatus();
}

Status StepRunner::Fetch(absl::Span<Tensor> fetches) {
  for (size_t i = 0; i < plan_.fetches.size(); ++i) {
    MS_RETURN_IF_ERROR(TakeFetch(plan_.fetches[i], &fetches[i]));
  }
  return absl::OkStatus();
}

void StepRunner::End() {
  for (Tensor& slot : state_.slots) {
    if (slot.has_value()) slot = Tensor();
  }
  state_.temps.clear();
  state_.feeds = absl::Span<const Tensor>();
  state_.options = nullptr;
}

}  // namespace

Status ExecutePlan(Plan* plan, absl::string_view device_name, absl::Span<const Tensor> feeds,
                   absl::Span<Tensor> fetches, const RunOptions& options) {
  MS_ASSIGN_OR_RETURN(std::unique_ptr<StepState> state, plan->TakeState());
  StepRunner runner(plan, state.get(), device_name);
  state->holds_permit = plan->max_threads > 1 && ParallelPermit::TryAcquire();
  Status status = runner.Begin(feeds, options);
  if (status.ok()) status = runner.RunCalls();
  if (state->holds_permit) ParallelPermit::Release();
  if (status.ok()) status = runner.Fetch(fetches);
  runner.End();
  // A step that failed half way leaves views of tensors that are gone: its state is not used again.
  if (status.ok()) plan->ReturnState(std::move(state));
  return status;
}

}  // namespace millstream
