// Arithmetic that gradient functions share.
//
// The gradient g of a complex x is defined so that dx changes the loss by Re(conj(g) dx). Therefore
// a complex gradient is multiplied by the conjugate of the derivative.
#ifndef MILLSTREAM_CORE_GRADIENTS_MATH_HELPERS_H_
#define MILLSTREAM_CORE_GRADIENTS_MATH_HELPERS_H_

#include "core/gradients/gradient_registry.h"

namespace millstream {

Output Scaled(GradientContext* context, Output tensor, double factor);
Output Mul(GradientContext* context, Output a, Output b);
// The complex conjugate; a real tensor itself.
Output Conjugate(GradientContext* context, Output tensor);
// Sets the gradients of both inputs of a broadcasting op.
void SetBroadcastDx(GradientContext* context, Output dx0, Output dx1);

}  // namespace millstream

#endif  // MILLSTREAM_CORE_GRADIENTS_MATH_HELPERS_H_
