// The updates of optimizers that came later than those of training.cc: with signs, with the largest
// moment, with steps for gradients.
#include "framework/ops/optimizer_op.h"
#include "framework/ops/type_sets.h"
#include "framework/ops/variable_updates.h"
#include "framework/shape_context.h"

namespace millstream {
namespace {

MILLSTREAM_OPTIMIZER_OP("ApplyAdagradV2", "var", "accum")
    .Input("lr: T")
    .Input("epsilon: T")
    .Gradient("grad", "T")
    .Attr(TypeAttr("T", kNumberTypes))
    .Attr("use_locking: bool = false")
    .Attr("update_slots: bool = true")
    .Shape(StepShape<2, 4>)
    .Doc(R"(Goes one step of Adagrad, with a number that keeps the rate finite.

As ResourceApplyAdagrad, but var -= lr * grad / (sqrt(accum) + epsilon).)");

MILLSTREAM_OPTIMIZER_OP("SparseApplyAdagradV2", "var", "accum")
    .Input("lr: T")
    .Input("epsilon: T")
    .Input("grad: T")
    .Input("indices: Tindices")
    .Attr(TypeAttr("T", kNumberTypes))
    .Attr(TypeAttr("Tindices", kIndexTypes))
    .Attr("use_locking: bool = false")
    .Attr("update_slots: bool = true")
    .Shape(RowsShape<2, 4, 5>)
    .Doc(R"(Goes one step of ResourceApplyAdagradV2 in some rows of var and accum.

grad holds a row for each element of the vector indices; a row that is named several times goes
as many steps, one after the other. All other rows stay. lr and epsilon are scalars.
INVALID_ARGUMENT for an index outside.)");

MILLSTREAM_OPTIMIZER_OP("ApplyAdaMax", "var", "m", "v")
    .Input("beta1_power: T")
    .Input("lr: T")
    .Input("beta1: T")
    .Input("beta2: T")
    .Input("epsilon: T")
    .Gradient("grad", "T")
    .Attr(TypeAttr("T", kNumberTypes))
    .Attr("use_locking: bool = false")
    .Shape(StepShape<3, 8>)
    .Doc(R"(Goes one step of AdaMax (Kingma and Ba, 2015, section 7.1).

m += (1 - beta1) * (grad - m) and v = max(beta2 * v, |grad|); then var -= lr / (1 - beta1_power) *
m / (v + epsilon). beta1_power is the power of beta1 up to this step. m, v and grad have var's
shape; the others are scalars.)");

MILLSTREAM_OPTIMIZER_OP("ApplyAddSign", "var", "m")
    .Input("lr: T")
    .Input("alpha: T")
    .Input("sign_decay: T")
    .Input("beta: T")
    .Gradient("grad", "T")
    .Attr(TypeAttr("T", kNumberTypes))
    .Attr("use_locking: bool = false")
    .Shape(StepShape<2, 6>)
    .Doc(R"(Goes one step of AddSign (Bello et al., 2017).

m = beta * m + (1 - beta) * grad; then var -= lr * (alpha + sign_decay * sign(grad) * sign(m)) *
grad. m and grad have var's shape; the others are scalars.)");

MILLSTREAM_OPTIMIZER_OP("ApplyPowerSign", "var", "m")
    .Input("lr: T")
    .Input("logbase: T")
    .Input("sign_decay: T")
    .Input("beta: T")
    .Gradient("grad", "T")
    .Attr(TypeAttr("T", kNumberTypes))
    .Attr("use_locking: bool = false")
    .Shape(StepShape<2, 6>)
    .Doc(R"(Goes one step of PowerSign (Bello et al., 2017).

m = beta * m + (1 - beta) * grad; then var -= lr * exp(logbase * sign_decay * sign(grad) *
sign(m)) * grad. m and grad have var's shape; the others are scalars.)");

MILLSTREAM_OPTIMIZER_OP("ApplyAdamWithAmsgrad", "var", "m", "v", "vhat")
    .NotOnReferences()
    .Input("beta1_power: T")
    .Input("beta2_power: T")
    .Input("lr: T")
    .Input("beta1: T")
    .Input("beta2: T")
    .Input("epsilon: T")
    .Gradient("grad", "T")
    .Attr(TypeAttr("T", kNumberTypes))
    .Attr("use_locking: bool = false")
    .Shape(StepShape<4, 10>)
    .Doc(R"(Goes one step of Adam whose rate never grows (Reddi, Kale and Kumar, 2018).

As ResourceApplyAdam, but vhat = max(vhat, v), of var's shape, is in the place of v under the
root.)");

MILLSTREAM_OPTIMIZER_OP("ApplyKerasMomentum", "var", "accum")
    .NotOnReferences()
    .Input("lr: T")
    .Gradient("grad", "T")
    .Input("momentum: T")
    .Attr(TypeAttr("T", kNumberTypes))
    .Attr("use_locking: bool = false")
    .Attr("use_nesterov: bool = false")
    .Shape(StepShape<2, 3>)
    .Doc(R"(Goes one step of gradient descent with momentum, of steps instead of gradients.

accum = momentum * accum - lr * grad; then var += accum or, with use_nesterov, var += momentum *
accum - lr * grad. lr and momentum are scalars; accum and grad have var's shape.)");

MILLSTREAM_OPTIMIZER_OP("SparseApplyKerasMomentum", "var", "accum")
    .NotOnReferences()
    .Input("lr: T")
    .Input("grad: T")
    .Input("indices: Tindices")
    .Input("momentum: T")
    .Attr(TypeAttr("T", kNumberTypes))
    .Attr(TypeAttr("Tindices", kIndexTypes))
    .Attr("use_locking: bool = false")
    .Attr("use_nesterov: bool = false")
    .Shape(RowsShape<2, 3, 4>)
    .Doc(R"(Goes one step of ResourceApplyKerasMomentum in some rows of var and accum.

grad holds a row for each element of the vector indices; a row that is named several times goes
as many steps, one after the other. All other rows stay. lr and momentum are scalars.
INVALID_ARGUMENT for an index outside.)");

}  // namespace
}  // namespace millstream
