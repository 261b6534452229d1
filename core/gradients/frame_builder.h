// Adds variables and invariants to a loop: one that is there, or one that is being made.
#ifndef MILLSTREAM_CORE_GRADIENTS_FRAME_BUILDER_H_
#define MILLSTREAM_CORE_GRADIENTS_FRAME_BUILDER_H_

#include <cstdint>
#include <string>

#include "core/graph/graph.h"
#include "core/graph/graph_builder.h"

namespace millstream {

// A variable that was added to a loop.
struct FrameVariable {
  Output merged;                   // in the condition
  const Node* decision = nullptr;  // the Switch
  // In the body.
  Output now() const { return decision == nullptr ? Output() : decision->output(1); }
};

// Keeps the first error, like the builder that it adds nodes with. Not thread-safe.
class FrameBuilder {
 public:
  // Nodes are added by `builder`. `region`, which may be null, is told of those in the loop.
  FrameBuilder(GraphBuilder* builder, GraphRegion* region, std::string frame_name,
               int64_t parallel_iterations)
      : builder_(builder),
        region_(region),
        frame_name_(std::move(frame_name)),
        parallel_iterations_(parallel_iterations) {}

  void set_condition(const Output& condition) { condition_ = condition; }

  // A tensor from outside that is the same in all iterations.
  Output Invariant(const Output& value) { return Enter(value, true); }
  // What the condition reads of a variable. `first` is its value before the first iteration.
  Output Merged(const Output& first);
  // The same variable in the body. REQUIRES: the condition is set.
  FrameVariable Decided(const Output& merged);
  FrameVariable Variable(const Output& first) { return Decided(Merged(first)); }
  // The value in the next iteration.
  void SetNext(const FrameVariable& variable, const Output& next);
  // The value after the loop. The node is outside of the loop.
  Output Exit(const FrameVariable& variable);
  // An op in the loop, whose inputs are there too.
  Output Op(const char* op, const std::vector<Output>& inputs);

 private:
  Output Enter(const Output& value, bool is_constant);
  Output Noted(const Output& output);

  GraphBuilder* const builder_;
  GraphRegion* const region_;
  const std::string frame_name_;
  const int64_t parallel_iterations_;
  Output condition_;
};

}  // namespace millstream

#endif  // MILLSTREAM_CORE_GRADIENTS_FRAME_BUILDER_H_
