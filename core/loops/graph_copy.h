// A graph that is built of copies of a step's nodes.
#ifndef MILLSTREAM_CORE_LOOPS_GRAPH_COPY_H_
#define MILLSTREAM_CORE_LOOPS_GRAPH_COPY_H_

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/strings/string_view.h"
#include "core/graph/graph.h"
#include "core/graph/prune.h"
#include "core/loops/step_items.h"
#include "framework/status.h"

namespace millstream {

class GraphCopy {
 public:
  // A feed in place of a value of the program. `name`: of its node; need not be free.
  StatusOr<Output> AddFeed(const Output& value, absl::string_view name);
  // REQUIRES: the values that the item reads were added, but for back edges. Control inputs that
  // were not added are left out. An item may be added again, with other values for its inputs.
  Status Add(const StepItem& item);
  // Makes `value`, a constant or a handle of the program, or what Enters pass on of it, that of a
  // copy.
  Status AddSource(const Output& value);
  // Adds a node of an op with one output, which reads values of this graph. It has the source line
  // of `like`. `name`: that of no node of the program, or of one that is not added; need not be
  // free otherwise. `controls`: nodes of this graph that it waits for.
  StatusOr<Output> AddNew(const Node& like, absl::string_view name, absl::string_view op,
                          AttrMap attrs, std::vector<Output> inputs,
                          std::vector<const Node*> controls = {});
  // Adds an AddN of these copies, which have the dtype of `like`'s output. Its node is named after
  // `like` and has its source line.
  StatusOr<Output> AddSum(const Node& like, std::vector<Output> terms);
  // What is added from now on stands in this iteration of a loop, until LeaveIteration.
  void EnterIteration(std::shared_ptr<const std::string> frame, int number) {
    iteration_ = {std::move(frame), number};
  }
  void LeaveIteration() { iteration_ = NodeIteration(); }
  // Sets the back edges of the Merges that were added.
  Status CloseLoops();

  // Further readers of `value` read `copy`; those that wait for `node` wait for `copy`.
  void Bind(const Output& value, const Output& copy) { values_[value] = copy; }
  void Bind(const Node* node, const Node* copy) { nodes_[node] = copy; }
  bool Has(const Output& value) const { return values_.contains(value); }
  // REQUIRES: Has(value).
  Output Of(const Output& value) const { return values_.at(value); }
  // Null if the node was not added.
  const Node* Of(const Node* node) const {
    auto found = nodes_.find(node);
    return found == nodes_.end() ? nullptr : found->second;
  }

  std::unique_ptr<Graph> TakeGraph() { return std::move(graph_); }
  PrunedGraph TakePruned() { return std::move(pruned_); }

 private:
  struct OpenEdge {
    const Node* merge;
    int input;
    const Node* next;  // of the program
  };

  StatusOr<const Node*> AddInner(const StepItem& item, std::vector<Output> inputs,
                                 std::vector<const Node*> controls);

  std::unique_ptr<Graph> graph_ = std::make_unique<Graph>();
  PrunedGraph pruned_;
  absl::flat_hash_map<Output, Output> values_;
  absl::flat_hash_set<Output> fed_;
  absl::flat_hash_map<const Node*, const Node*> nodes_;
  std::vector<OpenEdge> open_;
  NodeIteration iteration_;  // without a frame: none
};

}  // namespace millstream

#endif  // MILLSTREAM_CORE_LOOPS_GRAPH_COPY_H_
