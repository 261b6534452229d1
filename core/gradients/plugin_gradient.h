// Gradients of ops that plugins registered, and the table "ms.grad/1".
#ifndef MILLSTREAM_CORE_GRADIENTS_PLUGIN_GRADIENT_H_
#define MILLSTREAM_CORE_GRADIENTS_PLUGIN_GRADIENT_H_

#include "core/gradients/gradient_registry.h"
#include "framework/plugin/plugin.h"
#include "framework/status.h"

namespace millstream {

// The gradient function of all ops whose plugin has one. It calls the plugin's function.
// Thread-safe.
Status AddPluginGradient(GradientContext* context);

// The table "ms.grad/1", which is available to plugins in every program that links this file.
const MS_GradApi* GradApi();

}  // namespace millstream

#endif  // MILLSTREAM_CORE_GRADIENTS_PLUGIN_GRADIENT_H_
