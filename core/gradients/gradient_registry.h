// Gradient functions compute the gradients of an op's inputs from those of its outputs. To add one,
// write in core/gradients/<category>.cc:
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

// A gradient: none, dense (only `values` is set), or rows: values[k] is added to row indices[k] of
// a tensor of zeros of shape `dense_shape`.
struct Gradient {
  Output values;
  Output indices;      // set for rows only
  Output dense_shape;  // set for rows only
  bool is_none() const { return !values; }
  bool is_slices() const { return static_cast<bool>(indices); }
};

// The arguments and results of one call of a gradient function. The function adds operations to the
// graph of the builder. The call that it differentiates need not be a node of that graph: input(i)
// and output(i) are tensors of the graph with the values of the call's inputs and outputs. Not
// thread-safe.
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
        lacks_dx_(inputs_.size()),
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
  // The gradient of output i as a dense tensor; zeros if there is none.
  Output dy(int i);
  // The gradient of output i in its original form: none, dense or rows.
  const Gradient& raw_dy(int i) const { return dy_[i]; }

  // Sets the gradient of input i. An input that is not set has no gradient.
  void SetDx(int i, Output dense) { dx_[i] = Gradient{dense, {}, {}}; }
  void SetDx(int i, Gradient gradient) { dx_[i] = gradient; }
  const std::vector<Gradient>& dx() const { return dx_; }
  // Input i has a gradient that nobody can compute. It is an error to want it.
  void SetNoDx(int i) { lacks_dx_[i] = true; }
  bool lacks_dx(int i) const { return lacks_dx_[i]; }

 private:
  const OpCall call_;
  const std::vector<Output> inputs_;
  const std::vector<Output> outputs_;
  std::vector<Gradient> dy_;
  std::vector<Gradient> dx_;
  std::vector<bool> lacks_dx_;
  GraphBuilder* builder_;
};

using GradientFunction = Status (*)(GradientContext* context);

// Adds rows up to a dense tensor (UnsortedSegmentSum). Returns a dense gradient unchanged.
Output DenseGradient(GraphBuilder* builder, const Gradient& gradient);

// Registers the gradient function of an op. `function` null: the op is not differentiable.
// ALREADY_EXISTS if the op has one. Thread-safe.
Status RegisterGradient(const std::string& op, GradientFunction function);
// The gradient function of an op, also of a plugin's op; null if the op is registered as not
// differentiable. NOT_FOUND if neither is registered. Thread-safe.
StatusOr<GradientFunction> FindGradient(absl::string_view op);
// Ops with a registered gradient function (not those marked not differentiable), by name.
std::vector<std::string> DifferentiableOps();

// Registers at start-up. Aborts if the op is registered already.
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
