// The standard ops as the checking program knows them: their signatures alone.
#ifndef MILLSTREAM_FRAMEWORK_PLUGIN_CHECK_OP_SPECS_H_
#define MILLSTREAM_FRAMEWORK_PLUGIN_CHECK_OP_SPECS_H_

#include "framework/op_registry.h"

namespace millstream::plugin_check {

// Lives for ever. Thread-safe.
const OpRegistry& StandardOps();

}  // namespace millstream::plugin_check

#endif  // MILLSTREAM_FRAMEWORK_PLUGIN_CHECK_OP_SPECS_H_
