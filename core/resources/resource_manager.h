// The named resources of a session, in containers.
#ifndef MILLSTREAM_CORE_RESOURCES_RESOURCE_MANAGER_H_
#define MILLSTREAM_CORE_RESOURCES_RESOURCE_MANAGER_H_

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/functional/function_ref.h"
#include "absl/strings/string_view.h"
#include "absl/synchronization/mutex.h"
#include "absl/types/span.h"
#include "core/resources/resource.h"
#include "core/resources/variable.h"
#include "framework/status.h"

namespace millstream {

// A resource and its place.
struct PlacedResource {
  std::string container;
  std::string name;
  ResourceRef<Resource> resource;
};

// Owns resources by container, name and type. The default container is "" or "localhost".
// Thread-safe. No member of a resource is called under the lock.
class ResourceManager {
 public:
  ResourceManager() = default;
  ResourceManager(const ResourceManager&) = delete;
  ResourceManager& operator=(const ResourceManager&) = delete;

  // The resource of this name and type. NOT_FOUND if there is none.
  template <typename T>
  StatusOr<ResourceRef<T>> Lookup(absl::string_view container, absl::string_view name) const {
    MS_ASSIGN_OR_RETURN(ResourceRef<Resource> found, LookupAny(container, T::kType, name));
    return ResourceRef<T>::Adopt(static_cast<T*>(found.release()));
  }
  // The same; if there is none, calls make() and adds the result. If two threads do so, both get
  // the resource that was added first. Returns errors of make().
  template <typename T>
  StatusOr<ResourceRef<T>> LookupOrCreate(absl::string_view container, absl::string_view name,
                                          absl::FunctionRef<StatusOr<ResourceRef<T>>()> make) {
    StatusOr<ResourceRef<T>> found = Lookup<T>(container, name);
    if (found.ok()) return found;
    MS_ASSIGN_OR_RETURN(ResourceRef<T> made, make());
    ResourceRef<Resource> kept = KeepFirst(container, name, std::move(made));
    return ResourceRef<T>::Adopt(static_cast<T*>(kept.release()));
  }
  // The same for a type whose name is only known at run time.
  StatusOr<ResourceRef<Resource>> LookupAny(absl::string_view container, absl::string_view type,
                                            absl::string_view name) const
      ABSL_LOCKS_EXCLUDED(mutex_);
  // Adds `made`, unless there is a resource of this name and type. Returns the resource of the
  // name.
  ResourceRef<Resource> KeepFirst(absl::string_view container, absl::string_view name,
                                  ResourceRef<Resource> made) ABSL_LOCKS_EXCLUDED(mutex_);
  // Adds `resource`. ALREADY_EXISTS if there is a resource of this name and type.
  Status Create(absl::string_view container, absl::string_view name, ResourceRef<Resource> resource)
      ABSL_LOCKS_EXCLUDED(mutex_);
  // Removes the resource and calls its Drop. NOT_FOUND if there is none.
  Status Delete(absl::string_view container, absl::string_view name, absl::string_view type)
      ABSL_LOCKS_EXCLUDED(mutex_);

  // Finds the variable, or creates it without a value. INVALID_ARGUMENT if it exists with another
  // dtype or with a shape that contradicts `shape`.
  StatusOr<ResourceRef<Variable>> LookupOrCreateVariable(absl::string_view container,
                                                         absl::string_view name, DataType dtype,
                                                         const PartialShape& shape);

  // Removes every resource of the container and calls its Drop. Steps that hold a resource continue
  // with it. Variables are uninitialized afterwards.
  void DropContainer(absl::string_view container) ABSL_LOCKS_EXCLUDED(mutex_);
  // Drops the named containers, or all if none is named. Ignores containers that do not exist.
  void Reset(absl::Span<const std::string> containers) ABSL_LOCKS_EXCLUDED(mutex_);
  int num_resources() const ABSL_LOCKS_EXCLUDED(mutex_);
  // All resources of the type, by container and name. To hold one is as what a plan does: see
  // Resource::KeepsItsName.
  std::vector<PlacedResource> AllOf(absl::string_view type) const ABSL_LOCKS_EXCLUDED(mutex_);
  // All variables.
  std::vector<ResourceRef<Variable>> Variables() const ABSL_LOCKS_EXCLUDED(mutex_);

 private:
  using Key = std::tuple<std::string, std::string, std::string>;  // container, type, name
  using Map = std::map<Key, ResourceRef<Resource>, std::less<>>;

  // Removes the resources from `first` to `last` from the map, except those that keep their names.
  // Returns all of them; the caller drops them without the lock.
  std::vector<ResourceRef<Resource>> TakeOut(Map::iterator first, Map::iterator last)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  mutable absl::Mutex mutex_;
  Map resources_ ABSL_GUARDED_BY(mutex_);
};

// The container of one step, "__per_step_<id>", for resources that are freed at its end. It costs
// nothing in a step that does not use it. Thread-safe.
class StepContainer {
 public:
  // REQUIRES: `manager` outlives the container.
  StepContainer(ResourceManager* manager, uint64_t step_id)
      : manager_(manager), step_id_(step_id) {}
  // Drops the step's resources.
  ~StepContainer() {
    if (used_.load(std::memory_order_relaxed)) manager_->DropContainer(Name());
  }
  StepContainer(const StepContainer&) = delete;
  StepContainer& operator=(const StepContainer&) = delete;

  ResourceManager* manager() const { return manager_; }
  // The name of the container, for lookups and new resources.
  std::string Name();

 private:
  ResourceManager* const manager_;
  const uint64_t step_id_;
  std::atomic<bool> used_{false};
};

}  // namespace millstream

#endif  // MILLSTREAM_CORE_RESOURCES_RESOURCE_MANAGER_H_
