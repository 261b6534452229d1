// Finds the loops that nodes are in, and what the loops consist of.
#ifndef MILLSTREAM_CORE_GRADIENTS_LOOP_NEST_H_
#define MILLSTREAM_CORE_GRADIENTS_LOOP_NEST_H_

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/types/span.h"
#include "core/graph/graph.h"
#include "framework/status.h"

namespace millstream {

// A variable of a loop. It comes from `enter` or, in later iterations, from `next` to `merge`;
// `decision`, a Switch, sends it to the body (output 1) or out of the loop (output 0). Where the
// nodes that are looked at need a variable for the condition only, it has no decision.
struct LoopVariable {
  const Node* enter = nullptr;
  const Node* merge = nullptr;
  const Node* decision = nullptr;
  const Node* next = nullptr;
  std::vector<const Node*> exits;  // one at most, unless another program made the loop
};

struct Loop {
  std::string frame_name;
  int parent = 0;
  int64_t parallel_iterations = 1;
  const Node* condition = nullptr;  // the LoopCond
  std::vector<LoopVariable> variables;
  std::vector<const Node*> enters;      // of all variables and invariants
  std::vector<const Node*> invariants;  // Enters of what is the same in all iterations
  Status form;                          // UNIMPLEMENTED: it has not the form of LoopVariable
};

class LoopNest {
 public:
  static constexpr int kRoot = 0;  // no loop

  LoopNest() : loops_(1) {}
  // `nodes` are in the order of their ids, and all that they depend on is among them.
  static StatusOr<LoopNest> Of(absl::Span<const Node* const> nodes);

  int num_loops() const { return static_cast<int>(loops_.size()); }  // with kRoot
  const Loop& loop(int i) const { return loops_[i]; }
  // The innermost loop of the node's outputs: for an Exit, the loop around the one that it leaves.
  int LoopOf(const Node* node) const;
  // The loop that the node is a part of: also an Exit is one of its loop.
  int OwnLoop(const Node* node) const;
  // The loop in `around` that has the loop `inner` in it or is that; -1 if there is none.
  int ChildAround(int around, int inner) const;
  // True if the loop is `around`, or in it.
  bool IsIn(int loop, int around) const { return loop == around || ChildAround(around, loop) >= 0; }
  // True for what makes a loop of its body: Enter, Exit, NextIteration, LoopCond, and the Merges
  // and Switches of variables.
  bool IsFrame(const Node& node) const;
  // A new node is in a loop.
  void SetLoop(const Node* node, int loop) { loop_of_[node] = loop; }

 private:
  Status Place(const Node& node);
  int LoopOfInputs(const Node& node) const;
  void CheckForm(Loop* loop) const;
  void FindVariables(absl::Span<const Node* const> nodes);

  std::vector<Loop> loops_;
  absl::flat_hash_map<const Node*, int> loop_of_;  // nodes that are in one
  absl::flat_hash_map<std::pair<int, std::string>, int> by_name_;
};

}  // namespace millstream

#endif  // MILLSTREAM_CORE_GRADIENTS_LOOP_NEST_H_
