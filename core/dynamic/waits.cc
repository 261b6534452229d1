// The messages about a run that cannot continue: its waiting nodes and their missing inputs.
#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/strings/str_cat.h"
#include "absl/types/span.h"
#include "core/dynamic/dynamic_run.h"
#include "core/dynamic/standstill.h"
#include "core/partition/rendezvous.h"

namespace millstream {
namespace {

// The limit of collected waits; messages show fewer lines.
constexpr size_t kEnoughWaits = 100;

std::string InLoop(const Iteration& iteration) {
  if (iteration.frame->parent == nullptr) return "";
  return absl::StrCat(", in iteration ", iteration.number, " of frame '",
                      iteration.frame->program->name, "'");
}

// What a kernel waits for may have changed since it began.
std::string WaitsForNow(Execution* execution) {
  if (execution->waits_for.empty()) return "";
  const NodeProgram& node = *execution->program;
  return node.kernel->registration().waits_for(node.state, &execution->frame);
}

}  // namespace

// Lists the executions on other threads, for which the other nodes wait. If there are none, lists
// the nodes that have not run, inner loops first and in topological order, so that the cause is
// among the first.
std::vector<std::string> DynamicRun::WaitsFor() const {
  if (device_ != nullptr && device_->IsWaiting()) return {device_->WaitsFor()};
  std::vector<std::string> waits;
  for (const std::unique_ptr<Execution>& execution : state_->executions) {
    if (!execution->is_active) continue;
    waits.push_back(
        absl::StrCat(DescribeWait(*execution->node, device_name_, WaitsForNow(execution.get())),
                     InLoop(*execution->iteration)));
  }
  if (!waits.empty() || root_ == nullptr) return waits;
  std::vector<const RunningFrame*> frames = {root_->frame};
  for (size_t i = 0; i < frames.size() && i < kEnoughWaits; ++i) {
    for (const Iteration* at = frames[i]->oldest; at != nullptr; at = at->next) {
      for (uint32_t child = 0; child < frames[i]->program->num_children; ++child) {
        if (at->children[child] != nullptr) frames.push_back(at->children[child]);
      }
    }
  }
  for (auto frame = frames.rbegin(); frame != frames.rend(); ++frame) AddWaits(**frame, &waits);
  return waits;
}

std::string DynamicRun::RunsNow() const {
  const NodeProgram* const last = last_;
  return last == nullptr ? "" : absl::StrCat(last->node->Describe(), ", on ", device_name_);
}

bool DynamicRun::IsMissing(const Output& input, const ValueSource& source,
                           const Iteration& iteration) const {
  switch (source.place) {
    case ValuePlace::kSlot: break;
    case ValuePlace::kInvariant:
      return iteration.frame->invariant_states[source.index] == RunningFrame::kAwaited;
    case ValuePlace::kConstant:
    case ValuePlace::kFeed: return false;
  }
  if (iteration.slots[source.index].uses > 0) return false;
  // A dead input has arrived too, but its slot is empty.
  const auto maker = absl::c_find_if(
      program_.nodes, [&](const NodeProgram& node) { return node.node == input.node; });
  const bool is_here = &program_.frames[maker->frame] == iteration.frame->program &&
                       maker->action != NodeAction::kNextIteration;
  return !is_here || !iteration.pending[maker->local].HasBegun(maker->action);
}

// A node of the same iteration that the node waits for without taking anything from it; null: none.
const NodeProgram* DynamicRun::MissingControl(const NodeProgram& node,
                                              const Iteration& iteration) const {
  const auto number = static_cast<size_t>(&node - program_.nodes.data());
  for (const NodeProgram& other : program_.nodes) {
    if (&program_.frames[other.frame] != iteration.frame->program) continue;
    if (iteration.pending[other.local].HasBegun(other.action)) continue;
    const auto edges =
        absl::MakeSpan(program_.edges).subspan(other.first_control_edge, other.num_control_edges);
    if (absl::c_any_of(edges, [&](const WaitEdge& edge) { return edge.node == number; })) {
      return &other;
    }
  }
  return nullptr;
}

std::string DynamicRun::DescribeMissing(const NodeProgram& node, const Iteration& iteration) const {
  std::string text = absl::StrCat(node.node->Describe(), ", on ", device_name_, ", waits for ");
  for (uint32_t i = 0; i < node.num_inputs; ++i) {
    const Output& input = node.node->input(static_cast<int>(i));
    if (!IsMissing(input, program_.inputs[node.first_input + i], iteration)) continue;
    return absl::StrCat(text, input.name());
  }
  const NodeProgram* const control = MissingControl(node, iteration);
  if (control == nullptr) return absl::StrCat(text, "a control input");
  return absl::StrCat(text, "'", control->node->name(), "' to have run");
}

std::string DynamicRun::DescribeWaiting(const NodeProgram& node, const Iteration& iteration) const {
  return absl::StrCat(DescribeMissing(node, iteration), InLoop(iteration));
}

// The nodes of one running frame that have not run.
void DynamicRun::AddWaits(const RunningFrame& frame, std::vector<std::string>* waits) const {
  const size_t number = static_cast<size_t>(frame.program - program_.frames.data());
  for (const Iteration* at = frame.oldest; at != nullptr; at = at->next) {
    for (const NodeProgram& node : program_.nodes) {
      if (waits->size() == kEnoughWaits) return;
      if (node.frame != number || at->pending[node.local].HasBegun(node.action)) continue;
      waits->push_back(DescribeWaiting(node, *at));
    }
  }
}

// Called when no node of the iteration can run any more, but some have not run. Fails the step if
// it cannot continue without them; else records the Exits that are cut off.
bool DynamicRun::FailIfStuck(const Iteration& iteration) {
  const Standstill found = FindStandstill(program_, iteration);
  if (!found.is_stuck && found.exits.empty()) return false;
  RunningFrame* const frame = iteration.frame;
  std::vector<std::string> waits;
  if (found.is_stuck || frame->cut_off.empty()) {
    for (const uint32_t node : found.waiting) {
      if (waits.size() == kEnoughWaits) break;
      waits.push_back(DescribeWaiting(program_.nodes[node], iteration));
    }
  }
  if (found.is_stuck) return EndStuck(waits);
  if (frame->cut_off.empty()) frame->cut_off = std::move(waits);
  for (const uint32_t exit : found.exits) {
    if (frame->exits[exit] == RunningFrame::kOpen) frame->exits[exit] = RunningFrame::kCutOff;
  }
  return false;
}

// Called when no iteration of the frame is left. Fails the step if an Exit was cut off: it is not
// dead, but its value was lost.
bool DynamicRun::FailIfCutOff(const RunningFrame& frame) {
  const auto* const begin = frame.exits.get();
  const auto* const end = begin + frame.program->exits.size();
  if (frame.cut_off.empty() || std::find(begin, end, RunningFrame::kCutOff) == end) return false;
  return EndStuck(frame.cut_off);
}

bool DynamicRun::EndStuck(const std::vector<std::string>& waits) {
  step->Fail(StuckStepError(waits));
  state_->ready.Clear();
  return true;
}

}  // namespace millstream
