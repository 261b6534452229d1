// Ops that the runtime does itself: whatever kernel a plugin brings for one would not run where
// users expect it to.
#ifndef MILLSTREAM_FRAMEWORK_PLUGIN_RESERVED_OPS_H_
#define MILLSTREAM_FRAMEWORK_PLUGIN_RESERVED_OPS_H_

#include "absl/strings/string_view.h"

namespace millstream {

// From now on plugins can register neither the op nor kernels for it. Called before main().
void ReserveOp(absl::string_view op);

// Thread-safe once main() has begun.
bool IsReservedOp(absl::string_view op);

}  // namespace millstream

#endif  // MILLSTREAM_FRAMEWORK_PLUGIN_RESERVED_OPS_H_
