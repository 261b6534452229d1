// Shape inference of ops that plugins registered, and the table "ms.shape/1".
#ifndef MILLSTREAM_FRAMEWORK_PLUGIN_HOST_SHAPE_H_
#define MILLSTREAM_FRAMEWORK_PLUGIN_HOST_SHAPE_H_

#include "framework/plugin/plugin.h"
#include "framework/shape_context.h"
#include "framework/status.h"

namespace millstream {

const MS_Table* ShapeInterface();

// The shape function of all ops whose plugin has one. It calls the plugin's function. Thread-safe.
Status InferPluginShape(ShapeContext* context);

}  // namespace millstream

#endif  // MILLSTREAM_FRAMEWORK_PLUGIN_HOST_SHAPE_H_
