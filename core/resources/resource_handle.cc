#include "core/resources/resource_handle.h"

#include <map>

namespace millstream {
namespace {

// Filled before main; only read afterwards.
std::map<std::string, HandleFunction, std::less<>>& Functions() {
  static auto* const functions = new std::map<std::string, HandleFunction, std::less<>>();
  return *functions;
}

}  // namespace

StatusOr<ResourceName> ResourceNameOf(const Node& node) {
  ResourceName result;
  MS_ASSIGN_OR_RETURN(result.container, node.Attr<std::string>("container"));
  MS_ASSIGN_OR_RETURN(result.name, node.Attr<std::string>("shared_name"));
  if (result.name.empty()) result.name = node.name();
  return result;
}

StatusOr<ResourceRef<Resource>> FindResource(const Node& node, ResourceManager* resources) {
  auto found = Functions().find(node.op().name);
  if (found == Functions().end()) {
    return AnnotateWithNode(errors::Internal("the op names no resource"), node);
  }
  StatusOr<ResourceRef<Resource>> resource = found->second(node, resources);
  if (!resource.ok()) return AnnotateWithNode(resource.status(), node);
  return resource;
}

HandleRegistration::HandleRegistration(const char* op, HandleFunction function) {
  Functions()[op] = function;
}

}  // namespace millstream
