// Op definitions as text, one line each, in which two versions of a definition can be compared.
#ifndef MILLSTREAM_FRAMEWORK_OPS_SIGNATURE_TEXT_H_
#define MILLSTREAM_FRAMEWORK_OPS_SIGNATURE_TEXT_H_

#include <string>

#include "framework/op_def.h"

namespace millstream {

// "ArgMax(input: T, dimension: Tidx) -> (output: output_type) [T: type in {float, ...}; ...]
// stateful": everything that graphs can depend on, so without documentation and functions.
std::string SignatureText(const OpDef& op);

// The lines of all registered ops, by name, each with its newline.
std::string AllSignaturesText();

}  // namespace millstream

#endif  // MILLSTREAM_FRAMEWORK_OPS_SIGNATURE_TEXT_H_
