#include "framework/plugin/resource_types.h"

#include <utility>

namespace millstream {
namespace {

Status Twice(const ResourceType& added, const ResourceType& present) {
  return errors::AlreadyExists("resource type \"", added.name, "\" of plugin ", added.plugin,
                               " is registered already, by plugin ", present.plugin);
}

}  // namespace

ResourceTypes* ResourceTypes::Global() {
  static auto* const types = new ResourceTypes;
  return types;
}

Status ResourceTypes::Commit(std::vector<ResourceType> types) {
  absl::MutexLock lock(&mutex_);
  for (size_t i = 0; i < types.size(); ++i) {
    const auto present = types_.find(types[i].name);
    if (present != types_.end()) return Twice(types[i], *present->second);
    for (size_t k = 0; k < i; ++k) {
      if (types[k].name == types[i].name) return Twice(types[i], types[k]);
    }
  }
  for (ResourceType& type : types) {
    auto owned = std::make_unique<const ResourceType>(std::move(type));
    types_.emplace(owned->name, std::move(owned));
  }
  return absl::OkStatus();
}

StatusOr<const ResourceType*> ResourceTypes::Find(absl::string_view name) const {
  absl::MutexLock lock(&mutex_);
  const auto present = types_.find(name);
  if (present != types_.end()) return present->second.get();
  return errors::NotFound("no plugin registered the resource type \"", name, "\"");
}

}  // namespace millstream
