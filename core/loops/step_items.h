// The nodes of a step while loops and conditionals become nodes.
#ifndef MILLSTREAM_CORE_LOOPS_STEP_ITEMS_H_
#define MILLSTREAM_CORE_LOOPS_STEP_ITEMS_H_

#include <functional>
#include <memory>
#include <vector>

#include "absl/container/flat_hash_set.h"
#include "core/graph/graph.h"
#include "core/graph/inner_graph.h"

namespace millstream {

struct LoopForm;

// A node of the program, or a loop or a conditional that has become one. Values and control edges
// are named by the nodes of the program.
struct StepItem {
  const Node* node = nullptr;                // of a loop: its LoopCond; of a conditional: a Merge
  std::shared_ptr<const LoopBody> loop;      // null: no loop
  std::shared_ptr<const LoopForm> form;      // of a loop that may become its iterations; or null
  std::shared_ptr<const BranchBody> branch;  // null: no conditional
  std::vector<Output> inputs;
  std::vector<Output> outputs;  // of a loop: those of its Exits; of a conditional: of its Merges
  std::vector<const Node*> controls;
  // The nodes that others wait for when they wait for this one: itself, or the Exits or Merges.
  std::vector<const Node*> stands_for;

  static StepItem Of(const Node* node, std::vector<const Node*> controls);
  bool is_inner() const { return loop != nullptr || branch != nullptr; }
};

// Which nodes may go into the graph of a loop or a conditional.
struct InnerLimits {
  // True if the node's kernel has done its work when the call returns.
  std::function<bool(const Node&)> runs_at_once;
  absl::flat_hash_set<Output> fed;
  absl::flat_hash_set<Output> fetched;
  // The nodes that are targets, or whose outputs are fetched.
  absl::flat_hash_set<const Node*> visible;

  // Nobody outside sees it, and it runs to its end.
  bool Allow(const StepItem& item) const;
  // Nobody outside sees it.
  bool IsHidden(const StepItem& item) const;
};

// True for a handle, or a constant that waits for nothing: inner graphs have copies of them.
bool IsSource(const Node& node);
// True for an Enter that passes its input on to all iterations.
bool IsConstantEnter(const Node& node);
// Where a value comes from that only such Enters pass on.
Output BehindEnters(Output value);

// Orders the items so that every edge between two of them points forward, except back edges; an
// item that may go before another one and stood before it goes before it. False: there is a cycle.
bool Sort(std::vector<StepItem>* items);

}  // namespace millstream

#endif  // MILLSTREAM_CORE_LOOPS_STEP_ITEMS_H_
