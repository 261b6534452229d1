#include "core/gradients/formula.h"

#include <algorithm>
#include <utility>

namespace millstream {

Output Formula::Argument(const Output& value) {
  const Output argument = builder_->Op("Identity", {value});
  if (argument) arguments_.push_back(argument);
  return argument;
}

// Nodes that are older than the arguments are not of the formula. Inputs are older than what reads
// them, so that one pass over the nodes, the oldest first, finds those that arguments lead to.
std::vector<const Node*> Formula::FindNodesBetween(const std::vector<Output>& ys) {
  for (const Output& argument : arguments_) between_.insert(argument.node);
  std::vector<const Node*> nodes;
  absl::flat_hash_set<const Node*> seen = between_;
  const auto visit = [&](const Node* node) {
    if (node->id() > arguments_[0].node->id() && seen.insert(node).second) nodes.push_back(node);
  };
  for (const Output& y : ys) visit(y.node);
  for (size_t i = 0; i < nodes.size(); ++i) {
    for (const Output& input : nodes[i]->inputs()) visit(input.node);
  }
  std::sort(nodes.begin(), nodes.end(),
            [](const Node* a, const Node* b) { return a->id() < b->id(); });
  std::vector<const Node*> found;
  for (const Node* const node : nodes) {
    const bool depends =
        std::any_of(node->inputs().begin(), node->inputs().end(),
                    [&](const Output& input) { return between_.contains(input.node); });
    if (!depends) continue;
    between_.insert(node);
    found.push_back(node);
  }
  std::reverse(found.begin(), found.end());
  return found;
}

Gradient Formula::Total(const Output& output) {
  const auto found = parts_.find(output);
  if (found == parts_.end()) return Gradient();
  if (found->second.size() == 1) return found->second[0];
  std::vector<Output> dense;
  for (const Gradient& part : found->second) dense.push_back(DenseGradient(builder_, part));
  const Node* const sum = builder_->Variadic("AddN", {dense});
  return Gradient{sum == nullptr ? Output() : sum->output(0), {}, {}};
}

Status Formula::Visit(const Node* node) {
  std::vector<Output> outputs;
  std::vector<Gradient> dy;
  bool any = false;
  for (int i = 0; i < node->num_outputs(); ++i) {
    outputs.push_back(node->output(i));
    dy.push_back(Total(node->output(i)));
    any = any || !dy.back().is_none();
  }
  if (!any) return builder_->status();
  MS_ASSIGN_OR_RETURN(const GradientFunction function, FindGradient(node->op().name));
  if (function == nullptr) return builder_->status();
  GradientContext context(node->call(), node->inputs(), std::move(outputs), std::move(dy),
                          builder_);
  MS_RETURN_IF_ERROR(function(&context));
  MS_RETURN_IF_ERROR(builder_->status());
  for (int i = 0; i < node->num_inputs(); ++i) {
    const Output& input = node->input(i);
    if (!between_.contains(input.node)) continue;
    if (context.lacks_dx(i)) {
      return errors::NotFound("no gradient function is registered for op ", node->op().name,
                              " by input ", i);
    }
    if (!context.dx()[i].is_none()) parts_[input].push_back(context.dx()[i]);
  }
  return absl::OkStatus();
}

Status Formula::Differentiate(const std::vector<Output>& ys, const std::vector<Output>& dys) {
  MS_RETURN_IF_ERROR(builder_->status());
  if (arguments_.empty()) return absl::OkStatus();
  for (size_t i = 0; i < ys.size(); ++i) {
    if (dys[i]) parts_[ys[i]].push_back(Gradient{dys[i], {}, {}});
  }
  for (const Node* const node : FindNodesBetween(ys)) MS_RETURN_IF_ERROR(Visit(node));
  for (const Output& argument : arguments_) {
    gradients_[argument] = DenseGradient(builder_, Total(argument));
  }
  return builder_->status();
}

Output Formula::GradientOf(const Output& argument) const {
  const auto found = gradients_.find(argument);
  return found == gradients_.end() ? Output() : found->second;
}

}  // namespace millstream
