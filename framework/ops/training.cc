// Steps of the optimizers, which change variables in place.
#include <utility>

#include "framework/op_registry.h"
#include "framework/ops/op_errors.h"
#include "framework/ops/type_sets.h"
#include "framework/ops/variable_handles.h"
#include "framework/shape_context.h"

namespace millstream {
namespace {

// What is known of the shape that the variable of input i and those before it, of `shape`, have.
StatusOr<PartialShape> MergeVariables(const ShapeContext& context, int i, DataType dtype,
                                      const PartialShape& shape) {
  MS_ASSIGN_OR_RETURN(PartialShape variable, VariableShape(context, i, dtype));
  StatusOr<PartialShape> merged = shape.MergeWith(variable);
  if (merged.ok()) return merged;
  return InvalidInput(context, i, "expected a variable of shape ", shape.ToString(),
                      ", got one of ", variable.ToString());
}

// An optimizer's inputs: `handles` variables, then scalars and, at `gradient`, the gradient. The
// variables and the gradient have one shape and type.
Status OptimizerStepShape(const ShapeContext& context, int handles, int gradient) {
  MS_ASSIGN_OR_RETURN(DataType dtype, context.Attr<DataType>("T"));
  PartialShape shape;
  for (int i = 0; i < handles; ++i) {
    MS_ASSIGN_OR_RETURN(shape, MergeVariables(context, i, dtype, shape));
  }
  for (int i = handles; i < context.num_inputs(); ++i) {
    if (i != gradient) MS_RETURN_IF_ERROR(context.WithRank(i, 0).status());
  }
  return MergeWithVariable(context, gradient, shape).status();
}

template <int handles, int gradient>
Status StepShape(ShapeContext* context) {
  return OptimizerStepShape(*context, handles, gradient);
}

// As OptimizerStepShape for some rows of the variables: the gradient has a row for each element of
// the vector `indices`.
Status SparseStepShape(const ShapeContext& context, int handles, int gradient, int indices) {
  MS_ASSIGN_OR_RETURN(DataType dtype, context.Attr<DataType>("T"));
  PartialShape shape;
  for (int i = 0; i < handles; ++i) {
    MS_ASSIGN_OR_RETURN(shape, MergeVariables(context, i, dtype, shape));
  }
  for (int i = handles; i < context.num_inputs(); ++i) {
    if (i != gradient && i != indices) MS_RETURN_IF_ERROR(context.WithRank(i, 0).status());
  }
  MS_ASSIGN_OR_RETURN(PartialShape places, context.WithRank(indices, 1));
  if (!shape.known_rank()) return absl::OkStatus();
  if (shape.rank() == 0) {
    return InvalidInput(context, 0, "expected a variable that has rows, got a scalar");
  }
  shape.set_dim(0, places.dim(0));
  if (shape.MergeWith(context.input(gradient)).ok()) return absl::OkStatus();
  return InvalidInput(context, gradient, "expected a row of the variable for each of '",
                      context.InputName(indices), "', ", shape.ToString(), ", got ",
                      context.input(gradient).ToString());
}

template <int handles, int gradient, int indices>
Status RowsShape(ShapeContext* context) {
  return SparseStepShape(*context, handles, gradient, indices);
}

MILLSTREAM_OP("ResourceApplyGradientDescent")
    .Input("var: resource")
    .Input("alpha: T")
    .Input("delta: T")
    .Attr(TypeAttr("T", kNumberTypes))
    .Attr("use_locking: bool = false")
    .Stateful()
    .Shape(StepShape<1, 2>)
    .Doc(R"(Goes one step of gradient descent: var -= alpha * delta.

alpha, the learning rate, is a scalar; delta, the gradient, has var's shape.)");

MILLSTREAM_OP("ResourceApplyMomentum")
    .Input("var: resource")
    .Input("accum: resource")
    .Input("lr: T")
    .Input("grad: T")
    .Input("momentum: T")
    .Attr(TypeAttr("T", kNumberTypes))
    .Attr("use_locking: bool = false")
    .Attr("use_nesterov: bool = false")
    .Stateful()
    .Shape(StepShape<2, 3>)
    .Doc(R"(Goes one step of gradient descent with momentum.

accum = accum * momentum + grad; then var -= lr * accum or, with use_nesterov, var -= lr *
(grad + momentum * accum). lr and momentum are scalars; grad has var's shape.)");

MILLSTREAM_OP("ResourceApplyAdagrad")
    .Input("var: resource")
    .Input("accum: resource")
    .Input("lr: T")
    .Input("grad: T")
    .Attr(TypeAttr("T", kNumberTypes))
    .Attr("use_locking: bool = false")
    .Attr("update_slots: bool = true")
    .Stateful()
    .Shape(StepShape<2, 3>)
    .Doc(R"(Goes one step of Adagrad (Duchi, Hazan and Singer, 2011).

accum += grad * grad, if update_slots is set; then var -= lr * grad / sqrt(accum). lr is a
scalar; grad has var's shape.)");

MILLSTREAM_OP("ResourceApplyAdam")
    .Input("var: resource")
    .Input("m: resource")
    .Input("v: resource")
    .Input("beta1_power: T")
    .Input("beta2_power: T")
    .Input("lr: T")
    .Input("beta1: T")
    .Input("beta2: T")
    .Input("epsilon: T")
    .Input("grad: T")
    .Attr(TypeAttr("T", kNumberTypes))
    .Attr("use_locking: bool = false")
    .Attr("use_nesterov: bool = false")
    .Stateful()
    .Shape(StepShape<3, 9>)
    .Doc(R"(Goes one step of Adam (Kingma and Ba, 2015).

m and v, of var's shape, hold running means of grad and its square: m += (1 - beta1) * (grad
- m) and v += (1 - beta2) * (grad * grad - v). With rate = lr * sqrt(1 - beta2_power) / (1 -
beta1_power), var -= rate * m / (sqrt(v) + epsilon) or, with use_nesterov, with beta1 * m +
(1 - beta1) * grad in place of m. beta1_power and beta2_power are the powers of beta1 and
beta2 up to this step. All but var, m, v and grad are scalars.)");

MILLSTREAM_OP("ResourceSparseApplyMomentum")
    .Input("var: resource")
    .Input("accum: resource")
    .Input("lr: T")
    .Input("grad: T")
    .Input("indices: Tindices")
    .Input("momentum: T")
    .Attr(TypeAttr("T", kNumberTypes))
    .Attr(TypeAttr("Tindices", kIndexTypes))
    .Attr("use_locking: bool = false")
    .Attr("use_nesterov: bool = false")
    .Stateful()
    .Shape(RowsShape<2, 3, 4>)
    .Doc(R"(Goes one step of ResourceApplyMomentum in some rows of var and accum.

grad holds a row for each element of the vector indices; a row that is named several times goes
as many steps, one after the other. All other rows stay. lr and momentum are scalars.
INVALID_ARGUMENT for an index outside.)");

MILLSTREAM_OP("ResourceSparseApplyAdagrad")
    .Input("var: resource")
    .Input("accum: resource")
    .Input("lr: T")
    .Input("grad: T")
    .Input("indices: Tindices")
    .Attr(TypeAttr("T", kNumberTypes))
    .Attr(TypeAttr("Tindices", kIndexTypes))
    .Attr("use_locking: bool = false")
    .Attr("update_slots: bool = true")
    .Stateful()
    .Shape(RowsShape<2, 3, 4>)
    .Doc(R"(Goes one step of ResourceApplyAdagrad in some rows of var and accum.

grad holds a row for each element of the vector indices; a row that is named several times goes
as many steps, one after the other. All other rows stay. lr is a scalar. INVALID_ARGUMENT for an
index outside.)");

}  // namespace
}  // namespace millstream
