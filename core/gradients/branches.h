// Finds the branches of conditionals that nodes are in.
//
// A conditional sends a tensor to one of two outputs of a Switch, and a Merge passes on the result
// of the branch that has run. A node is in a branch if it depends on an output of such a Switch and
// no Merge is in between. Switches of loops, which a LoopCond decides, are not of conditionals.
#ifndef MILLSTREAM_CORE_GRADIENTS_BRANCHES_H_
#define MILLSTREAM_CORE_GRADIENTS_BRANCHES_H_

#include <optional>
#include <tuple>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/types/span.h"
#include "core/graph/graph.h"

namespace millstream {

struct Branch {
  Output predicate;
  int taken = 0;  // the output of a Switch on the predicate
  int outer = 0;  // the branch around it
  int depth = 0;  // of how many branches it is the innermost
};

// Branches are known by numbers; 0 stands for none, outside of all branches. Two conditionals of
// one predicate, in the same branch, have the same branches.
class Branches {
 public:
  Branches() : branches_(1) {}
  // `nodes` are in the order of their ids, and all that they depend on is among them.
  static Branches Of(absl::Span<const Node* const> nodes);

  // The innermost branch of a tensor.
  int Find(const Output& tensor) const;
  const Branch& branch(int i) const { return branches_[i]; }
  // What decides between the two inputs of a Merge of a conditional: the branch of its input 0.
  // Nothing if the inputs are not of the two branches of one conditional.
  std::optional<Branch> ChoiceOf(const Node& merge) const;
  // A new node is in a branch.
  void SetBranch(const Node* node, int branch) { of_node_[node] = branch; }

 private:
  int Innermost(const Node& node) const;
  // The branches of one conditional that are around those two, or are those; zeros if there are
  // none.
  std::pair<int, int> Opposite(int first, int second) const;
  int BranchOf(const Output& predicate, int taken, int outer);
  void Add(const Node& node);

  std::vector<Branch> branches_;
  absl::flat_hash_map<const Node*, int> of_node_;
  absl::flat_hash_map<Output, int> of_switch_;  // outputs of Switches of conditionals
  absl::flat_hash_map<std::tuple<Output, int, int>, int> index_;  // by source, output, outer branch
};

}  // namespace millstream

#endif  // MILLSTREAM_CORE_GRADIENTS_BRANCHES_H_
