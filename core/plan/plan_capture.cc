#include "core/plan/plan_capture.h"

#include <algorithm>
#include <utility>

#include "absl/algorithm/container.h"
#include "absl/strings/str_cat.h"
#include "core/host/host_ctx.h"
#include "core/plan/plan_executor.h"
#include "core/plan/step_state.h"
#include "framework/plugin/host_status.h"

namespace millstream {
namespace {

// Enqueuing one recorded kernel costs as much as calling it.
constexpr int kLeastRow = 2;

// A row whose work is recorded this often, because the device cannot follow its memory, is no
// faster than calls.
constexpr int kMostRecordings = 4;

// ---- Compilation ----

bool HasMemoryBefore(const Root& root) {
  return root.kind == RootKind::kPlanned || root.kind == RootKind::kEscaping;
}

bool MayMove(const Root& root) {
  return root.kind == RootKind::kSlot || root.kind == RootKind::kEscaping;
}

bool CanBeRecorded(const Plan& plan, size_t position) {
  const Instruction& instruction = plan.instructions[position];
  if (instruction.kernel == nullptr || instruction.checks != nullptr) return false;
  if (instruction.transfer != TransferKind::kNone) return false;
  if ((plan.calls[position].after & (kAfterOutputs | kAfterLocks | kAfterWait)) != 0) return false;
  if ((instruction.kernel->registration().flags & MS_KERNEL_CAPTURE_SAFE) == 0) return false;
  const auto is_fixed = [&plan](const ValueRef& input) {
    const Root& root = plan.roots[input.root];
    return input.shape_known && root.shape_known && root.kind != RootKind::kHandle &&
           (!root.in_host || root.kind == RootKind::kConstant);
  };
  const auto has_memory = [&plan](const ValueRef& output) {
    const Root& root = plan.roots[output.root];
    return output.shape_known && !root.in_host && HasMemoryBefore(root);
  };
  return absl::c_all_of(instruction.inputs, is_fixed) &&
         absl::c_all_of(instruction.outputs, has_memory);
}

// Whether the instruction can run at `begin` instead, and enqueues nothing on the compute stream
// but a wait.
bool CanRunFirst(const Plan& plan, size_t position, int begin) {
  const Instruction& instruction = plan.instructions[position];
  if (instruction.transfer == TransferKind::kToDevice) {
    return plan.roots[instruction.inputs[0].root].first < begin;
  }
  if (instruction.kernel == nullptr) return instruction.transfer == TransferKind::kNone;  // idle
  return plan.settings->features.variables && instruction.checks == nullptr &&
         instruction.node->op().name == "ReadVariableOp";
}

bool IsFirst(const CapturedRow& row, int position) {
  return std::binary_search(row.first.begin(), row.first.end(), position);
}

// The longest row that begins there. REQUIRES: this instruction can be recorded.
CapturedRow RowFrom(const Plan& plan, int begin) {
  CapturedRow row{begin, begin + 1, {}, {}};
  for (int i = begin + 1; i < static_cast<int>(plan.instructions.size()); ++i) {
    if (CanBeRecorded(plan, i)) {
      row.end = i + 1;
    } else if (CanRunFirst(plan, i, begin)) {
      row.first.push_back(i);
    } else {
      break;
    }
  }
  while (!row.first.empty() && row.first.back() >= row.end) row.first.pop_back();
  return row;
}

std::vector<int> MovingRoots(const Plan& plan, const CapturedRow& row) {
  std::vector<int> moving;
  const auto add = [&](const ValueRef& value) {
    const Root& root = plan.roots[value.root];
    if (!MayMove(root) || root.places.empty() || root.bytes() == 0) return;
    if (!absl::c_linear_search(moving, value.root)) moving.push_back(value.root);
  };
  for (int i = row.begin; i < row.end; ++i) {
    if (IsFirst(row, i)) continue;
    absl::c_for_each(plan.instructions[i].inputs, add);
    absl::c_for_each(plan.instructions[i].outputs, add);
  }
  return moving;
}

// ---- Steps ----

// Where the moving roots of the row are in this step.
std::vector<MS_MemRef> PlacesOf(const CapturedRow& row, const StepState& state) {
  std::vector<MS_MemRef> places;
  for (const int index : row.moving_roots) {
    const Root& root = state.plan->roots[index];
    MS_MemRef place = state.views[root.places.front().view].mem;
    place.bytes = root.bytes();
    places.push_back(place);
  }
  return places;
}

bool IsSame(const MS_MemRef& a, const MS_MemRef& b) {
  return a.base == b.base && a.offset == b.offset;
}

bool AreSame(const std::vector<MS_MemRef>& a, const std::vector<MS_MemRef>& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), IsSame);
}

std::vector<std::pair<size_t, size_t>> SharedPlaces(const std::vector<MS_MemRef>& places) {
  std::vector<std::pair<size_t, size_t>> shared;
  for (size_t a = 0; a < places.size(); ++a) {
    for (size_t b = a + 1; b < places.size(); ++b) {
      if (IsSame(places[a], places[b])) shared.emplace_back(a, b);
    }
  }
  return shared;
}

// What was one place when it was recorded must be one place now: the device knows them by it. Two
// variables that shared their memory then have it no longer.
bool CanFollow(const RowGraph& graph, const std::vector<MS_MemRef>& now) {
  return absl::c_all_of(graph.shared, [&](const std::pair<size_t, size_t>& pair) {
    const auto [a, b] = pair;
    return IsSame(now[a], now[b]) && graph.recorded[a].bytes == graph.recorded[b].bytes;
  });
}

