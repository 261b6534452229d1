// Handle ops: their nodes name a resource of the session. Each type of resource registers its
// handle op:
//
//   StatusOr<ResourceRef<Resource>> FindVariable(const Node& node, ResourceManager* resources);
//   MILLSTREAM_RESOURCE_HANDLE("VarHandleOp", FindVariable);
#ifndef MILLSTREAM_CORE_RESOURCES_RESOURCE_HANDLE_H_
#define MILLSTREAM_CORE_RESOURCES_RESOURCE_HANDLE_H_

#include <string>

#include "core/graph/graph.h"
#include "core/resources/resource.h"
#include "core/resources/resource_manager.h"
#include "framework/status.h"

namespace millstream {

// The container and name of a handle node's resource: its attributes `container` and `shared_name`.
// If `shared_name` is empty, the node's name counts.
struct ResourceName {
  std::string container;
  std::string name;
};
StatusOr<ResourceName> ResourceNameOf(const Node& node);

// Finds or creates the resource that a handle node names.
using HandleFunction = StatusOr<ResourceRef<Resource>> (*)(const Node& node,
                                                           ResourceManager* resources);

// Calls the HandleFunction of the node's op. Errors name the node. Thread-safe.
StatusOr<ResourceRef<Resource>> FindResource(const Node& node, ResourceManager* resources);

// Registers at start-up.
class HandleRegistration {
 public:
  HandleRegistration(const char* op, HandleFunction function);
};

}  // namespace millstream

#define MS_HANDLE_CONCAT_INNER(a, b) a##b
#define MS_HANDLE_CONCAT(a, b) MS_HANDLE_CONCAT_INNER(a, b)
#define MILLSTREAM_RESOURCE_HANDLE(op, function) \
  static const ::millstream::HandleRegistration MS_HANDLE_CONCAT(handle_, __COUNTER__)(op, function)

#endif  // MILLSTREAM_CORE_RESOURCES_RESOURCE_HANDLE_H_
