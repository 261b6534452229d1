// The layout of an error about a node: the cause, then details on lines of their own.
//
//   expected 64 rows to go with argument 'a' [8,64], got [32,10]
//     node 'product' (op MatMul), made at train.py:12 in build
//     inputs: float32[8,64], float32[32,10]
//     device: /job:localhost/replica:0/task:0/device:CPU:0
//
// The cause is first, so that logs which keep one line keep the cause. Front ends find the line
// with the user's source by its beginning, "  node '", and may insert the text of the source line
// below.
#ifndef MILLSTREAM_CORE_GRAPH_ERROR_DETAILS_H_
#define MILLSTREAM_CORE_GRAPH_ERROR_DETAILS_H_

#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "framework/status.h"

namespace millstream {

// Adds a line "label: text", which AnnotateWithNode writes below the line that names the node. Call
// it before AnnotateWithNode. The lines are in the order of the calls.
Status WithErrorDetail(const Status& status, absl::string_view label, absl::string_view text);

// The same error with another text.
Status WithErrorText(const Status& status, absl::string_view text);

// Adds the line of the node and the details to the error. `node` is the result of Node::Describe.
Status WithErrorNode(const Status& status, absl::string_view node);

// Joins descriptions of a node's inputs, and shortens a long list: "float32[2,3], int32[4] and 3
// more".
std::string JoinInputs(absl::Span<const std::string> inputs);

}  // namespace millstream

#endif  // MILLSTREAM_CORE_GRAPH_ERROR_DETAILS_H_
