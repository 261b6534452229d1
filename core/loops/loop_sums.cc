#include "core/loops/loop_sums.h"

#include <optional>
#include <utility>

#include "absl/algorithm/container.h"
#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "core/loops/graph_copy.h"

namespace millstream {
namespace {

class SumFinder {
 public:
  explicit SumFinder(const LoopForm& form) : form_(form) {
    for (const std::vector<StepItem>* items : {&form.before, &form.body}) {
      for (const StepItem& item : *items) {
        for (const Output& input : item.inputs) ++readers_[input];
        awaited_.insert(item.controls.begin(), item.controls.end());
      }
    }
    for (const StepItem& item : form.body) {
      for (const Output& output : item.outputs) producers_[output] = &item;
    }
    for (const CarriedValue& variable : form.variables) ++readers_[variable.next->input(0)];
    ++readers_[form.condition->input(0)];
    awaited_.insert(form.ends_before.begin(), form.ends_before.end());
    awaited_.insert(form.ends_body.begin(), form.ends_body.end());
  }

  std::optional<SummingVariable> At(size_t k) const {
    const CarriedValue& variable = form_.variables[k];
    const StepItem* const sum = OnlyReadProducer(variable.next->input(0), "AddN");
    if (sum == nullptr || sum->inputs.size() != 2) return std::nullopt;
    if (ReadersOf(variable) != 1) return std::nullopt;
    SummingVariable found{k, std::nullopt, {}, *sum};
    int place = 0;
    while (place < 2 && !LeadsTo(sum->inputs[place], variable, &found.identity)) ++place;
    if (place == 2) return std::nullopt;
    const StepItem* const product = OnlyReadProducer(sum->inputs[1 - place], "MatMul");
    if (product == nullptr) return std::nullopt;
    const bool transpose_a = product->node->Attr<bool>("transpose_a").value_or(false);
    const bool transpose_b = product->node->Attr<bool>("transpose_b").value_or(true);
    if (!transpose_a || transpose_b) return std::nullopt;
    found.product = *product;
    return found;
  }

 private:
  int Readers(const Output& value) const {
    const auto found = readers_.find(value);
    return found == readers_.end() ? 0 : found->second;
  }
  static bool IsValueOf(const CarriedValue& variable, const Output& value) {
    return value == variable.merge->output(0) ||
           (variable.branch != nullptr && value == variable.branch->output(1));
  }
  // True if the value is the variable's, perhaps after an Identity.
  bool LeadsTo(const Output& value, const CarriedValue& variable,
               std::optional<StepItem>* identity) const {
    if (IsValueOf(variable, value)) return true;
    const StepItem* const item = OnlyReadProducer(value, "Identity");
    if (item == nullptr || !IsValueOf(variable, item->inputs[0])) return false;
    *identity = *item;
    return true;
  }
  int ReadersOf(const CarriedValue& variable) const {
    const int merged = Readers(variable.merge->output(0));
    return variable.branch == nullptr ? merged : merged + Readers(variable.branch->output(1));
  }
  // The item of `op` that computes the value for one reader, and that no control edge concerns.
  const StepItem* OnlyReadProducer(const Output& value, const char* op) const {
    const auto found = producers_.find(value);
    if (found == producers_.end() || Readers(value) != 1) return nullptr;
    const StepItem& item = *found->second;
    if (item.is_inner() || item.node->op().name != op || !item.controls.empty()) return nullptr;
    if (awaited_.contains(item.node) || FindAttr(item.node->attrs(), "_kernel") != nullptr) {
      return nullptr;
    }
    return &item;
  }

  const LoopForm& form_;
  absl::flat_hash_map<Output, int> readers_;
  absl::flat_hash_map<Output, const StepItem*> producers_;
  absl::flat_hash_set<const Node*> awaited_;
};

}  // namespace

std::vector<SummingVariable> FindSums(const LoopForm& form) {
  const SumFinder finder(form);
  std::vector<SummingVariable> found;
  for (size_t k = 0; k < form.variables.size(); ++k) {
    // What does not leave the loop is not computed.
    if (!absl::c_linear_search(form.exits, static_cast<int>(k))) continue;
    std::optional<SummingVariable> summing = finder.At(k);
    if (summing.has_value()) found.push_back(*std::move(summing));
  }
  return found;
}

StatusOr<InnerGraph> MakeSumGraph(const SummingVariable& summing, const CarriedValue& variable) {
  GraphCopy copy;
  StepSignature signature;
  const Output merged = variable.merge->output(0);
  MS_ASSIGN_OR_RETURN(const Output so_far, copy.AddFeed(merged, variable.merge->name()));
  if (variable.branch != nullptr) copy.Bind(variable.branch->output(1), so_far);
  signature.feeds.push_back(so_far);
  for (const Output& operand : summing.product.inputs) {
    MS_ASSIGN_OR_RETURN(const Output feed, copy.AddFeed(operand, operand.node->name()));
    signature.feeds.push_back(feed);
  }
  if (summing.identity.has_value()) MS_RETURN_IF_ERROR(copy.Add(*summing.identity));
  MS_RETURN_IF_ERROR(copy.Add(summing.product));
  MS_RETURN_IF_ERROR(copy.Add(summing.sum));
  signature.fetches.push_back(copy.Of(summing.sum.outputs[0]));
  InnerGraph graph;
  graph.graph = copy.TakeGraph();
  graph.pruned = copy.TakePruned();
  graph.signature = std::move(signature);
  return graph;
}

}  // namespace millstream
