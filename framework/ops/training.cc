// The updates of optimizers, which change variables in place.
#include "framework/ops/optimizer_op.h"
#include "framework/ops/type_sets.h"
#include "framework/ops/update_bounds.h"
#include "framework/ops/variable_updates.h"
#include "framework/shape_context.h"

namespace millstream {
namespace {

MILLSTREAM_OPTIMIZER_OP("ApplyGradientDescent", "var")
    .Input("alpha: T")
    .Gradient("delta", "T")
    .Attr(TypeAttr("T", kNumberTypes))
    .Attr("use_locking: bool = false")
    .UpdateBounds(GradientDescentBounds)
    .Shape(StepShape<1, 2>)
    .Doc(R"(Goes one step of gradient descent: var -= alpha * delta.

alpha, the learning rate, is a scalar; delta, the gradient, has var's shape.)");

MILLSTREAM_OPTIMIZER_OP("ApplyMomentum", "var", "accum")
    .Input("lr: T")
    .Gradient("grad", "T")
    .Input("momentum: T")
    .Attr(TypeAttr("T", kNumberTypes))
    .Attr("use_locking: bool = false")
    .Attr("use_nesterov: bool = false")
    .UpdateBounds(MomentumBounds)
    .Shape(StepShape<2, 3>)
    .Doc(R"(Goes one step of gradient descent with momentum.

accum = accum * momentum + grad; then var -= lr * accum or, with use_nesterov, var -= lr *
(grad + momentum * accum). lr and momentum are scalars; grad has var's shape.)");

MILLSTREAM_OPTIMIZER_OP("ApplyAdagrad", "var", "accum")
    .Input("lr: T")
    .Gradient("grad", "T")
    .Attr(TypeAttr("T", kNumberTypes))
    .Attr("use_locking: bool = false")
    .Attr("update_slots: bool = true")
    .UpdateBounds(AdagradBounds)
    .Shape(StepShape<2, 3>)
    .Doc(R"(Goes one step of Adagrad (Duchi, Hazan and Singer, 2011).

accum += grad * grad, if update_slots is set; then var -= lr * grad / sqrt(accum). lr is a
scalar; grad has var's shape.)");

MILLSTREAM_OPTIMIZER_OP("ApplyAdam", "var", "m", "v")
    .Input("beta1_power: T")
    .Input("beta2_power: T")
    .Input("lr: T")
    .Input("beta1: T")
    .Input("beta2: T")
    .Input("epsilon: T")
    .Gradient("grad", "T")
    .Attr(TypeAttr("T", kNumberTypes))
    .Attr("use_locking: bool = false")
    .Attr("use_nesterov: bool = false")
    .UpdateBounds(AdamBounds)
    .Shape(StepShape<3, 9>)
    .Doc(R"(Goes one step of Adam (Kingma and Ba, 2015).

m and v, of var's shape, hold running means of grad and its square: m += (1 - beta1) * (grad
- m) and v += (1 - beta2) * (grad * grad - v). With rate = lr * sqrt(1 - beta2_power) / (1 -
beta1_power), var -= rate * m / (sqrt(v) + epsilon) or, with use_nesterov, with beta1 * m +
(1 - beta1) * grad in place of m. beta1_power and beta2_power are the powers of beta1 and
beta2 up to this step. All but var, m, v and grad are scalars.)");

MILLSTREAM_OPTIMIZER_OP("ApplyRMSProp", "var", "ms", "mom")
    .Input("lr: T")
    .Input("rho: T")
    .Input("momentum: T")
    .Input("epsilon: T")
    .Gradient("grad", "T")
    .Attr(TypeAttr("T", kNumberTypes))
    .Attr("use_locking: bool = false")
    .Shape(StepShape<3, 7>)
    .Doc(R"(Goes one step of RMSProp (Tieleman and Hinton, 2012).

ms holds a running mean of the square of grad: ms += (1 - rho) * (grad * grad - ms). Then mom =
momentum * mom + lr * grad / sqrt(ms + epsilon) and var -= mom. ms, mom and grad have var's
shape; the others are scalars.)");

MILLSTREAM_OPTIMIZER_OP("ApplyCenteredRMSProp", "var", "mg", "ms", "mom")
    .Input("lr: T")
    .Input("rho: T")
    .Input("momentum: T")
    .Input("epsilon: T")
    .Gradient("grad", "T")
    .Attr(TypeAttr("T", kNumberTypes))
    .Attr("use_locking: bool = false")
    .Shape(StepShape<4, 8>)
    .Doc(R"(Goes one step of RMSProp, by the variance of the gradient (Graves, 2013).

mg and ms hold running means of grad and of its square: mg += (1 - rho) * (grad - mg) and ms +=
(1 - rho) * (grad * grad - ms). Then mom = momentum * mom + lr * grad / sqrt(ms - mg * mg +
epsilon) and var -= mom. mg, ms, mom and grad have var's shape; the others are scalars.)");

MILLSTREAM_OPTIMIZER_OP("ApplyAdadelta", "var", "accum", "accum_update")
    .Input("lr: T")
    .Input("rho: T")
    .Input("epsilon: T")
    .Gradient("grad", "T")
    .Attr(TypeAttr("T", kNumberTypes))
    .Attr("use_locking: bool = false")
    .Shape(StepShape<3, 6>)
    .Doc(R"(Goes one step of Adadelta (Zeiler, 2012).

accum and accum_update hold running means of the squares of grad and of the update: accum += (1
- rho) * (grad * grad - accum); update = sqrt(accum_update + epsilon) / sqrt(accum + epsilon) *
grad; accum_update += (1 - rho) * (update * update - accum_update). Then var -= lr * update.
accum, accum_update and grad have var's shape; the others are scalars.)");

MILLSTREAM_OPTIMIZER_OP("SparseApplyMomentum", "var", "accum")
    .Input("lr: T")
    .Input("grad: T")
    .Input("indices: Tindices")
    .Input("momentum: T")
    .Attr(TypeAttr("T", kNumberTypes))
    .Attr(TypeAttr("Tindices", kIndexTypes))
    .Attr("use_locking: bool = false")
    .Attr("use_nesterov: bool = false")
    .Shape(RowsShape<2, 3, 4>)
    .Doc(R"(Goes one step of ResourceApplyMomentum in some rows of var and accum.

grad holds a row for each element of the vector indices; a row that is named several times goes
as many steps, one after the other. All other rows stay. lr and momentum are scalars.
INVALID_ARGUMENT for an index outside.)");

MILLSTREAM_OPTIMIZER_OP("SparseApplyAdagrad", "var", "accum")
    .Input("lr: T")
    .Input("grad: T")
    .Input("indices: Tindices")
    .Attr(TypeAttr("T", kNumberTypes))
    .Attr(TypeAttr("Tindices", kIndexTypes))
    .Attr("use_locking: bool = false")
    .Attr("update_slots: bool = true")
    .Shape(RowsShape<2, 3, 4>)
    .Doc(R"(Goes one step of ResourceApplyAdagrad in some rows of var and accum.

grad holds a row for each element of the vector indices; a row that is named several times goes
as many steps, one after the other. All other rows stay. lr is a scalar. INVALID_ARGUMENT for an
index outside.)");

MILLSTREAM_OPTIMIZER_OP("SparseApplyRMSProp", "var", "ms", "mom")
    .Input("lr: T")
    .Input("rho: T")
    .Input("momentum: T")
    .Input("epsilon: T")
    .Input("grad: T")
    .Input("indices: Tindices")
    .Attr(TypeAttr("T", kNumberTypes))
    .Attr(TypeAttr("Tindices", kIndexTypes))
    .Attr("use_locking: bool = false")
    .Shape(RowsShape<3, 7, 8>)
    .Doc(R"(Goes one step of ResourceApplyRMSProp in some rows of var, ms and mom.

grad holds a row for each element of the vector indices; a row that is named several times goes
as many steps, one after the other. All other rows stay. lr, rho, momentum and epsilon are scalars.
INVALID_ARGUMENT for an index outside.)");

MILLSTREAM_OPTIMIZER_OP("SparseApplyCenteredRMSProp", "var", "mg", "ms", "mom")
    .Input("lr: T")
    .Input("rho: T")
    .Input("momentum: T")
    .Input("epsilon: T")
    .Input("grad: T")
    .Input("indices: Tindices")
    .Attr(TypeAttr("T", kNumberTypes))
    .Attr(TypeAttr("Tindices", kIndexTypes))
    .Attr("use_locking: bool = false")
    .Shape(RowsShape<4, 8, 9>)
    .Doc(R"(Goes one step of ResourceApplyCenteredRMSProp in some rows of var, mg, ms and mom.

grad holds a row for each element of the vector indices; a row that is named several times goes
as many steps, one after the other. All other rows stay. lr, rho, momentum and epsilon are scalars.
INVALID_ARGUMENT for an index outside.)");

MILLSTREAM_OPTIMIZER_OP("SparseApplyAdadelta", "var", "accum", "accum_update")
    .Input("lr: T")
    .Input("rho: T")
    .Input("epsilon: T")
    .Input("grad: T")
    .Input("indices: Tindices")
    .Attr(TypeAttr("T", kNumberTypes))
    .Attr(TypeAttr("Tindices", kIndexTypes))
    .Attr("use_locking: bool = false")
    .Shape(RowsShape<3, 6, 7>)
    .Doc(R"(Goes one step of ResourceApplyAdadelta in some rows of var, accum and accum_update.

grad holds a row for each element of the vector indices; a row that is named several times goes
as many steps, one after the other. All other rows stay. lr, rho and epsilon are scalars.
INVALID_ARGUMENT for an index outside.)");

MILLSTREAM_OPTIMIZER_OP("ApplyProximalGradientDescent", "var")
    .Input("alpha: T")
    .Input("l1: T")
    .Input("l2: T")
    .Gradient("delta", "T")
    .Attr(TypeAttr("T", kNumberTypes))
    .Attr("use_locking: bool = false")
    .Shape(StepShape<1, 4>)
    .Doc(R"(Goes one step of gradient descent with a penalty (Duchi and Singer, 2009).

With prox = var - alpha * delta, var = sign(prox) * max(|prox| - alpha * l1, 0) / (1 + alpha *
l2). alpha, l1 and l2 are scalars; delta, the gradient, has var's shape.)");

MILLSTREAM_OPTIMIZER_OP("SparseApplyProximalGradientDescent", "var")
    .Input("alpha: T")
    .Input("l1: T")
    .Input("l2: T")
    .Input("grad: T")
    .Input("indices: Tindices")
    .Attr(TypeAttr("T", kNumberTypes))
    .Attr(TypeAttr("Tindices", kIndexTypes))
    .Attr("use_locking: bool = false")
    .Shape(RowsShape<1, 4, 5>)
    .Doc(R"(Goes one step of ResourceApplyProximalGradientDescent in some rows of var.

grad holds a row for each element of the vector indices; a row that is named several times goes
as many steps, one after the other. All other rows stay. alpha, l1 and l2 are scalars.
INVALID_ARGUMENT for an index outside.)");

MILLSTREAM_OPTIMIZER_OP("ApplyProximalAdagrad", "var", "accum")
    .Input("lr: T")
    .Input("l1: T")
    .Input("l2: T")
    .Gradient("grad", "T")
    .Attr(TypeAttr("T", kNumberTypes))
    .Attr("use_locking: bool = false")
    .Shape(StepShape<2, 5>)
    .Doc(R"(Goes one step of Adagrad with a penalty (Duchi, Hazan and Singer, 2011).

accum += grad * grad. With rate = lr / sqrt(accum) and prox = var - rate * grad, var = sign(prox)
* max(|prox| - rate * l1, 0) / (1 + rate * l2). lr, l1 and l2 are scalars; grad has var's shape.)");

MILLSTREAM_OPTIMIZER_OP("SparseApplyProximalAdagrad", "var", "accum")
    .Input("lr: T")
    .Input("l1: T")
    .Input("l2: T")
    .Input("grad: T")
    .Input("indices: Tindices")
    .Attr(TypeAttr("T", kNumberTypes))
    .Attr(TypeAttr("Tindices", kIndexTypes))
    .Attr("use_locking: bool = false")
    .Shape(RowsShape<2, 5, 6>)
    .Doc(R"(Goes one step of ResourceApplyProximalAdagrad in some rows of var and accum.

grad holds a row for each element of the vector indices; a row that is named several times goes
as many steps, one after the other. All other rows stay. lr, l1 and l2 are scalars.
INVALID_ARGUMENT for an index outside.)");

MILLSTREAM_OPTIMIZER_OP("ApplyFtrl", "var", "accum", "linear")
    .Gradient("grad", "T")
    .Input("lr: T")
    .Input("l1: T")
    .Input("l2: T")
    .Input("lr_power: T")
    .Attr(TypeAttr("T", kNumberTypes))
    .Attr("use_locking: bool = false")
    .Shape(StepShape<3, 3>)
    .Doc(R"(Goes one step of FTRL-proximal (McMahan and others, 2013).

With p = -lr_power and sum = accum + grad * grad, linear += grad - (sum^p - accum^p) / lr * var;
then accum = sum, and var = (sign(linear) * l1 - linear) / (sum^p / lr + 2 * l2) where |linear| is
greater than l1, and 0 elsewhere. accum, linear and grad have var's shape; the others are scalars.)");

MILLSTREAM_OPTIMIZER_OP("SparseApplyFtrl", "var", "accum", "linear")
    .Input("grad: T")
    .Input("indices: Tindices")
    .Input("lr: T")
    .Input("l1: T")
    .Input("l2: T")
    .Input("lr_power: T")
    .Attr(TypeAttr("T", kNumberTypes))
    .Attr(TypeAttr("Tindices", kIndexTypes))
    .Attr("use_locking: bool = false")
    .Shape(RowsShape<3, 3, 4>)
    .Doc(R"(Goes one step of ResourceApplyFtrl in some rows of var, accum and linear.

grad holds a row for each element of the vector indices; a row that is named several times goes
as many steps, one after the other. All other rows stay. The others are scalars.
INVALID_ARGUMENT for an index outside.)");

MILLSTREAM_OPTIMIZER_OP("ApplyFtrlV2", "var", "accum", "linear")
    .Gradient("grad", "T")
    .Input("lr: T")
    .Input("l1: T")
    .Input("l2: T")
    .Input("l2_shrinkage: T")
    .Input("lr_power: T")
    .Attr(TypeAttr("T", kNumberTypes))
    .Attr("use_locking: bool = false")
    .Shape(StepShape<3, 3>)
    .Doc(R"(Goes one step of FTRL-proximal that shrinks var by its gradient.

As ResourceApplyFtrl, but linear grows by 2 * l2_shrinkage * var more; accum does not.)");

MILLSTREAM_OPTIMIZER_OP("SparseApplyFtrlV2", "var", "accum", "linear")
    .Input("grad: T")
    .Input("indices: Tindices")
    .Input("lr: T")
    .Input("l1: T")
    .Input("l2: T")
    .Input("l2_shrinkage: T")
    .Input("lr_power: T")
    .Attr(TypeAttr("T", kNumberTypes))
    .Attr(TypeAttr("Tindices", kIndexTypes))
    .Attr("use_locking: bool = false")
    .Shape(RowsShape<3, 3, 4>)
    .Doc(R"(Goes one step of ResourceApplyFtrlV2 in some rows of var, accum and linear.

grad holds a row for each element of the vector indices; a row that is named several times goes
as many steps, one after the other. All other rows stay. The others are scalars.
INVALID_ARGUMENT for an index outside.)");

MILLSTREAM_OPTIMIZER_OP("ApplyAdagradDA", "var", "gradient_accumulator",
                        "gradient_squared_accumulator")
    .Gradient("grad", "T")
    .Input("lr: T")
    .Input("l1: T")
    .Input("l2: T")
    .Input("global_step: int64")
    .Attr(TypeAttr("T", kNumberTypes))
    .Attr("use_locking: bool = false")
    .Shape(StepShape<3, 3>)
    .Doc(R"(Goes one step of Adagrad by dual averaging (Duchi, Hazan and Singer, 2011).

sum is gradient_accumulator and squares is gradient_squared_accumulator: sum += grad and squares +=
grad * grad; then var = -lr * shrunk / (sqrt(squares) + lr * l2 * global_step), where shrunk =
sign(sum) * max(|sum| - l1 * global_step, 0). global_step is the number of this step, the first of
which is 1. sum, squares and grad have var's shape; the others are scalars.)");

MILLSTREAM_OPTIMIZER_OP("SparseApplyAdagradDA", "var", "gradient_accumulator",
                        "gradient_squared_accumulator")
    .Input("grad: T")
    .Input("indices: Tindices")
    .Input("lr: T")
    .Input("l1: T")
    .Input("l2: T")
    .Input("global_step: int64")
    .Attr(TypeAttr("T", kNumberTypes))
    .Attr(TypeAttr("Tindices", kIndexTypes))
    .Attr("use_locking: bool = false")
    .Shape(RowsShape<3, 3, 4>)
    .Doc(R"(Goes one step of ResourceApplyAdagradDA in some rows of the three variables.

grad holds a row for each element of the vector indices; a row that is named several times goes
as many steps, one after the other. All other rows stay. The others are scalars.
INVALID_ARGUMENT for an index outside.)");

}  // namespace
}  // namespace millstream
