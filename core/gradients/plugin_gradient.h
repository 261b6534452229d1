// Gradients of ops that plugins registered, and the table "ms.grad/1".
#ifndef MILLSTREAM_CORE_GRADIENTS_PLUGIN_GRADIENT_H_
#define MILLSTREAM_CORE_GRADIENTS_PLUGIN_GRADIENT_H_

#include "core/gradients/gradient_registry.h"
#include "framework/plugin/plugin.h"
#include "framework/status.h"

namespace millstream {

// The gradient function of every op whose plugin gave one: calls it. Thread-safe.
Status AddPluginGradient(GradientContext* context);

// Plugins find it by its id in every program that this is linked into.
const MS_GradApi* GradApi();

}  // namespace millstream

#endif  // MILLSTREAM_CORE_GRADIENTS_PLUGIN_GRADIENT_H_
