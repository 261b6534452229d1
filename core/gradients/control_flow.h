// Gradients of the ops of conditionals.
#ifndef MILLSTREAM_CORE_GRADIENTS_CONTROL_FLOW_H_
#define MILLSTREAM_CORE_GRADIENTS_CONTROL_FLOW_H_

#include <optional>

#include "core/gradients/branches.h"
#include "core/gradients/gradient_registry.h"

namespace millstream {

// Of a Merge of a conditional: a Switch sends the gradient to the branch that was taken. `choice`
// is the branch of the Merge's input 0; nothing gives UNIMPLEMENTED.
Status MergeGradient(GradientContext* context, const std::optional<Branch>& choice);
// Of a Switch of a conditional: a Merge takes the gradient of the branch that was taken.
Status SwitchGradient(GradientContext* context);

}  // namespace millstream

#endif  // MILLSTREAM_CORE_GRADIENTS_CONTROL_FLOW_H_
