#include "core/loops/unroll_loops.h"

#include <algorithm>
#include <cstdlib>
#include <iterator>
#include <limits>
#include <memory>
#include <string>
#include <utility>

#include "absl/algorithm/container.h"
#include "absl/container/flat_hash_set.h"
#include "absl/strings/match.h"
#include "core/graph/structural_role.h"
#include "core/loops/idle_iterations.h"
#include "core/loops/loop_sums.h"

namespace millstream {
namespace {

constexpr int kMostIterations = 64;
// Operations of all iterations. A plan takes time to be made, and more than that of a loop.
constexpr size_t kMostOperations = 4096;

std::optional<int64_t> ValueOf(const Tensor& tensor) {
  if (tensor.shape().rank() != 0) return std::nullopt;
  switch (tensor.dtype()) {
    case DataType::kInt32: return *tensor.data<int32_t>();
    case DataType::kInt64: return *tensor.data<int64_t>();
    case DataType::kBool: return *tensor.data<bool>() ? 1 : 0;
    default: return std::nullopt;
  }
}

struct Operation {
  absl::string_view op;
  int64_t (*function)(int64_t x, int64_t y);
};
// On numbers that are no larger than kLargest, so that none overflows.
constexpr int64_t kLargest = std::numeric_limits<int32_t>::max();
constexpr Operation kOperations[] = {
    {"Add", [](int64_t x, int64_t y) { return x + y; }},
    {"AddV2", [](int64_t x, int64_t y) { return x + y; }},
    {"Greater", [](int64_t x, int64_t y) -> int64_t { return x > y; }},
    {"GreaterEqual", [](int64_t x, int64_t y) -> int64_t { return x >= y; }},
    {"Less", [](int64_t x, int64_t y) -> int64_t { return x < y; }},
    {"LessEqual", [](int64_t x, int64_t y) -> int64_t { return x <= y; }},
    {"LogicalAnd", [](int64_t x, int64_t y) { return x & y; }},
    {"Maximum", [](int64_t x, int64_t y) { return std::max(x, y); }},
    {"Minimum", [](int64_t x, int64_t y) { return std::min(x, y); }},
    {"Sub", [](int64_t x, int64_t y) { return x - y; }},
};

bool MayBeKnown(DataType dtype) {
  return dtype == DataType::kInt32 || dtype == DataType::kInt64 || dtype == DataType::kBool;
}

// True if the operation may run in the step without the loop around it: it has no effect but on
// arrays, which only those see that wait for it.
bool MayLeaveLoop(const StepItem& item) {
  if (item.is_inner()) return false;
  const std::string& op = item.node->op().name;
  return !item.node->op().is_stateful || absl::StartsWith(op, "TensorArray") ||
         op == "ReadVariableOp";
}

bool IsProduct(const StepItem& item) {
  return !item.is_inner() && item.node->op().name == "MatMul";
}

// Adds the iterations of one loop.
class Iterations {
 public:
  // `may_idle`: some iterations may run in vain.
  Iterations(const LoopForm& form, bool joins_sums, bool may_idle, GraphCopy* copy)
      : form_(form), copy_(*copy) {
    if (may_idle) idle_.emplace(form, copy);
    for (const CarriedValue& variable : form.variables) {
      variables_.insert(variable.merge->output(0));
      if (variable.branch != nullptr) variables_.insert(variable.branch->output(1));
    }
    if (joins_sums) sums_ = FindSums(form);
    products_.resize(sums_.size());
    for (const SummingVariable& summing : sums_) {
      is_sum_.insert(summing.variable);
      left_out_.insert(summing.sum.node);
      if (summing.identity.has_value()) left_out_.insert(summing.identity->node);
    }
  }

