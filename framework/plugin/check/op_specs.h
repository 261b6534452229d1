// The ops as the checking program knows them.
#ifndef MILLSTREAM_FRAMEWORK_PLUGIN_CHECK_OP_SPECS_H_
#define MILLSTREAM_FRAMEWORK_PLUGIN_CHECK_OP_SPECS_H_

#include "framework/op_registry.h"

namespace millstream::plugin_check {

// The signatures of the standard ops, and the ops that loaded plugins have added. Lives for ever.
// Thread-safe.
OpRegistry& KnownOps();

}  // namespace millstream::plugin_check

#endif  // MILLSTREAM_FRAMEWORK_PLUGIN_CHECK_OP_SPECS_H_
