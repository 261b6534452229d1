#include "core/loops/loop_parts.h"

#include <memory>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_set.h"
#include "core/loops/graph_copy.h"

namespace millstream {
namespace {

// Builds one graph of the loop.
class PartBuilder {
 public:
  explicit PartBuilder(const LoopForm& form) : form_(form) {}

  // The feeds, and what the loop copies from outside.
  Status Begin() {
    for (const CarriedValue& variable : form_.variables) {
      const Output merged = variable.merge->output(0);
      MS_ASSIGN_OR_RETURN(const Output feed, copy_.AddFeed(merged, variable.merge->name()));
      if (variable.branch != nullptr) copy_.Bind(variable.branch->output(1), feed);
      signature_.feeds.push_back(feed);
    }
    for (const LoopInvariant& invariant : form_.invariants) {
      if (invariant.is_source) {
        MS_RETURN_IF_ERROR(copy_.AddSource(invariant.inside));
      } else {
        MS_ASSIGN_OR_RETURN(const Output feed,
                            copy_.AddFeed(invariant.inside, invariant.inside.node->name()));
        signature_.feeds.push_back(feed);
      }
    }
    return absl::OkStatus();
  }

  Status Add(const std::vector<StepItem>& items, const std::vector<const Node*>& ends) {
    for (const StepItem& item : items) MS_RETURN_IF_ERROR(copy_.Add(item));
    for (const Node* node : ends) {
      const Node* const target = copy_.Of(node);
      if (is_target_.insert(target).second) signature_.targets.push_back(target);
    }
    return absl::OkStatus();
  }

  // The results of the body are the values that the condition reads.
  void PassOn() {
    std::vector<Output> next;
    for (const CarriedValue& variable : form_.variables) {
      next.push_back(copy_.Of(variable.next->input(0)));
    }
    for (size_t k = 0; k < next.size(); ++k) {
      const Node* const merge = form_.variables[k].merge;
      copy_.Bind(merge->output(0), next[k]);
      copy_.Bind(merge, next[k].node);
      signature_.fetches.push_back(next[k]);
    }
  }

  InnerGraph Finish() {
    signature_.fetches.push_back(copy_.Of(form_.condition->input(0)));
    InnerGraph part;
    part.graph = copy_.TakeGraph();
    part.pruned = copy_.TakePruned();
    part.signature = std::move(signature_);
    return part;
  }

 private:
  const LoopForm& form_;
  GraphCopy copy_;
  StepSignature signature_;
  absl::flat_hash_set<const Node*> is_target_;
};

}  // namespace

StatusOr<StepItem> MakeLoopItem(const LoopForm& form, const std::string& frame,
                                const std::vector<StepItem>& exits) {
  auto loop = std::make_shared<LoopBody>();
  loop->frame = frame;
  loop->num_variables = static_cast<int>(form.variables.size());
  loop->exits = form.exits;
  PartBuilder condition(form);
  MS_RETURN_IF_ERROR(condition.Begin());
  MS_RETURN_IF_ERROR(condition.Add(form.before, form.ends_before));
  loop->condition = condition.Finish();
  PartBuilder iteration(form);
  MS_RETURN_IF_ERROR(iteration.Begin());
  MS_RETURN_IF_ERROR(iteration.Add(form.body, form.ends_body));
  iteration.PassOn();
  MS_RETURN_IF_ERROR(iteration.Add(form.before, form.ends_before));
  loop->iteration = iteration.Finish();

  StepItem item;
  item.node = form.condition;
  item.controls = form.controls;
  for (const CarriedValue& variable : form.variables) item.inputs.push_back(variable.initial);
  for (const LoopInvariant& invariant : form.invariants) {
    if (!invariant.is_source) item.inputs.push_back(invariant.outside);
  }
  for (const StepItem& exit : exits) {
    item.outputs.push_back(exit.outputs[0]);
    item.stands_for.push_back(exit.node);
  }
  item.loop = std::move(loop);
  return item;
}

}  // namespace millstream
