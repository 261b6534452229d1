// How the text of an error about a node is laid out: the cause, what helps to find it below.
//
//   expected 64 rows to go with argument 'a' [8,64], got [32,10]
//     node 'product' (op MatMul), made at train.py:12 in build
//     inputs: float32[8,64], float32[32,10]
//     device: /job:localhost/replica:0/task:0/device:CPU:0
//
// The cause stands first, so that a log that keeps one line keeps that. Front ends find the line
// that names the user's source by its beginning, "  node '", and may put the source's text below
// it.
#ifndef MILLSTREAM_CORE_GRAPH_ERROR_DETAILS_H_
#define MILLSTREAM_CORE_GRAPH_ERROR_DETAILS_H_

#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "framework/status.h"

namespace millstream {

// `status` with a line "label: text" to be written below the line that names the node. To be called
// before the node is named (AnnotateWithNode); lines stand in the order of the calls.
Status WithErrorDetail(const Status& status, absl::string_view label, absl::string_view text);

// The same error with another text.
Status WithErrorText(const Status& status, absl::string_view text);

// The error's text once the node is known; `node`: how it is described, see Node::Describe.
Status WithErrorNode(const Status& status, absl::string_view node);

// "float32[2,3], int32[4] and 3 more": descriptions of a node's inputs, of which few are named.
std::string JoinInputs(absl::Span<const std::string> inputs);

}  // namespace millstream

#endif  // MILLSTREAM_CORE_GRAPH_ERROR_DETAILS_H_
