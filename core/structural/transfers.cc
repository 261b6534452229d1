// Send and Receive between the parts of a step. The executors do them themselves: they know the
// step's rendezvous and, in loops, the iteration.
#include "core/structural/structural.h"

namespace millstream {
namespace {

MILLSTREAM_STRUCTURAL("_Send", StructuralRole::kSend, nullptr);
MILLSTREAM_STRUCTURAL("_HostSend", StructuralRole::kSend, nullptr);
MILLSTREAM_STRUCTURAL("_Recv", StructuralRole::kReceive, nullptr);
MILLSTREAM_STRUCTURAL("_HostRecv", StructuralRole::kReceive, nullptr);

}  // namespace

StatusOr<int64_t> TransferEdge(const Node& node) {
  StatusOr<int64_t> edge = node.Attr<int64_t>(kEdgeAttr);
  if (edge.ok()) return edge;
  return AnnotateWithNode(
      errors::InvalidArgument("it stands for a tensor that goes between the parts of a step, which "
                              "make such nodes themselves; in a graph it cannot run"),
      node);
}

}  // namespace millstream
