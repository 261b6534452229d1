// One walk from ys back to xs that adds the nodes of the gradients.
#ifndef MILLSTREAM_CORE_GRADIENTS_BACKWARD_WALK_H_
#define MILLSTREAM_CORE_GRADIENTS_BACKWARD_WALK_H_

#include <memory>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "core/gradients/backward_loop.h"
#include "core/gradients/gradient_registry.h"
#include "core/gradients/gradients.h"
#include "core/graph/graph_builder.h"

namespace millstream {

inline bool HasGradientType(DataType dtype) {
  return IsFloating(dtype) || IsComplex(dtype) || dtype == DataType::kResource ||
         dtype == DataType::kVariant;
}

// Nodes are numbered in an order in which inputs come before their readers, so in a graph without
// loops the walk is a loop over numbers that fall: when it comes to a node, all that reads its
// outputs has been dealt with. A loop is dealt with as a whole, like a node, by a loop that goes
// backward, and a walk over its body.
class BackwardWalk {
 public:
  BackwardWalk(Graph* graph, const std::vector<Output>& xs, const GradientOptions& options);
  ~BackwardWalk();

  Status Start(const std::vector<Output>& ys, const std::vector<Output>& grad_ys);
  Status Walk();
  StatusOr<std::vector<Gradient>> Results(const std::vector<Output>& xs);

 private:
  struct LoopGradients;  // of one loop, while its body is walked
  class OwnLoop;         // the region of ys that are in a loop

  // ---- What there is (backward_walk.cc) ----
  void FindNodes(const std::vector<Output>& ys);
  void FindNodesBetween();
  Status FindControlFlow(const std::vector<Output>& ys);
  bool LeadsToX(const Output& output) const {
    return xs_.contains(output) || (between_.contains(output.node) && !stops_.contains(output));
  }

  // ---- Nodes (backward_walk.cc) ----
  Status VisitNode(const Node* node);
  Status CallFunction(const Node* node, GradientContext* context) const;
  Status CallGradient(const Node* node, GradientContext* context) const;
  void StandBeside(const Node* node);
  Status ShapeLikeInput(const Node* node, int input, const Output& dx);
  StatusOr<Output> FirstGradient(int i, const Output& y, const Output& given);
  Gradient Total(const Output& output);
  Gradient SumSlices(const std::vector<Gradient>& parts);
  Output Sum(const std::vector<Output>& parts);
  Output SumByDevice(const std::vector<Output>& parts);

  // ---- Loops (loop_walk.cc) ----
  Status FindOwnLoop(const std::vector<Output>& ys);
  void FindBodies();
  // The nodes and loops that are in a loop, or in none, but in no loop inside of that one.
  Status WalkBody(int loop);
  Status VisitEnter(const Node* node);
  Status VisitLoop(int number);
  bool FindFirstGradients(LoopGradients* gradients);
  void FindActive(LoopGradients* gradients) const;
  static Status CheckActive(const LoopGradients& gradients);
  void AddVariables(LoopGradients* gradients, BackwardLoop* backward);
  void SetNextGradients(const LoopGradients& gradients, BackwardLoop* backward);
  Status SumOverIterations(const Node* enter, BackwardLoop* backward, GraphRegion* outside);
  Output JoinedRows(const Output& rows, BackwardLoop* backward, GraphRegion* outside);
  Status JoinIterations(const Node* enter, const Gradient& rows, BackwardLoop* backward,
                        GraphRegion* outside);
  Status AddPart(const Node* enter, const Output& gradient);
  Output InRegion(const Output& gradient);
  Output DenseTotal(const std::vector<Output>& outputs);
  // Zeros like a tensor of the forward graph.
  Output ZerosLike(const Output& tensor);

  Graph* const graph_;
  const GradientOptions& options_;
  GraphBuilder builder_;
  const absl::flat_hash_set<Output> xs_;
  const absl::flat_hash_set<Output> stops_;
  std::vector<const Node*> order_;            // nodes that ys need, the newest first
  absl::flat_hash_set<const Node*> between_;  // of those, the ones that some x reaches
  absl::flat_hash_map<Output, std::vector<Gradient>> parts_;
  bool has_control_flow_ = false;
  ForwardControlFlow forward_;                    // empty without control flow
  std::vector<std::vector<const Node*>> bodies_;  // nodes of between_ by the loop they are in
  int own_loop_ = LoopNest::kRoot;                // that ys are in
  std::unique_ptr<GraphRegion> own_region_;       // of that loop; null: none
};

}  // namespace millstream

#endif  // MILLSTREAM_CORE_GRADIENTS_BACKWARD_WALK_H_