  // `item`: that of the loop. `waits`: nodes of the program that run before.
  Status Add(const StepItem& item, int iterations, const std::vector<const Node*>& waits) {
    MS_RETURN_IF_ERROR(Begin(waits));
    const auto frame = std::make_shared<const std::string>(item.loop->frame);
    for (int i = 0; i < iterations; ++i) {
      copy_.EnterIteration(frame, i);
      MS_RETURN_IF_ERROR(AddOne());
    }
    copy_.LeaveIteration();
    for (size_t s = 0; s < sums_.size(); ++s) MS_RETURN_IF_ERROR(AddSum(sums_[s], products_[s]));
    for (size_t j = 0; j < item.outputs.size(); ++j) {
      const Output& value = values_[form_.exits[j]];
      copy_.Bind(item.outputs[j], value);
      copy_.Bind(item.stands_for[j], value.node);
    }
    return absl::OkStatus();
  }

 private:
  Status Begin(const std::vector<const Node*>& waits) {
    for (const LoopInvariant& invariant : form_.invariants) {
      if (invariant.is_source) {
        MS_RETURN_IF_ERROR(copy_.AddSource(invariant.inside));
      } else {
        copy_.Bind(invariant.inside, copy_.Of(invariant.outside));
      }
    }
    std::vector<const Node*> controls;
    for (const Node* const node : waits) controls.push_back(copy_.Of(node));
    for (const CarriedValue& variable : form_.variables) {
      Output value = copy_.Of(variable.initial);
      if (!controls.empty()) {
        MS_ASSIGN_OR_RETURN(value, After(controls, variable, value));
      }
      values_.push_back(value);
    }
    return absl::OkStatus();
  }

  // The first value of the variable when these nodes have run.
  StatusOr<Output> After(const std::vector<const Node*>& controls, const CarriedValue& variable,
                         const Output& value) {
    AttrMap attrs;
    SetAttr(&attrs, "T", value.dtype());
    const Node& merge = *variable.merge;
    return copy_.AddNew(merge, merge.name(), "Identity", std::move(attrs), {value}, controls);
  }

  // What is added from now on reads the present value of the variable.
  void Bind(size_t k) {
    const CarriedValue& variable = form_.variables[k];
    copy_.Bind(variable.merge->output(0), values_[k]);
    copy_.Bind(variable.merge, values_[k].node);
    if (variable.branch != nullptr) copy_.Bind(variable.branch->output(1), values_[k]);
  }

  // A node of the body that reads only what is the same in all iterations waits for an Identity of
  // a variable, so that it does not run where there is no iteration. This one is known to run. It
  // waits as in the first iteration, so that reads of a variable wait for the same node in all of
  // them and can become one.
  void BindPivot(const StepItem& part) {
    const bool is_pivot = !part.is_inner() &&
                          RoleOf(part.node->op().name) == StructuralRole::kIdentity &&
                          part.controls.empty() && variables_.contains(part.inputs[0]);
    if (!is_pivot) return;
    const auto [first, is_first] = pivots_.try_emplace(part.node, copy_.Of(part.node));
    if (!is_first) copy_.Bind(part.node, first->second);
  }

  Status AddOne() {
    for (size_t k = 0; k < values_.size(); ++k) Bind(k);
    if (idle_.has_value()) MS_RETURN_IF_ERROR(idle_->Begin(values_));
    for (const StepItem& part : form_.body) {
      if (left_out_.contains(part.node)) continue;
      MS_RETURN_IF_ERROR(idle_.has_value() ? idle_->Add(part) : copy_.Add(part));
      BindPivot(part);
    }
    for (size_t s = 0; s < sums_.size(); ++s) {
      products_[s].push_back(copy_.Of(sums_[s].product.outputs[0]));
    }
    for (size_t k = 0; k < values_.size(); ++k) {
      if (!is_sum_.contains(k)) values_[k] = copy_.Of(form_.variables[k].next->input(0));
    }
    return absl::OkStatus();
  }

  // Adds the sum of all products to the initial value.
  Status AddSum(const SummingVariable& summing, std::vector<Output> products) {
    MS_ASSIGN_OR_RETURN(const Output all, copy_.AddSum(*summing.sum.node, std::move(products)));
    copy_.Bind(summing.product.outputs[0], all);
    Bind(summing.variable);
    if (summing.identity.has_value()) MS_RETURN_IF_ERROR(copy_.Add(*summing.identity));
    MS_RETURN_IF_ERROR(copy_.Add(summing.sum));
    values_[summing.variable] = copy_.Of(summing.sum.outputs[0]);
    return absl::OkStatus();
  }

