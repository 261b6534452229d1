// Ops that plugins bring: reading their definitions, and the functions that come with them.
#ifndef MILLSTREAM_FRAMEWORK_PLUGIN_OP_REGISTRATION_H_
#define MILLSTREAM_FRAMEWORK_PLUGIN_OP_REGISTRATION_H_

#include "absl/strings/string_view.h"
#include "framework/op_def.h"
#include "framework/plugin/plugin.h"
#include "framework/status.h"

namespace millstream {

using PluginShapeFunction = MS_Status* (*)(void* user, MS_ShapeCtx* ctx);
using PluginGradientFunction = MS_Status* (*)(void* user, MS_GradCtx* ctx);

// What came with a plugin's op. The plugin stays mapped for ever.
struct PluginOpFunctions {
  PluginShapeFunction shape = nullptr;
  void* shape_user = nullptr;
  bool has_gradient = false;
  PluginGradientFunction gradient = nullptr;  // null, and has_gradient: not differentiable
  void* gradient_user = nullptr;
};

// Copies `definition` into the transaction after checking it. INVALID_ARGUMENT for texts that
// cannot be read, UNIMPLEMENTED for constants that this host does not know, ALREADY_EXISTS, with
// both signatures, when another op has the name. An equal one that is there stays as it is.
Status RegisterOp(const MS_OpDef& definition, MS_Registrar* registrar);

// Gives an op of the transaction its gradient. INVALID_ARGUMENT for any other op; ALREADY_EXISTS
// when another plugin brought the op without gradient, or this one gives two.
Status RegisterGradient(absl::string_view op, PluginGradientFunction function, void* user,
                        MS_Registrar* registrar);

}  // namespace millstream

#endif  // MILLSTREAM_FRAMEWORK_PLUGIN_OP_REGISTRATION_H_
