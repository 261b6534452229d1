// The roles of structural ops: how the runtime treats their nodes instead of running a kernel.
#ifndef MILLSTREAM_CORE_GRAPH_STRUCTURAL_ROLE_H_
#define MILLSTREAM_CORE_GRAPH_STRUCTURAL_ROLE_H_

#include <cstdint>

#include "absl/strings/string_view.h"
#include "core/graph/graph.h"
#include "framework/status.h"

namespace millstream {

// How the plan compiler treats a node.
enum class StructuralRole {
  kKernel,       // its kernel runs
  kNothing,      // it has no outputs and only orders others
  kIdentity,     // output i is input i
  kReshape,      // output 0 is input 0's memory under another shape
  kConstant,     // attribute "value" is its output
  kMustFeed,     // it must be fed
  kHandle,       // it names a variable
  kControlFlow,  // control flow; needs the dynamic executor
  kInner,        // a loop or a conditional with graphs of its own (core/graph/inner_graph.h)
  kSend,         // the executor sends its input to another part of the step
  kReceive,      // the executor receives its output from another part of the step
};

// The number of the edge between two devices of a kSend or kReceive node (RendezvousKey).
inline constexpr char kEdgeAttr[] = "_edge";
// On these nodes: the tensor is copied from device to device without host memory.
inline constexpr char kPeerAttr[] = "_peer";

// The value of kEdgeAttr of a kSend or kReceive node. INVALID_ARGUMENT for a node of a user's
// graph, which has no edge.
StatusOr<int64_t> TransferEdge(const Node& node);

// The role of an op; kKernel for ops that are not structural. Thread-safe once main() has begun.
StructuralRole RoleOf(absl::string_view op);

// Sets the role of an op. Called before main(), by the registration of the op's structural kernel.
void SetStructuralRole(absl::string_view op, StructuralRole role);

}  // namespace millstream

#endif  // MILLSTREAM_CORE_GRAPH_STRUCTURAL_ROLE_H_
