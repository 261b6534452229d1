#include "core/resources/resource_manager.h"

#include "absl/strings/str_cat.h"

namespace millstream {
namespace {

// The name under which the default container was known to older programs.
constexpr absl::string_view kDefaultAlias = "localhost";

std::string Canonical(absl::string_view container) {
  return container == kDefaultAlias ? std::string() : std::string(container);
}

void DropAll(const std::vector<ResourceRef<Resource>>& resources) {
  for (const ResourceRef<Resource>& resource : resources) resource->Drop();
}

}  // namespace

StatusOr<ResourceRef<Resource>> ResourceManager::LookupAny(absl::string_view container,
                                                           absl::string_view type,
                                                           absl::string_view name) const {
  const Key key(Canonical(container), type, name);
  absl::MutexLock lock(&mutex_);
  auto found = resources_.find(key);
  if (found != resources_.end()) return found->second;
  return errors::NotFound("container '", std::get<0>(key), "' has no ", type, " called '", name,
                          "'");
}

ResourceRef<Resource> ResourceManager::KeepFirst(absl::string_view container,
                                                 absl::string_view name,
                                                 ResourceRef<Resource> made) {
  Key key(Canonical(container), made->type(), name);
  absl::MutexLock lock(&mutex_);
  return resources_.try_emplace(std::move(key), made).first->second;
}

Status ResourceManager::Create(absl::string_view container, absl::string_view name,
                               ResourceRef<Resource> resource) {
  Key key(Canonical(container), resource->type(), name);
  absl::MutexLock lock(&mutex_);
  const auto [entry, added] = resources_.try_emplace(std::move(key), resource);
  if (added) return absl::OkStatus();
  return errors::AlreadyExists("container '", std::get<0>(entry->first), "' has a ",
                               resource->type(), " called '", name, "'");
}

Status ResourceManager::Delete(absl::string_view container, absl::string_view name,
                               absl::string_view type) {
  MS_RETURN_IF_ERROR(LookupAny(container, type, name).status());
  const Key key(Canonical(container), type, name);
  std::vector<ResourceRef<Resource>> deleted;
  {
    absl::MutexLock lock(&mutex_);
    deleted = TakeOut(resources_.lower_bound(key), resources_.upper_bound(key));
  }
  DropAll(deleted);
  return absl::OkStatus();
}

StatusOr<ResourceRef<Variable>> ResourceManager::LookupOrCreateVariable(absl::string_view container,
                                                                        absl::string_view name,
                                                                        DataType dtype,
                                                                        const PartialShape& shape) {
  MS_ASSIGN_OR_RETURN(
      ResourceRef<Variable> variable,
      LookupOrCreate<Variable>(container, name, [&]() -> StatusOr<ResourceRef<Variable>> {
        return MakeResource<Variable>(Canonical(container), std::string(name), dtype, shape);
      }));
  if (variable->dtype() == dtype && variable->shape().IsCompatibleWith(shape)) return variable;
  return errors::InvalidArgument("variable '", name, "' exists as ",
                                 DataTypeName(variable->dtype()), variable->shape().ToString(),
                                 "; this handle expects ", DataTypeName(dtype), shape.ToString());
}

std::vector<ResourceRef<Resource>> ResourceManager::TakeOut(Map::iterator first,
                                                            Map::iterator last) {
  std::vector<ResourceRef<Resource>> taken;
  while (first != last) {
    const bool stays = first->second->KeepsItsName() && !first->second->IsUnique();
    taken.push_back(first->second);
    first = stays ? std::next(first) : resources_.erase(first);
  }
  return taken;
}

void ResourceManager::DropContainer(absl::string_view container) {
  const Key first(Canonical(container), "", "");
  std::vector<ResourceRef<Resource>> dropped;
  {
    absl::MutexLock lock(&mutex_);
    const Map::iterator begin = resources_.lower_bound(first);
    Map::iterator end = begin;
    while (end != resources_.end() && std::get<0>(end->first) == std::get<0>(first)) ++end;
    dropped = TakeOut(begin, end);
  }
  DropAll(dropped);
}

void ResourceManager::Reset(absl::Span<const std::string> containers) {
  for (const std::string& container : containers) DropContainer(container);
  if (!containers.empty()) return;
  std::vector<ResourceRef<Resource>> dropped;
  {
    absl::MutexLock lock(&mutex_);
    dropped = TakeOut(resources_.begin(), resources_.end());
  }
  DropAll(dropped);
}

std::vector<PlacedResource> ResourceManager::AllOf(absl::string_view type) const {
  std::vector<PlacedResource> found;
  absl::MutexLock lock(&mutex_);
  for (const auto& [key, resource] : resources_) {
    const auto& [container, of_type, name] = key;
    if (of_type == type) found.push_back({container, name, resource});
  }
  return found;
}

std::vector<ResourceRef<Variable>> ResourceManager::Variables() const {
  std::vector<ResourceRef<Variable>> variables;
  absl::MutexLock lock(&mutex_);
  for (const auto& [key, resource] : resources_) {
    if (std::get<1>(key) != Variable::kType) continue;
    ResourceRef<Resource> found = resource;
    variables.push_back(ResourceRef<Variable>::Adopt(static_cast<Variable*>(found.release())));
  }
  return variables;
}

int ResourceManager::num_resources() const {
  absl::MutexLock lock(&mutex_);
  return static_cast<int>(resources_.size());
}

std::string StepContainer::Name() {
  used_.store(true, std::memory_order_relaxed);
  return absl::StrCat("__per_step_", step_id_);
}

}  // namespace millstream
