#include "core/graph/deadness.h"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "core/graph/structural_role.h"

namespace millstream {
namespace {

// Boolean functions as reduced ordered binary decision diagrams (Bryant, "Graph-Based Algorithms
// for Boolean Function Manipulation", 1986): two functions are equal when their numbers are.
class Conditions {
 public:
  using Condition = uint32_t;
  static constexpr Condition kNever = 0;
  static constexpr Condition kAlways = 1;

  Condition Variable(uint32_t variable) { return Make(variable, kNever, kAlways); }
  Condition Not(Condition a) { return Apply(Operation::kDiffers, a, kAlways, 0); }
  Condition And(Condition a, Condition b) { return Apply(Operation::kAnd, a, b, 0); }
  Condition Or(Condition a, Condition b) { return Apply(Operation::kOr, a, b, 0); }
  bool Implies(Condition a, Condition b) { return And(a, b) == a; }
  // Some function could not be written down: nothing that was said is to be relied on.
  bool overflowed() const { return overflowed_; }

 private:
  enum class Operation : uint8_t { kAnd, kOr, kDiffers };
  struct Choice {
    uint32_t variable;
    Condition if_false;
    Condition if_true;
  };
  // Graphs whose branches depend on each other in a way that needs more are not worth the time.
  static constexpr size_t kMaxChoices = 1 << 14;
  static constexpr int kMaxDepth = 1 << 10;  // variables in one function
  static constexpr uint32_t kNoVariable = 0xffffffffu;

  Condition Make(uint32_t variable, Condition if_false, Condition if_true) {
    if (if_false == if_true) return if_false;
    auto [found, added] = numbers_.try_emplace(
        std::make_pair(variable, std::make_pair(if_false, if_true)), choices_.size());
    if (!added) return found->second;
    overflowed_ |= choices_.size() >= kMaxChoices;
    if (overflowed_) return kNever;
    choices_.push_back({variable, if_false, if_true});
    return found->second;
  }

  // What needs no look at the choices. REQUIRES: a <= b, which puts constants first.
  static std::optional<Condition> Simple(Operation operation, Condition a, Condition b) {
    switch (operation) {
      case Operation::kAnd:
        if (a == kNever) return kNever;
        if (a == kAlways || a == b) return b;
        return std::nullopt;
      case Operation::kOr:
        if (a == kAlways) return kAlways;
        if (a == kNever || a == b) return b;
        return std::nullopt;
      case Operation::kDiffers: break;
    }
    if (a == b) return kNever;
    if (a == kNever) return b;
    return std::nullopt;
  }

  Condition Apply(Operation operation, Condition a, Condition b, int depth) {
    if (a > b) std::swap(a, b);
    if (std::optional<Condition> simple = Simple(operation, a, b)) return *simple;
    overflowed_ |= depth == kMaxDepth;
    if (overflowed_) return kNever;
    const auto key = std::make_pair(operation, std::make_pair(a, b));
    auto known = results_.find(key);
    if (known != results_.end()) return known->second;
    const Choice x = choices_[a];
    const Choice y = choices_[b];
    const uint32_t variable = std::min(x.variable, y.variable);
    const Choice of_a = x.variable == variable ? x : Choice{variable, a, a};
    const Choice of_b = y.variable == variable ? y : Choice{variable, b, b};
    const Condition if_false = Apply(operation, of_a.if_false, of_b.if_false, depth + 1);
    const Condition if_true = Apply(operation, of_a.if_true, of_b.if_true, depth + 1);
    return results_[key] = Make(variable, if_false, if_true);
  }