std::vector<MS_MemChange> Changes(const std::vector<MS_MemRef>& recorded,
                                  const std::vector<MS_MemRef>& now) {
  std::vector<MS_MemChange> changes;
  for (size_t k = 0; k < recorded.size(); ++k) {
    if (!IsSame(recorded[k], now[k])) changes.push_back({recorded[k], now[k]});
  }
  return changes;
}

// Lets a frame enqueue on the stream that records, for a scope.
class RecordedFrame {
 public:
  RecordedFrame(const DeviceCapture::Target& target, MS_Frame* frame)
      : frame_(*frame), stream_(frame->stream), native_(frame->stream_native) {
    frame_.stream = target.stream;
    frame_.stream_native = target.native;
    frame_.flags |= MS_FRAME_CAPTURE;
  }
  ~RecordedFrame() {
    frame_.stream = stream_;
    frame_.stream_native = native_;
    frame_.flags &= ~uint64_t{MS_FRAME_CAPTURE};
  }
  RecordedFrame(const RecordedFrame&) = delete;
  RecordedFrame& operator=(const RecordedFrame&) = delete;

 private:
  MS_Frame& frame_;
  MS_Stream* const stream_;
  void* const native_;
};

}  // namespace

void FindCapturedRows(Plan* plan) {
  const bool can = plan->memory != nullptr && plan->memory->capture() != nullptr &&
                   plan->settings->features.capture;
  if (!can) return;
  const int count = static_cast<int>(plan->instructions.size());
  for (int i = 0; i < count; ++i) {
    if (!CanBeRecorded(*plan, i)) continue;
    CapturedRow row = RowFrom(*plan, i);
    i = row.end - 1;
    if (row.end - row.begin - static_cast<int>(row.first.size()) < kLeastRow) continue;
    row.moving_roots = MovingRoots(*plan, row);
    plan->instructions[row.begin].captured_row = static_cast<int>(plan->captured_rows.size());
    plan->captured_rows.push_back(std::move(row));
  }
}

Status PlanRun::RunFirst(const CapturedRow& row) {
  for (const int i : row.first) {
    state_->frames[i].step_id = step_->step_id();
    state_->position = i;
    if (MS_Status* failed = plan_.calls[i].compute(plan_.calls[i].state, &state_->frames[i])) {
      ReleaseLeftLocks(&state_->contexts[i]);
      return Annotate(i, TakeAbiStatus(failed));
    }
    MS_RETURN_IF_ERROR(AfterCall(i, plan_.calls[i].after & (kAfterOutputs | kAfterLocks)));
  }
  return absl::OkStatus();
}

Status PlanRun::RecordRow(const CapturedRow& row, RowGraph* graph) {
  const auto call_kernels = [&](const DeviceCapture::Target& target) -> Status {
    for (int i = row.begin; i < row.end; ++i) {
      if (IsFirst(row, i)) continue;
      MS_Frame& frame = state_->frames[i];
      frame.step_id = step_->step_id();
      state_->position = i;
      const RecordedFrame recorded(target, &frame);
      const Call& call = plan_.calls[i];
      const Status status = TakeAbiStatus(call.compute(call.state, &frame));
      if (status.ok()) continue;
      return Status(status.code(),
                    absl::StrCat(plan_.instructions[i].node->Describe(), ": ", status.message()));
    }
    return absl::OkStatus();
  };
  ++graph->num_recordings;
  MS_ASSIGN_OR_RETURN(graph->graph, plan_.memory->capture()->Record(call_kernels));
  return absl::OkStatus();
}

Status PlanRun::PrepareRow(const CapturedRow& row, RowGraph* graph) {
  std::vector<MS_MemRef> now = PlacesOf(row, *state_);
  if (graph->graph != nullptr && AreSame(graph->current, now)) return absl::OkStatus();
  if (graph->graph != nullptr && CanFollow(*graph, now)) {
    const Status moved = graph->graph->Update(Changes(graph->recorded, now));
    if (moved.ok()) {
      graph->current = std::move(now);
      return moved;
    }
    if (!absl::IsUnimplemented(moved)) return moved;
  }
  graph->graph = nullptr;
  if (graph->num_recordings == kMostRecordings) {
    return errors::Unimplemented("it was recorded ", kMostRecordings,
                                 " times, and its memory has moved each time");
  }
  MS_RETURN_IF_ERROR(RecordRow(row, graph));
  graph->shared = SharedPlaces(now);
  graph->recorded = now;
  graph->current = std::move(now);
  return absl::OkStatus();
}

StatusOr<int> PlanRun::ReplayRow(int number) {
  const CapturedRow& row = plan_.captured_rows[number];
  RowGraph& graph = state_->row_graphs[number];
  if (graph.is_given_up || !state_->has_run) return row.begin;
  MS_RETURN_IF_ERROR(RunFirst(row));
  Status enqueued = PrepareRow(row, &graph);
  if (enqueued.ok()) enqueued = graph.graph->Replay(plan_.memory->compute()->raw());
  if (!enqueued.ok()) {
    // Nothing was enqueued. If it is the device's fault, the kernels find out which of them fails.
    graph.graph = nullptr;
    graph.is_given_up = true;
    plan_.NoteNotCaptured(enqueued);
    return row.begin;
  }
  device_->EndWork(*plan_.instructions[row.begin].node, *plan_.instructions[row.end - 1].node);
  uint32_t after = 0;
  for (int i = row.begin; i < row.end; ++i) {
    after |= plan_.calls[i].after;
    MS_RETURN_IF_ERROR(AfterCall(i, plan_.calls[i].after & kAfterRelease));
  }
  state_->position = row.end - 1;
  MS_RETURN_IF_ERROR(AfterCall(row.end - 1, after & kAfterCheck));
  return row.end;
}

}  // namespace millstream
