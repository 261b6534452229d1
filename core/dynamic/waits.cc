// What a run that cannot go on waits for.
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "core/dynamic/dynamic_run.h"
#include "core/rendezvous.h"

namespace millstream {
namespace {

// More than a message has lines.
constexpr size_t kEnoughWaits = 100;

bool HasBegun(const NodeProgram& node, const Pending& pending) {
  return pending.waits == (node.action == NodeAction::kMerge ? Pending::kTooLate : 0);
}

}  // namespace

// What runs beside the run, which is where the rest would come from; else what has not run, inner
// loops first and nodes in an order in which but for loops every edge points forward: what keeps
// the others waiting is among the first.
std::vector<std::string> DynamicRun::WaitsFor() const {
  if (device_ != nullptr && device_->IsWaiting()) return {device_->WaitsFor()};
  std::vector<std::string> waits;
  for (const std::unique_ptr<Execution>& execution : state_->executions) {
    if (execution->is_active) waits.push_back(DescribeWait(*execution->node, device_name_));
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

bool DynamicRun::IsMissing(const ValueSource& source, const Iteration& iteration) const {
  switch (source.place) {
    case ValuePlace::kSlot: return iteration.slots[source.index].uses == 0;
    case ValuePlace::kInvariant:
      return iteration.frame->invariant_states[source.index] == RunningFrame::kAwaited;
    case ValuePlace::kConstant:
    case ValuePlace::kFeed: break;
  }
  return false;
}

std::string DynamicRun::DescribeMissing(const NodeProgram& node, const Iteration& iteration) const {
  std::string text = absl::StrCat(node.node->Describe(), ", on ", device_name_, ", waits for ");
  for (uint32_t i = 0; i < node.num_inputs; ++i) {
    if (!IsMissing(program_.inputs[node.first_input + i], iteration)) continue;
    return absl::StrCat(text, node.node->input(static_cast<int>(i)).name());
  }
  return absl::StrCat(text, "a control input");
}

// The nodes of one running frame that have not run.
void DynamicRun::AddWaits(const RunningFrame& frame, std::vector<std::string>* waits) const {
  const size_t number = static_cast<size_t>(frame.program - program_.frames.data());
  for (const Iteration* at = frame.oldest; at != nullptr; at = at->next) {
    for (const NodeProgram& node : program_.nodes) {
      if (waits->size() == kEnoughWaits) return;
      if (node.frame != number || HasBegun(node, at->pending[node.local])) continue;
      std::string wait = DescribeMissing(node, *at);
      if (number > 0) absl::StrAppend(&wait, ", in iteration ", at->number, " of its loop");
      waits->push_back(std::move(wait));
    }
  }
}

}  // namespace millstream