  // The first two stand for the constants.
  std::vector<Choice> choices_ = {{kNoVariable, kNever, kNever}, {kNoVariable, kAlways, kAlways}};
  absl::flat_hash_map<std::pair<uint32_t, std::pair<Condition, Condition>>, Condition> numbers_;
  absl::flat_hash_map<std::pair<Operation, std::pair<Condition, Condition>>, Condition> results_;
  bool overflowed_ = false;
};

using Condition = Conditions::Condition;

// Starts with the condition "false" for every node and visits the graph until no condition changes.
// All conditions are valid at any time, because each visit uses only valid conditions. More visits
// only find more live nodes.
class DeadnessFinder {
 public:
  DeadnessFinder(const PrunedGraph& graph, const FrameTree& frames,
                 const absl::flat_hash_set<Output>& fed)
      : graph_(graph), tree_(frames), fed_(fed), loops_(frames.frames.size()) {
    for (size_t i = 0; i < graph.nodes.size(); ++i) index_[graph.nodes[i]] = i;
    running_.resize(graph.nodes.size(), Conditions::kNever);
    DescribeLoops();
  }

  // For each node, whether it is live in every step.
  std::vector<bool> Run() {
    for (int pass = 0; pass < kMaxPasses && Pass(); ++pass) continue;
    std::vector<bool> live(running_.size(), false);
    if (conditions_.overflowed()) return live;
    for (size_t i = 0; i < running_.size(); ++i) {
      live[i] = running_[i] == Conditions::kAlways && tree_.output_frame[i] == StaticFrame::kRoot;
    }
    return live;
  }

 private:
  // A pass goes up one level of nested loops.
  static constexpr int kMaxPasses = 32;

  struct Loop {
    const Node* condition = nullptr;  // its LoopCond
    int num_conditions = 0;
    // All that enters it is live; of the pass in progress, the Enters so far and their number.
    Condition entered = Conditions::kNever;
    Condition entered_now = Conditions::kAlways;
    int num_enters = 0;
    int enters_now = 0;
    std::vector<size_t> next_iterations;
    bool is_usual = false;  // see IsUsual
  };

  void DescribeLoops() {
    for (size_t i = 0; i < graph_.nodes.size(); ++i) {
      const ControlFlowKind kind = KindOf(*graph_.nodes[i]);
      Loop& loop = loops_[tree_.output_frame[i]];
      if (kind == ControlFlowKind::kEnter) ++loop.num_enters;
      if (kind == ControlFlowKind::kNextIteration) loop.next_iterations.push_back(i);
      if (kind != ControlFlowKind::kLoopCond) continue;
      loop.condition = graph_.nodes[i];
      ++loop.num_conditions;
    }
  }

  // What decides a Switch, behind nodes that pass it on.
  Condition Predicate(Output pred) {
    while (!fed_.contains(pred) && (RoleOf(pred.node->op().name) == StructuralRole::kIdentity ||
                                    KindOf(*pred.node) == ControlFlowKind::kLoopCond)) {
      pred = pred.node->input(pred.index);
    }
    return conditions_.Variable(variables_.try_emplace(pred, variables_.size()).first->second);
  }

  Condition Live(const Output& output) {
    if (fed_.contains(output)) return Conditions::kAlways;
    const Condition running = running_[index_.at(output.node)];
    if (KindOf(*output.node) != ControlFlowKind::kSwitch) return running;
    const Condition pred = Predicate(output.node->input(1));
    return conditions_.And(running, output.index == 1 ? pred : conditions_.Not(pred));
  }

  Condition Controls(size_t i) {
    Condition all = Conditions::kAlways;
    for (const Node* control : graph_.controls[i]) {
      auto known = index_.find(control);
      if (known != index_.end()) all = conditions_.And(all, running_[known->second]);
    }
    return all;
  }

  Condition AllInputs(size_t i) {
    Condition all = Controls(i);
    for (const Output& input : graph_.nodes[i]->inputs()) all = conditions_.And(all, Live(input));
    return all;
  }

  // Control edges that are dead do not keep a Merge from running; but in a loop they may be missing
  // in some iteration.
  Condition Merge(size_t i) {
    const Node& node = *graph_.nodes[i];
    Condition any = Conditions::kNever;
    bool starts_loop = false;
    bool is_entered = true;
    for (const Output& input : node.inputs()) {
      const bool fed = fed_.contains(input);
      if (!fed && IsBackEdge(input, node)) {
        starts_loop = true;
        continue;
      }
      is_entered &= !fed && KindOf(*input.node) == ControlFlowKind::kEnter;
      any = conditions_.Or(any, Live(input));
    }
    if (starts_loop) any = is_entered ? Conditions::kAlways : Conditions::kNever;
    if (tree_.output_frame[i] == StaticFrame::kRoot) return any;
    return conditions_.And(any, Controls(i));
  }

