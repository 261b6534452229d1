// Finds for each node of a frame the branches that must be taken for it to run.
#ifndef MILLSTREAM_CORE_LOOPS_BRANCH_PATHS_H_
#define MILLSTREAM_CORE_LOOPS_BRANCH_PATHS_H_

#include <tuple>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "core/graph/graph.h"
#include "core/loops/step_items.h"

namespace millstream {

// A path of branches, each within the one before it. Paths form a tree and are numbered.
class BranchPaths {
 public:
  static constexpr int kRoot = 0;  // runs in any case
  // Of what waits for branches that exclude each other, as far as their predicates tell, and of
  // all that depends on it: nobody knows when it runs.
  static constexpr int kUnknown = -1;

  struct Path {
    int parent = -1;
    Output predicate;
    bool side = false;
    int depth = 0;
    bool is_closed = true;  // all nodes that it holds may become part of a node
  };

  // REQUIRES: the items are sorted.
  BranchPaths(const InnerLimits& limits, const std::vector<StepItem>& items);

  const Path& operator[](int path) const { return paths_[path]; }
  int size() const { return static_cast<int>(paths_.size()); }
  // The path of item i; of a Switch, that of its inputs; of a Merge, that of its outputs. Items of
  // an unknown path belong to no branch, and have kRoot.
  int OfItem(int i) const { return of_item_[i]; }
  // The path of a value, or kUnknown; kRoot for one of another frame.
  int Of(const Output& value) const;
  // The path on the other side of the predicate; -1 if there is none.
  int OtherSide(int path) const;
  // True if item i is the Switch, or the Merge, of a conditional, and not of a loop.
  bool IsSwitch(int i) const { return is_switch_[i]; }
  bool IsMerge(int i) const { return is_merge_[i]; }
  int num_items() const { return static_cast<int>(of_item_.size()); }
  // What the path holds, and what it is within, stays as it is.
  void Open(int path);

 private:
  // Behind the Identities that conditionals put between a value and their Switches.
  Output PredicateOf(const StepItem& item) const;
  int Child(int parent, const Output& predicate, bool side);
  bool IsPrefix(int shorter, int path) const;
  // The longest of the paths of what the item reads and waits for, or kUnknown.
  int PathOf(const StepItem& item);
  void AddMerge(int i, const StepItem& item);
  void AddUnknown(const StepItem& item);

  const InnerLimits& limits_;
  std::vector<Path> paths_;
  absl::flat_hash_map<std::tuple<int, Output, bool>, int> children_;
  absl::flat_hash_map<Output, int> of_value_;
  absl::flat_hash_map<const Node*, int> of_node_;
  // The path of one side, by the output of a Merge that says which branch ran.
  absl::flat_hash_map<Output, int> numbers_;
  std::vector<int> of_item_;
  std::vector<bool> is_switch_;
  std::vector<bool> is_merge_;
};

}  // namespace millstream

#endif  // MILLSTREAM_CORE_LOOPS_BRANCH_PATHS_H_
