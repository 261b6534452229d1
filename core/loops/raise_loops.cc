#include "core/loops/raise_loops.h"

#include <iterator>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/strings/str_cat.h"
#include "core/graph/control_flow.h"
#include "core/graph/frames.h"
#include "core/loops/graph_copy.h"
#include "core/loops/loop_form.h"
#include "core/loops/loop_parts.h"
#include "core/loops/raise_branches.h"
#include "core/loops/step_items.h"
#include "core/loops/unroll_loops.h"

namespace millstream {
namespace {

class LoopRaiser {
 public:
  LoopRaiser(const PrunedGraph& graph, const StepSignature& signature,
             const std::function<bool(const Node&)>& runs_at_once, bool joins_sums, bool unrolls)
      : graph_(graph), signature_(signature), joins_sums_(joins_sums), unrolls_(unrolls) {
    limits_.runs_at_once = runs_at_once;
    limits_.fed.insert(signature.feeds.begin(), signature.feeds.end());
    limits_.visible.insert(signature.targets.begin(), signature.targets.end());
    limits_.fetched.insert(signature.fetches.begin(), signature.fetches.end());
    for (const Output& fetch : signature.fetches) limits_.visible.insert(fetch.node);
  }

  StatusOr<std::unique_ptr<RaisedGraph>> Run();

 private:
  void CollectItems();
  Status Raise(int frame);
  StatusOr<std::unique_ptr<RaisedGraph>> Copy(std::vector<StepItem> items) const;

  const PrunedGraph& graph_;
  const StepSignature& signature_;
  const bool joins_sums_;
  const bool unrolls_;
  InnerLimits limits_;
  FrameTree tree_;
  std::vector<FrameItems> frames_;
  std::vector<bool> raised_;
  bool any_ = false;
  std::vector<bool> has_frames_;  // a loop inside of the frame did not become a node
};

void LoopRaiser::CollectItems() {
  frames_.resize(tree_.frames.size());
  for (size_t i = 0; i < graph_.nodes.size(); ++i) {
    StepItem item = StepItem::Of(graph_.nodes[i], graph_.controls[i]);
    switch (KindOf(*item.node)) {
      case ControlFlowKind::kEnter:
        frames_[tree_.output_frame[i]].enters.push_back(std::move(item));
        break;
      case ControlFlowKind::kExit:
        frames_[tree_.input_frame[i]].exits.push_back(std::move(item));
        break;
      default: frames_[tree_.input_frame[i]].inside.push_back(std::move(item));
    }
  }
}

// REQUIRES: it was tried for the frames inside of this one.
Status LoopRaiser::Raise(int frame) {
  const int parent = tree_.frames[frame].parent;
  FrameItems& items = frames_[frame];
  std::optional<LoopForm> form;
  if (!has_frames_[frame]) {
    MS_ASSIGN_OR_RETURN(const bool has_branches, RaiseBranches(limits_, &items.inside));
    any_ |= has_branches;
    form = FindLoopForm(items, limits_);
  }
  if (!form.has_value()) {
    has_frames_[parent] = true;
    return absl::OkStatus();
  }
  MS_ASSIGN_OR_RETURN(StepItem loop,
                      MakeLoopItem(*form, tree_.frames[frame].name, items.exits, joins_sums_));
  if (unrolls_ && parent == StaticFrame::kRoot) {
    loop.form = std::make_shared<const LoopForm>(*std::move(form));
  }
  frames_[parent].inside.push_back(std::move(loop));
  raised_[frame] = true;
  return absl::OkStatus();
}

StatusOr<std::unique_ptr<RaisedGraph>> LoopRaiser::Copy(std::vector<StepItem> items) const {
  GraphCopy copy;
  auto result = std::make_unique<RaisedGraph>();
  for (const Output& feed : signature_.feeds) {
    MS_ASSIGN_OR_RETURN(const Output stub,
                        copy.AddFeed(feed, absl::StrCat(feed.node->name(), "/_fed_", feed.index)));
    result->signature.feeds.push_back(stub);
  }
  // The dynamic executor, which control flow needs, runs a loop sooner than its iterations.
  const bool is_plan = absl::c_none_of(items, [](const StepItem& item) {
    return !item.is_inner() && NeedsDynamicExecutor(KindOf(*item.node));
  });
  LoopUnroller unroller(&copy, signature_.feeds, joins_sums_);
  for (const StepItem& item : items) {
    MS_RETURN_IF_ERROR(is_plan ? unroller.Add(item) : copy.Add(item));
  }
  MS_RETURN_IF_ERROR(copy.CloseLoops());
  for (const Output& fetch : signature_.fetches)
    result->signature.fetches.push_back(copy.Of(fetch));
  for (const Node* target : signature_.targets) {
    // A fed placeholder is no node of the step.
    if (const Node* const node = copy.Of(target)) result->signature.targets.push_back(node);
  }
  result->graph = copy.TakeGraph();
  result->pruned = copy.TakePruned();
  return result;
}

StatusOr<std::unique_ptr<RaisedGraph>> LoopRaiser::Run() {
  MS_ASSIGN_OR_RETURN(tree_, FindFrames(graph_, limits_.fed));
  CollectItems();
  raised_.resize(tree_.frames.size());
  has_frames_.resize(tree_.frames.size());
  // Parents stand before their children.
  for (int frame = static_cast<int>(tree_.frames.size()); --frame > StaticFrame::kRoot;) {
    MS_RETURN_IF_ERROR(Raise(frame));
  }
  if (!has_frames_[StaticFrame::kRoot]) {
    MS_ASSIGN_OR_RETURN(const bool has_branches, RaiseBranches(limits_, &frames_[0].inside));
    any_ |= has_branches;
  }
  std::vector<StepItem> items;
  for (size_t frame = 0; frame < frames_.size(); ++frame) {
    any_ |= raised_[frame];
    if (raised_[frame]) continue;
    for (std::vector<StepItem>* part :
         {&frames_[frame].enters, &frames_[frame].inside, &frames_[frame].exits}) {
      std::move(part->begin(), part->end(), std::back_inserter(items));
    }
  }
  if (!any_ || !Sort(&items)) return std::unique_ptr<RaisedGraph>();
  return Copy(std::move(items));
}

}  // namespace

StatusOr<std::unique_ptr<RaisedGraph>> RaiseLoops(
    const PrunedGraph& graph, const StepSignature& signature,
    const std::function<bool(const Node&)>& runs_at_once, bool joins_sums, bool unrolls) {
  return LoopRaiser(graph, signature, runs_at_once, joins_sums, unrolls).Run();
}

}  // namespace millstream
