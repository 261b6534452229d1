// A number that says what a node does.
#ifndef MILLSTREAM_FRAMEWORK_PLUGIN_NODE_DIGEST_H_
#define MILLSTREAM_FRAMEWORK_PLUGIN_NODE_DIGEST_H_

#include <cstdint>

#include "absl/strings/string_view.h"
#include "framework/attr_value.h"
#include "framework/op_def.h"

namespace millstream {

// Depends on the op's name, the attributes and the types of inputs and outputs, and on nothing
// else: the same in every process. Tensors among the attributes count with every bit.
uint64_t NodeDigest(absl::string_view op, const AttrMap& attrs, const NodeSignature& signature);

}  // namespace millstream

#endif  // MILLSTREAM_FRAMEWORK_PLUGIN_NODE_DIGEST_H_
