// Op definitions as JSON, from which front ends make functions.
#ifndef MILLSTREAM_FRAMEWORK_OP_JSON_H_
#define MILLSTREAM_FRAMEWORK_OP_JSON_H_

#include <string>

#include "framework/op_def.h"

namespace millstream {

// {"name", "doc", "example", "stateful", "inputs", "outputs", "attrs"}. Arguments are {"name",
// "type" (number, 0 when an attribute says it), "type_attr", "number_attr", "list_attr"},
// attributes {"name", "type", "default" (as Python source, null when there is none), "default_type"
// (number or null), "allowed_types", "allowed_strings"}.
std::string OpJson(const OpDef& op);

}  // namespace millstream

#endif  // MILLSTREAM_FRAMEWORK_OP_JSON_H_
