// What the runtime may do with a node instead of running a kernel, by the node's op.
#ifndef MILLSTREAM_CORE_GRAPH_STRUCTURAL_ROLE_H_
#define MILLSTREAM_CORE_GRAPH_STRUCTURAL_ROLE_H_

#include <cstdint>

#include "absl/strings/string_view.h"
#include "core/graph/graph.h"
#include "framework/status.h"

namespace millstream {

// What the plan compiler may do with a node instead of running its kernel.
enum class StructuralRole {
  kKernel,       // nothing: it runs
  kNothing,      // it has no outputs and only orders others
  kIdentity,     // output i is input i
  kReshape,      // output 0 is input 0's memory under another shape
  kConstant,     // attribute "value" is its output
  kMustFeed,     // it can only be fed
  kHandle,       // it names a variable
  kControlFlow,  // it decides what runs; the dynamic executor does it
  kSend,         // its input goes to another part of the step; the executors do it themselves
  kReceive,      // its output comes from another part of the step; likewise
};

// Number of the edge between two devices that a kSend or kReceive node stands for (RendezvousKey).
inline constexpr char kEdgeAttr[] = "_edge";
// Of the same: the tensor goes from one device's memory to the other's without the host's.
inline constexpr char kPeerAttr[] = "_peer";

// The number under kEdgeAttr of a kSend or kReceive node. INVALID_ARGUMENT for one that came with a
// graph, and so belongs to no edge of a step.
StatusOr<int64_t> TransferEdge(const Node& node);

// The role of an op; kKernel for ops that are not structural. Thread-safe once main() has begun.
StructuralRole RoleOf(absl::string_view op);

// Sets the role of an op. Called before main(), by the registration of the op's structural kernel.
void SetStructuralRole(absl::string_view op, StructuralRole role);

}  // namespace millstream

#endif  // MILLSTREAM_CORE_GRAPH_STRUCTURAL_ROLE_H_
