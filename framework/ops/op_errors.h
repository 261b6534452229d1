// Errors of shape functions that name the argument at fault.
#ifndef MILLSTREAM_FRAMEWORK_OPS_OP_ERRORS_H_
#define MILLSTREAM_FRAMEWORK_OPS_OP_ERRORS_H_

#include <string>

#include "framework/shape_context.h"
#include "framework/status.h"

namespace millstream {

// "argument 'axis' of Split".
inline std::string ArgumentName(const ShapeContext& context, int i) {
  return absl::StrCat("argument '", context.InputName(i), "' of ", context.op().name);
}

// INVALID_ARGUMENT: "argument 'axis' of Split: <parts>".
template <typename... Parts>
Status InvalidInput(const ShapeContext& context, int i, const Parts&... parts) {
  return errors::InvalidArgument(ArgumentName(context, i), ": ", parts...);
}

// "Dimensions must be equal, but are 37 and 36: ": programs match it, so it begins the cause of two
// dimensions that differ.
inline std::string UnequalDims(int64_t first, int64_t second) {
  return absl::StrCat("Dimensions must be equal, but are ", first, " and ", second, ": ");
}

// `status` with the name of argument i put before it.
inline Status InputError(const ShapeContext& context, int i, const Status& status) {
  return WithContext(status, ArgumentName(context, i));
}

// INVALID_ARGUMENT: "attribute 'axis' of Pack: <parts>".
template <typename... Parts>
Status InvalidAttr(const ShapeContext& context, absl::string_view name, const Parts&... parts) {
  return errors::InvalidArgument("attribute '", name, "' of ", context.op().name, ": ", parts...);
}

// `status` with the name of an attribute put before it.
inline Status AttrError(const ShapeContext& context, absl::string_view name, const Status& status) {
  return WithContext(status, absl::StrCat("attribute '", name, "' of ", context.op().name));
}

}  // namespace millstream

#endif  // MILLSTREAM_FRAMEWORK_OPS_OP_ERRORS_H_