  const LoopForm& form_;
  GraphCopy& copy_;
  std::optional<IdleIterations> idle_;  // none: all iterations are asked for
  std::vector<SummingVariable> sums_;
  std::vector<std::vector<Output>> products_;  // of each sum
  absl::flat_hash_set<size_t> is_sum_;
  absl::flat_hash_set<const Node*> left_out_;
  absl::flat_hash_set<Output> variables_;                 // as the nodes of the loop read them
  absl::flat_hash_map<const Node*, const Node*> pivots_;  // in the first iteration
  std::vector<Output> values_;                            // of the variables
};

}  // namespace

std::optional<int64_t> KnownScalars::Find(const Output& value) const {
  const auto found = values_.find(value);
  if (found != values_.end()) return found->second;
  if (outer_ != nullptr) return outer_->Find(value);
  const Tensor* const constant = Graph::ConstantValue(value);
  return constant == nullptr ? std::nullopt : ValueOf(*constant);
}

std::optional<int64_t> KnownScalars::FindIdleBound(const Output& value) const {
  const auto found = idle_bounds_.find(value);
  return found == idle_bounds_.end() ? std::nullopt : std::make_optional(found->second);
}

void KnownScalars::Set(const Output& value, std::optional<int64_t> known) {
  values_[value] = known;
}

void KnownScalars::AddResults(const StepItem& item) {
  if (item.is_inner() || item.outputs.size() != 1) return;
  const Node& node = *item.node;
  const Output& result = item.outputs[0];
  if (!MayBeKnown(result.dtype())) return;
  if (Graph::ConstantValue(result) != nullptr) return;  // Find knows it
  // In an iteration, results of the one before must not stay.
  Set(result, std::nullopt);
  if (RoleOf(node.op().name) == StructuralRole::kIdentity) return Set(result, Find(item.inputs[0]));
  const auto* const operation = absl::c_find_if(
      kOperations, [&](const Operation& known) { return known.op == node.op().name; });
  if (operation == std::end(kOperations)) return;
  const std::optional<int64_t> x = Find(item.inputs[0]);
  const std::optional<int64_t> y = Find(item.inputs[1]);
  if (x.has_value() && !y.has_value() && node.op().name == "Minimum" &&
      FindAttr(node.attrs(), kIdleBeyondAttr) != nullptr) {
    idle_bounds_[result] = *x;
  }
  if (!x.has_value() || !y.has_value() || std::abs(*x) > kLargest || std::abs(*y) > kLargest) {
    return;
  }
  const int64_t value = operation->function(*x, *y);
  if (std::abs(value) <= kLargest) Set(result, value);
}

LoopUnroller::LoopUnroller(GraphCopy* copy, const std::vector<Output>& fed, bool sums)
    : copy_(*copy), sums_(sums), static_values_hold_(absl::c_all_of(fed, [](const Output& value) {
        return value.node->op().name == "Placeholder";
      })) {
  for (const Output& value : fed) known_.Set(value, std::nullopt);
}

void LoopUnroller::AddStaticValues(const StepItem& item) {
  if (!static_values_hold_ || item.is_inner()) return;
  for (const Output& value : item.outputs) {
    if (!MayBeKnown(value.dtype()) || known_.Find(value).has_value()) continue;
    const Output copy = copy_.Of(value);
    const OutputFacts& facts = copy.node->facts(copy.index);
    if (facts.shape != PartialShape::Scalar() || !facts.value.has_value()) continue;
    const std::optional<int64_t> element =
        facts.value->size() == 1 ? facts.value->front() : std::nullopt;
    if (element.has_value() && std::abs(*element) <= kLargest) known_.Set(value, element);
  }
}

void LoopUnroller::AddWaiting(const StepItem& item) {
  if (item.is_inner() || item.outputs.size() != 1 || !MayBeKnown(item.outputs[0].dtype())) return;
  const auto waits = [&](const Output& input) { return waiting_.contains(input); };
  if (!item.controls.empty() || absl::c_any_of(item.inputs, waits)) {
    waiting_.insert(item.outputs[0]);
  }
}

std::vector<const Node*> LoopUnroller::WaitsOf(const LoopForm& form) const {
  absl::flat_hash_set<Output> reads = {form.condition->input(0)};
  for (const StepItem& item : form.before) reads.insert(item.inputs.begin(), item.inputs.end());
  std::vector<const Node*> waits;
  const auto visit = [&](const Output& inside, const Output& outside) {
    const Output source = BehindEnters(outside);
    if (!reads.contains(inside) || !waiting_.contains(source)) return;
    if (!absl::c_linear_search(waits, source.node)) waits.push_back(source.node);
  };
  for (const LoopInvariant& invariant : form.invariants) {
    visit(invariant.inside, invariant.outside);
  }
  for (const CarriedValue& variable : form.variables) {
    visit(variable.merge->output(0), variable.initial);
  }
  return waits;
}

KnownScalars LoopUnroller::Invariants(const LoopForm& form, bool* may_idle) const {
  const bool may_count_on = MayIdle(form);
  KnownScalars inside(&known_);
  for (const LoopInvariant& invariant : form.invariants) {
    const Output outside = BehindEnters(invariant.outside);
    std::optional<int64_t> known = known_.Find(outside);
    if (!known.has_value() && may_count_on) {
      known = known_.FindIdleBound(outside);
      *may_idle |= known.has_value();
    }
    inside.Set(invariant.inside, known);
  }
  return inside;
}

std::optional<LoopUnroller::Course> LoopUnroller::CourseOf(const LoopForm& form) const {
  const bool pays = absl::c_any_of(form.body, IsProduct);
  const bool is_alone = form.controls.empty() && form.ends_before.empty() && form.ends_body.empty();
  if (!pays || !is_alone || !absl::c_all_of(form.body, MayLeaveLoop)) return std::nullopt;
  const size_t most = std::min<size_t>(kMostIterations, kMostOperations / form.body.size());
  Course course;
  KnownScalars inside = Invariants(form, &course.may_idle);
  for (const CarriedValue& variable : form.variables) {
    course.last.push_back(known_.Find(BehindEnters(variable.initial)));
  }
  for (; static_cast<size_t>(course.iterations) <= most; ++course.iterations) {
    for (size_t k = 0; k < form.variables.size(); ++k) {
      const CarriedValue& variable = form.variables[k];
      inside.Set(variable.merge->output(0), course.last[k]);
      if (variable.branch != nullptr) inside.Set(variable.branch->output(1), course.last[k]);
    }
    for (const StepItem& item : form.before) inside.AddResults(item);
    const std::optional<int64_t> goes_on = inside.Find(form.condition->input(0));
    if (!goes_on.has_value()) return std::nullopt;
    if (*goes_on == 0) {
      course.waits = WaitsOf(form);
      return course;
    }
    for (const StepItem& item : form.body) inside.AddResults(item);
    for (size_t k = 0; k < form.variables.size(); ++k) {
      course.last[k] = inside.Find(form.variables[k].next->input(0));
    }
  }
  return std::nullopt;
}

Status LoopUnroller::Add(const StepItem& item) {
  known_.AddResults(item);
  AddWaiting(item);
  if (item.form == nullptr) {
    MS_RETURN_IF_ERROR(copy_.Add(item));
    AddStaticValues(item);
    return absl::OkStatus();
  }
  const std::optional<Course> course = CourseOf(*item.form);
  if (!course.has_value()) return copy_.Add(item);
  for (size_t j = 0; j < item.outputs.size(); ++j) {
    known_.Set(item.outputs[j], course->last[item.form->exits[j]]);
  }
  return Iterations(*item.form, sums_ && course->iterations > 1, course->may_idle, &copy_)
      .Add(item, course->iterations, course->waits);
}

}  // namespace millstream
