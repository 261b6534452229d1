#include "core/passes/row_counters.h"

#include <algorithm>
#include <cstdlib>

#include "core/graph/structural_role.h"

namespace millstream {
namespace {

constexpr int64_t kForever = std::numeric_limits<int64_t>::max();

bool IsAddition(const std::string& op) { return op == "Add" || op == "AddV2"; }

std::optional<Counted> Sum(const std::string& op, const Counted& x, const Counted& y) {
  const bool subtracts = op == "Sub";
  if (!subtracts && !IsAddition(op)) return std::nullopt;
  if (y.counter >= 0 && (subtracts || x.counter >= 0)) return std::nullopt;
  const Counted sum = {std::max(x.counter, y.counter),
                       subtracts ? x.added - y.added : x.added + y.added};
  return std::abs(sum.added) <= kLargestCounted ? std::make_optional(sum) : std::nullopt;
}

}  // namespace

bool IsIndexType(DataType dtype) { return dtype == DataType::kInt32 || dtype == DataType::kInt64; }

std::optional<int64_t> IndexScalar(const Tensor* tensor) {
  if (tensor == nullptr || tensor->shape().rank() != 0 || !IsIndexType(tensor->dtype())) {
    return std::nullopt;
  }
  const int64_t value = tensor->dtype() == DataType::kInt32 ? int64_t{*tensor->data<int32_t>()}
                                                            : *tensor->data<int64_t>();
  return std::abs(value) <= kLargestCounted ? std::make_optional(value) : std::nullopt;
}

Tensor IndexTensor(DataType dtype, int64_t number) {
  return dtype == DataType::kInt32 ? Tensor::Scalar<int32_t>(static_cast<int32_t>(number))
                                   : Tensor::Scalar<int64_t>(number);
}

std::optional<int64_t> TimesHeld(const std::string& op, const Progression& x, int64_t end) {
  const bool is_less = op == "Less" || op == "LessEqual";
  if (!is_less && op != "Greater" && op != "GreaterEqual") return std::nullopt;
  const bool is_equal_allowed = op == "LessEqual" || op == "GreaterEqual";
  const int64_t way = (is_less ? end - x.first : x.first - end) + (is_equal_allowed ? 1 : 0);
  if (way <= 0) return 0;
  const int64_t nearer = is_less ? x.step : -x.step;
  return nearer <= 0 ? kForever : (way + nearer - 1) / nearer;
}

std::string Turned(const std::string& comparison) {
  if (comparison == "Less") return "Greater";
  if (comparison == "LessEqual") return "GreaterEqual";
  if (comparison == "Greater") return "Less";
  return comparison == "GreaterEqual" ? "LessEqual" : comparison;
}

Integers::Integers(const StepOps& ops, const StepOp& op, const LoopBody& loop,
                   const InnerGraph& graph) {
  const std::vector<Output>& feeds = graph.signature.feeds;
  for (size_t i = 0; i < feeds.size(); ++i) {
    if (!IsIndexType(feeds[i].dtype())) continue;
    const std::optional<int64_t> known = IndexScalar(ops.constant(op.inputs[i]));
    if (static_cast<int>(i) < loop.num_variables) {
      if (known.has_value()) values_[feeds[i]] = {static_cast<int>(i), 0};
    } else if (known.has_value()) {
      values_[feeds[i]] = {-1, *known};
    }
  }
}

std::optional<Counted> Integers::Find(const Output& value) const {
  const auto found = values_.find(value);
  if (found != values_.end()) return found->second;
  const std::optional<int64_t> known = IndexScalar(Graph::ConstantValue(value));
  return known.has_value() ? std::make_optional(Counted{-1, *known}) : std::nullopt;
}

bool Integers::Add(const Node& node) {
  std::optional<Counted> result;
  if (RoleOf(node.op().name) == StructuralRole::kIdentity && node.num_inputs() == 1) {
    result = Find(node.input(0));
  } else if (node.num_inputs() == 2 && node.num_outputs() == 1) {
    const std::optional<Counted> x = Find(node.input(0));
    const std::optional<Counted> y = Find(node.input(1));
    if (x.has_value() && y.has_value()) result = Sum(node.op().name, *x, *y);
  }
  if (result.has_value()) values_[node.output(0)] = *result;
  return result.has_value();
}

Progression ValuesOf(const Counted& value, const absl::flat_hash_map<int, Progression>& counters) {
  if (value.counter < 0) return {value.added, 0};
  const Progression& counter = counters.at(value.counter);
  return {counter.first + value.added, counter.step};
}

namespace {

// `held`: how many times in a row other conditions hold.
std::optional<int64_t> TimesOf(const Node& node, const Integers& integers,
                               const absl::flat_hash_map<int, Progression>& counters,
                               const absl::flat_hash_map<Output, int64_t>& held) {
  const std::string& op = node.op().name;
  if (op == "LogicalAnd") {
    const auto x = held.find(node.input(0));
    const auto y = held.find(node.input(1));
    if (x == held.end() || y == held.end()) return std::nullopt;
    return std::min(x->second, y->second);
  }
  const std::optional<Counted> x = integers.Find(node.input(0));
  const std::optional<Counted> y = integers.Find(node.input(1));
  if (!x.has_value() || !y.has_value() || (x->counter >= 0 && y->counter >= 0)) {
    return std::nullopt;
  }
  if (x->counter < 0 && y->counter >= 0) {
    return TimesHeld(Turned(op), ValuesOf(*y, counters), x->added);
  }
  return TimesHeld(op, ValuesOf(*x, counters), y->added);
}

}  // namespace

std::optional<int64_t> CountIterations(const InnerGraph& condition, Integers integers,
                                       const absl::flat_hash_map<int, Progression>& counters) {
  absl::flat_hash_map<Output, int64_t> held;
  for (const Node* node : condition.pruned.nodes) {
    if (integers.Add(*node) || node->num_outputs() != 1) continue;
    if (RoleOf(node->op().name) == StructuralRole::kIdentity) {
      const auto found = held.find(node->input(0));
      if (found == held.end()) continue;
      const int64_t times = found->second;
      held[node->output(0)] = times;
    } else if (node->num_inputs() == 2) {
      const std::optional<int64_t> times = TimesOf(*node, integers, counters, held);
      if (times.has_value()) held[node->output(0)] = *times;
    }
  }
  const auto found = held.find(condition.signature.fetches[0]);
  return found == held.end() ? std::nullopt : std::make_optional(found->second);
}

}  // namespace millstream