  // Gives what is so inside of the loop.
  Condition Enter(size_t i) {
    Loop& loop = loops_[tree_.output_frame[i]];
    loop.entered_now = conditions_.And(loop.entered_now, AllInputs(i));
    if (++loop.enters_now == loop.num_enters) loop.entered = loop.entered_now;
    // What is not constant is there in the first iteration alone; a Merge knows.
    const StatusOr<bool> is_constant = graph_.nodes[i]->Attr<bool>("is_constant");
    return is_constant.ok() && *is_constant ? Conditions::kAlways : Conditions::kNever;
  }

  Condition Exit(size_t i) {
    const Loop& loop = loops_[tree_.input_frame[i]];
    if (!loop.is_usual) return Conditions::kNever;
    const Condition ended = conditions_.Not(Predicate(loop.condition->output(0)));
    return conditions_.Implies(ended, AllInputs(i)) ? loop.entered : Conditions::kNever;
  }

  Condition Evaluate(size_t i) {
    const Node& node = *graph_.nodes[i];
    switch (KindOf(node)) {
      case ControlFlowKind::kMerge: return Merge(i);
      case ControlFlowKind::kEnter: return Enter(i);
      case ControlFlowKind::kExit: return Exit(i);
      case ControlFlowKind::kNextIteration: return Conditions::kNever;  // not in the first one
      case ControlFlowKind::kControlTrigger:
        if (tree_.output_frame[i] == StaticFrame::kRoot) return Conditions::kAlways;
        break;
      default: break;
    }
    // Of what a program receives by itself nothing is known.
    if (RoleOf(node.op().name) == StructuralRole::kReceive) return Conditions::kNever;
    return AllInputs(i);
  }

  // Whether the variables of the loop are all live in every iteration, by induction: they are in
  // the first one, and in the next one if there is one.
  bool IsUsual(const Loop& loop) {
    if (loop.num_conditions != 1) return false;
    if (running_[index_.at(loop.condition)] != Conditions::kAlways) return false;
    const Condition goes_on = Predicate(loop.condition->output(0));
    return std::all_of(loop.next_iterations.begin(), loop.next_iterations.end(),
                       [&](size_t next) { return conditions_.Implies(goes_on, AllInputs(next)); });
  }

  // True when something new was found out.
  bool Pass() {
    bool changed = false;
    for (Loop& loop : loops_) {
      loop.entered_now = Conditions::kAlways;
      loop.enters_now = 0;
    }
    for (size_t i = 0; i < graph_.nodes.size(); ++i) {
      const Condition found = Evaluate(i);
      changed |= found != std::exchange(running_[i], found);
    }
    for (Loop& loop : loops_) {
      const bool is_usual = IsUsual(loop);
      changed |= is_usual != std::exchange(loop.is_usual, is_usual);
    }
    return changed && !conditions_.overflowed();
  }

  const PrunedGraph& graph_;
  const FrameTree& tree_;
  const absl::flat_hash_set<Output>& fed_;
  Conditions conditions_;
  absl::flat_hash_map<const Node*, size_t> index_;
  absl::flat_hash_map<Output, uint32_t> variables_;  // by predicate
  std::vector<Condition> running_;                   // by node
  std::vector<Loop> loops_;                          // by frame
};

}  // namespace

Deadness Deadness::Of(const PrunedGraph& graph, const FrameTree& frames,
                      const absl::flat_hash_set<Output>& fed) {
  Deadness deadness;
  const std::vector<bool> live = DeadnessFinder(graph, frames, fed).Run();
  for (size_t i = 0; i < live.size(); ++i) {
    if (live[i]) deadness.live_.insert(graph.nodes[i]);
  }
  return deadness;
}

}  // namespace millstream
