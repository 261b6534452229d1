// Names of a plugin's op that the front end makes parameters of a function.
#ifndef MILLSTREAM_FRAMEWORK_PLUGIN_OP_NAMES_H_
#define MILLSTREAM_FRAMEWORK_PLUGIN_OP_NAMES_H_

#include "framework/op_def.h"
#include "framework/status.h"

namespace millstream {

// INVALID_ARGUMENT for a name of an input, output or attribute that no Python function can have as
// a parameter: a keyword, one that begins with an underscore, "name" (the node's), and one that
// another input or attribute has. The attribute "T" becomes the parameter "t". Inputs and outputs
// may share a name; two outputs may not.
Status CheckParameterNames(const OpDef& op);

}  // namespace millstream

#endif  // MILLSTREAM_FRAMEWORK_PLUGIN_OP_NAMES_H_
