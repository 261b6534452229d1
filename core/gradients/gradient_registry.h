// Gradient functions: how the gradient of an op's inputs follows from that of its outputs. The one
// way to add one, in core/gradients/<category>.cc:
//
//   Status TanhGradient(GradientContext* context) {
//     context->SetDx(0, context->builder()->Op("TanhGrad", {context->output(0), context->dy(0)}));
//     return absl::OkStatus();
//   }
//   MILLSTREAM_GRADIENT("Tanh", TanhGradient);
//   MILLSTREAM_NOT_DIFFERENTIABLE("Shape");
#ifndef MILLSTREAM_CORE_GRADIENTS_GRADIENT_REGISTRY_H_
#define MILLSTREAM_CORE_GRADIENTS_GRADIENT_REGISTRY_H_

#include <string>
#include <utility>
#include <vector>

#include "core/graph/graph.h"
#include "core/graph/graph_builder.h"
#include "framework/op_call.h"
#include "framework/status.h"

namespace millstream {

// A gradient: none, dense (`values` alone), or rows of a tensor: values[k] belongs to row
// indices[k] of a tensor of shape `dense_shape`; equal indices add up.
struct Gradient {
  Output values;
  Output indices;      // set for rows only
  Output dense_shape;  // set for rows only
  bool is_none() const { return !values; }
  bool is_slices() const { return static_cast<bool>(indices); }
};

// One call's backward step, added to the builder's graph. The call need be no node of that graph:
// its inputs and outputs are any tensors of it that have their values. Not thread-safe.
class GradientContext {
 public:
  // REQUIRES: `inputs` and `outputs` are as many, and of the types, as the call's, and `dy` has a
  // gradient for each output.
  GradientContext(const OpCall& call, std::vector<Output> inputs, std::vector<Output> outputs,
                  std::vector<Gradient> dy, GraphBuilder* builder)
      : call_(call),
        inputs_(std::move(inputs)),
        outputs_(std::move(outputs)),
        dy_(std::move(dy)),
        dx_(inputs_.size()),
        builder_(builder) {}

  const OpCall& call() const { return call_; }
  int num_inputs() const { return static_cast<int>(inputs_.size()); }
  int num_outputs() const { return static_cast<int>(outputs_.size()); }
  Output input(int i) const { return inputs_[i]; }
  Output output(int i) const { return outputs_[i]; }
  const AttrMap& attrs() const { return *call_.attrs; }
  template <typename T>
  StatusOr<T> Attr(absl::string_view name) const {
    return call_.Attr<T>(name);
  }
  GraphBuilder* builder() const { return builder_; }

  bool has_dy(int i) const { return !dy_[i].is_none(); }
  // The gradient of output i as a dense tensor: rows are added up; zeros when there is none.
  Output dy(int i);
  // As it came.
  const Gradient& raw_dy(int i) const { return dy_[i]; }

  // The gradient of input i; those that are not set have none.
  void SetDx(int i, Output dense) { dx_[i] = Gradient{dense, {}, {}}; }
  void SetDx(int i, Gradient gradient) { dx_[i] = gradient; }
  const std::vector<Gradient>& dx() const { return dx_; }

 private:
  const OpCall call_;
  const std::vector<Output> inputs_;
  const std::vector<Output> outputs_;
  std::vector<Gradient> dy_;
  std::vector<Gradient> dx_;
  GraphBuilder* builder_;
};

using GradientFunction = Status (*)(GradientContext* context);

// Rows added up into a dense tensor (UnsortedSegmentSum); a dense gradient as it is.
Output DenseGradient(GraphBuilder* builder, const Gradient& gradient);

// Thread-safe. `function` null: the op is not differentiable, its inputs have no gradient.
Status RegisterGradient(const std::string& op, GradientFunction function);
// NOT_FOUND when the op has neither. That of a plugin's op came with the op.
StatusOr<GradientFunction> FindGradient(absl::string_view op);
// Ops with a registered gradient function (not those marked not differentiable), by name.
std::vector<std::string> DifferentiableOps();

// Registers at start-up; a second registration aborts: it is a bug of ours.
class GradientRegistration {
 public:
  GradientRegistration(const char* op, GradientFunction function);
};

}  // namespace millstream

#define MS_GRADIENT_CONCAT_INNER(a, b) a##b
#define MS_GRADIENT_CONCAT(a, b) MS_GRADIENT_CONCAT_INNER(a, b)
#define MILLSTREAM_GRADIENT(op, function)                                                     \
  static const ::millstream::GradientRegistration MS_GRADIENT_CONCAT(gradient_, __COUNTER__)( \
      op, function)
#define MILLSTREAM_NOT_DIFFERENTIABLE(op) MILLSTREAM_GRADIENT(op, nullptr)

#endif  // MILLSTREAM_CORE_GRADIENTS_GRADIENT_REGISTRY_H_
