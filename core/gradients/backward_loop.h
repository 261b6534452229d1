// The loop that computes the gradient of a loop.
//
// It runs as often as the forward loop has run, and in its iterations goes back through those of
// that one. What it reads of them, the forward loop keeps in lists: a list is a variable of the
// forward loop, to which each iteration adds an element, and a variable of the backward loop, from
// which each iteration takes the last element away. So a step that computes no gradient keeps
// nothing, and the backward loop is a loop like any other, which has a gradient itself.
#ifndef MILLSTREAM_CORE_GRADIENTS_BACKWARD_LOOP_H_
#define MILLSTREAM_CORE_GRADIENTS_BACKWARD_LOOP_H_

#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "core/gradients/branches.h"
#include "core/gradients/frame_builder.h"
#include "core/gradients/loop_nest.h"
#include "core/graph/graph_builder.h"
#include "framework/status.h"

namespace millstream {

// The loops and conditionals of the forward graph, which backward loops add nodes to.
struct ForwardControlFlow {
  LoopNest loops;
  Branches branches;
};

class BackwardLoop final : public GraphRegion {
 public:
  // Of the loop number `loop`. `outside` is the region around the backward loop: a backward loop as
  // well, or null. Nodes are named below `scope`. Those that are not in the forward graph are added
  // to `made` if it is not null.
  BackwardLoop(Graph* graph, ForwardControlFlow* forward, int loop, GraphRegion* outside,
               const std::string& scope, const std::string& source, std::vector<const Node*>* made);

  // Makes what counts the iterations, forward and backward. To be called first.
  Status Begin();
  // A new variable of the loop; `first` is outside of it.
  FrameVariable Variable(const Output& first) { return frame_.Variable(first); }
  void SetNext(const FrameVariable& variable, const Output& next) {
    frame_.SetNext(variable, next);
  }
  // The value of a variable after the loop.
  Output Exit(const FrameVariable& variable);
  // The value of a variable of the forward loop after it.
  Output ValueAfter(const LoopVariable& variable);
  // The first error of the functions above.
  Status status() const;

  // UNIMPLEMENTED for a tensor of a loop inside of the forward loop, and for a resource, other than
  // an array, that is not the same in all iterations.
  StatusOr<Output> Inside(const Output& tensor) override;
  const Node* pivot() const override { return pivot_; }
  void NoteMade(const Node* node) override { made_.insert(node); }

 private:
  // Adds a variable to the forward loop that counts its iterations. Returns their number.
  Output CountForward();
  // Adds the variable that falls from `count` to 0.
  void CountBackward(const Output& count);
  // The value of a variable after the forward loop.
  Output ForwardExit(const FrameVariable& variable);
  // A tensor of the forward graph in the region around the backward loop.
  StatusOr<Output> FromAround(const Output& tensor);
  bool IsInvariant(const Node& enter) const;

  StatusOr<Output> FromForward(const Output& tensor);
  // True for a branch in the body of the forward loop.
  bool IsInLoop(int branch) const;
  // The value of `source`, a tensor of the forward loop, live where the branch was taken: what
  // reads it must not run where the forward graph did not.
  StatusOr<Output> InBranch(const Output& source, int number);
  // The same, but live in every iteration. What it is where `source` is dead is not defined.
  StatusOr<Output> Always(const Output& source);
  // By a list.
  StatusOr<Output> Kept(const Output& tensor);
  // A handle of a resource that belongs to another one, such as the gradient of an array.
  StatusOr<Output> MadeAgain(const Output& handle);
  // Adds a list to the forward loop that keeps `tensor`. Returns the list after the loop.
  Output KeepForward(const Output& tensor);
  // In the forward loop: `tensor` where it is live, else some value of its type.
  Output LiveForward(Output tensor);
  // In the forward loop: `value` where the branch is taken.
  Output ForwardInBranch(const Output& value, int number);
  Output ForwardInBranch(const Output& value, const Output& predicate, int taken);
  // Around the forward loop: some value of the type of `tensor`, and of its shape if that is known.
  Output ZeroAround(const Output& tensor);

  ForwardControlFlow* const forward_;
  const int number_;
  const Loop loop_;
  GraphRegion* const outside_region_;
  GraphBuilder around_forward_;  // in the loop around the forward loop
  GraphBuilder in_forward_;
  GraphBuilder around_;  // in the region around the backward loop
  GraphBuilder inside_;  // for the frame of the backward loop
  GraphBuilder body_;
  FrameBuilder forward_frame_;
  FrameBuilder frame_;
  int branch_ = 0;  // that the forward loop is in
  const Node* pivot_ = nullptr;
  absl::flat_hash_set<const Node*> made_;
  absl::flat_hash_map<Output, Output> known_;                      // results of Inside
  absl::flat_hash_map<Output, Output> always_;                     // results of Always
  absl::flat_hash_map<std::pair<Output, int>, Output> in_branch_;  // results of InBranch
};

}  // namespace millstream

#endif  // MILLSTREAM_CORE_GRADIENTS_BACKWARD_LOOP_H_
