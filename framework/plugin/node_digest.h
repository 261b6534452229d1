// A hash of the computation of a node.
#ifndef MILLSTREAM_FRAMEWORK_PLUGIN_NODE_DIGEST_H_
#define MILLSTREAM_FRAMEWORK_PLUGIN_NODE_DIGEST_H_

#include <cstdint>

#include "absl/strings/string_view.h"
#include "framework/attr_value.h"
#include "framework/op_def.h"

namespace millstream {

// Depends only on the op's name, the attributes and the types of inputs and outputs, so it is the
// same in every process. All bits of tensor attributes count.
uint64_t NodeDigest(absl::string_view op, const AttrMap& attrs, const NodeSignature& signature);

}  // namespace millstream

#endif  // MILLSTREAM_FRAMEWORK_PLUGIN_NODE_DIGEST_H_
