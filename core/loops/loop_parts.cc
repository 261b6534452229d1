#include "core/loops/loop_parts.h"

#include <memory>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_set.h"
#include "core/loops/graph_copy.h"
#include "core/loops/loop_sums.h"

namespace millstream {
namespace {

// Builds one graph of the loop.
class PartBuilder {
 public:
  PartBuilder(const LoopForm& form, const std::vector<SummingVariable>& sums)
      : form_(form), sums_(sums) {
    for (const SummingVariable& summing : sums) {
      is_sum_.insert(summing.variable);
      left_out_.insert({summing.product.node, summing.sum.node});
      if (summing.identity.has_value()) left_out_.insert(summing.identity->node);
    }
  }

  // The feeds, and what the loop copies from outside.
  Status Begin() {
    for (size_t k = 0; k < form_.variables.size(); ++k) {
      if (is_sum_.contains(k)) continue;
      const CarriedValue& variable = form_.variables[k];
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
    for (const StepItem& item : items) {
      if (!left_out_.contains(item.node)) MS_RETURN_IF_ERROR(copy_.Add(item));
    }
    for (const Node* node : ends) {
      const Node* const target = copy_.Of(node);
      if (is_target_.insert(target).second) signature_.targets.push_back(target);
    }
    return absl::OkStatus();
  }

  // As they are in this iteration.
  void NoteOperandsOfSums() {
    for (const SummingVariable& summing : sums_) {
      for (const Output& operand : summing.product.inputs) operands_.push_back(copy_.Of(operand));
    }
  }

  // The results of the body are the values that the condition reads.
  void PassOn() {
    for (size_t k = 0; k < form_.variables.size(); ++k) {
      if (!is_sum_.contains(k)) {
        signature_.fetches.push_back(copy_.Of(form_.variables[k].next->input(0)));
      }
    }
    auto next = signature_.fetches.begin();
    for (size_t k = 0; k < form_.variables.size(); ++k) {
      if (is_sum_.contains(k)) continue;
      const Node* const merge = form_.variables[k].merge;
      copy_.Bind(merge->output(0), *next);
      copy_.Bind(merge, next->node);
      ++next;
    }
  }

  void FetchCondition() { signature_.fetches.push_back(copy_.Of(form_.condition->input(0))); }
  void FetchOperandsOfSums() {
    signature_.fetches.insert(signature_.fetches.end(), operands_.begin(), operands_.end());
  }

  InnerGraph Finish() {
    InnerGraph part;
    part.graph = copy_.TakeGraph();
    part.pruned = copy_.TakePruned();
    part.signature = std::move(signature_);
    return part;
  }

 private:
  const LoopForm& form_;
  const std::vector<SummingVariable>& sums_;
  absl::flat_hash_set<size_t> is_sum_;
  absl::flat_hash_set<const Node*> left_out_;
  std::vector<Output> operands_;
  GraphCopy copy_;
  StepSignature signature_;
  absl::flat_hash_set<const Node*> is_target_;
};

}  // namespace

StatusOr<StepItem> MakeLoopItem(const LoopForm& form, const std::string& frame,
                                const std::vector<StepItem>& exits, bool joins_sums) {
  std::vector<SummingVariable> sums;
  if (joins_sums) sums = FindSums(form);
  auto loop = std::make_shared<LoopBody>();
  loop->frame = frame;
  loop->num_variables = static_cast<int>(form.variables.size() - sums.size());
  PartBuilder condition(form, sums);
  MS_RETURN_IF_ERROR(condition.Begin());
  MS_RETURN_IF_ERROR(condition.Add(form.before, form.ends_before));
  condition.FetchCondition();
  loop->condition = condition.Finish();
  PartBuilder iteration(form, sums);
  MS_RETURN_IF_ERROR(iteration.Begin());
  MS_RETURN_IF_ERROR(iteration.Add(form.body, form.ends_body));
  iteration.NoteOperandsOfSums();
  iteration.PassOn();
  MS_RETURN_IF_ERROR(iteration.Add(form.before, form.ends_before));
  iteration.FetchCondition();
  iteration.FetchOperandsOfSums();
  loop->iteration = iteration.Finish();

  StepItem item;
  item.node = form.condition;
  item.controls = form.controls;
  std::vector<int> input_of(form.variables.size(), -1);
  for (const SummingVariable& summing : sums) input_of[summing.variable] = 0;
  for (size_t k = 0; k < form.variables.size(); ++k) {
    if (input_of[k] == 0) continue;
    input_of[k] = static_cast<int>(item.inputs.size());
    item.inputs.push_back(form.variables[k].initial);
  }
  for (const LoopInvariant& invariant : form.invariants) {
    if (!invariant.is_source) item.inputs.push_back(invariant.outside);
  }
  for (const SummingVariable& summing : sums) {
    const CarriedValue& variable = form.variables[summing.variable];
    input_of[summing.variable] = static_cast<int>(item.inputs.size());
    item.inputs.push_back(variable.initial);
    MS_ASSIGN_OR_RETURN(InnerGraph graph, MakeSumGraph(summing, variable));
    loop->sums.push_back({std::move(graph)});
  }
  for (const int variable : form.exits) loop->exits.push_back(input_of[variable]);
  for (const StepItem& exit : exits) {
    item.outputs.push_back(exit.outputs[0]);
    item.stands_for.push_back(exit.node);
  }
  item.loop = std::move(loop);
  return item;
}

}  // namespace millstream
