#include "core/graph/structural_role.h"

#include <string>

#include "absl/container/flat_hash_map.h"
#include "core/graph/error_details.h"

namespace millstream {
namespace {

// Filled before main; only read afterwards.
absl::flat_hash_map<std::string, StructuralRole>& Roles() {
  static auto* const roles = new absl::flat_hash_map<std::string, StructuralRole>();
  return *roles;
}

}  // namespace

StructuralRole RoleOf(absl::string_view op) {
  const auto found = Roles().find(op);
  return found == Roles().end() ? StructuralRole::kKernel : found->second;
}

void SetStructuralRole(absl::string_view op, StructuralRole role) { Roles()[op] = role; }

StatusOr<int64_t> TransferEdge(const Node& node) {
  StatusOr<int64_t> edge = node.Attr<int64_t>(kEdgeAttr);
  if (edge.ok()) return edge;
  return AnnotateWithNode(
      errors::InvalidArgument("the op transfers a tensor between the parts of a step; only the "
                              "runtime adds such nodes, and one in a graph cannot run"),
      node);
}

}  // namespace millstream
