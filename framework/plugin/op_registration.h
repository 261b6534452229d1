// The ops of plugins: parses their definitions, and keeps their functions.
#ifndef MILLSTREAM_FRAMEWORK_PLUGIN_OP_REGISTRATION_H_
#define MILLSTREAM_FRAMEWORK_PLUGIN_OP_REGISTRATION_H_

#include "absl/strings/string_view.h"
#include "framework/op_def.h"
#include "framework/plugin/plugin.h"
#include "framework/status.h"

namespace millstream {

using PluginShapeFunction = MS_Status* (*)(void* user, MS_ShapeCtx* ctx);
using PluginGradientFunction = MS_Status* (*)(void* user, MS_GradCtx* ctx);

// The functions of a plugin's op. They stay valid, because the plugin stays mapped.
struct PluginOpFunctions {
  PluginShapeFunction shape = nullptr;
  void* shape_user = nullptr;
  bool has_gradient = false;
  PluginGradientFunction gradient = nullptr;  // null, and has_gradient: not differentiable
  void* gradient_user = nullptr;
};

// The MS_OP_* of an op.
uint64_t OpFlags(const OpDef& op);

// Checks `definition` and copies it into the transaction. INVALID_ARGUMENT for texts that cannot be
// parsed. What is skipped: UNIMPLEMENTED for constants that this host does not know, and, with both
// signatures, if a different op has the name; NOT_FOUND for a new op whose name has no prefix of
// the plugin's. Does nothing if an equal op is registered.
Status RegisterOp(const MS_OpDef& definition, MS_Registrar* registrar);

// Sets the gradient of an op of the transaction. INVALID_ARGUMENT for any other op, NOT_FOUND for
// one that was skipped; ALREADY_EXISTS if another plugin registered the op without gradient, or if
// the op has a gradient already.
Status RegisterGradient(absl::string_view op, PluginGradientFunction function, void* user,
                        MS_Registrar* registrar);

}  // namespace millstream

#endif  // MILLSTREAM_FRAMEWORK_PLUGIN_OP_REGISTRATION_H_
