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

// Holds resources by container, name and type. The default container is "", which is also known as
// "localhost". Thread-safe; no resource's own code runs under the lock.
class ResourceManager {
 public:
  ResourceManager() = default;
  ResourceManager(const ResourceManager&) = delete;
  ResourceManager& operator=(const ResourceManager&) = delete;

  // The resource of this name and type; NOT_FOUND.
  template <typename T>
  StatusOr<ResourceRef<T>> Lookup(absl::string_view container, absl::string_view name) const {
    MS_ASSIGN_OR_RETURN(ResourceRef<Resource> found, LookupAny(container, T::kType, name));
    return ResourceRef<T>::Adopt(static_cast<T*>(found.release()));
  }
  // The same, or what make() gives, which takes the name. When two threads make it, one is kept.
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
  // Gives `made` the name, or gives the resource of its type that has it already.
  ResourceRef<Resource> KeepFirst(absl::string_view container, absl::string_view name,
                                  ResourceRef<Resource> made) ABSL_LOCKS_EXCLUDED(mutex_);
  // Gives `resource` the name; ALREADY_EXISTS when it is taken.
  Status Create(absl::string_view container, absl::string_view name, ResourceRef<Resource> resource)
      ABSL_LOCKS_EXCLUDED(mutex_);
  // Takes the name from the resource and drops it; NOT_FOUND.
  Status Delete(absl::string_view container, absl::string_view name, absl::string_view type)
      ABSL_LOCKS_EXCLUDED(mutex_);

  // The variable of this name, made (without value) when it is new. INVALID_ARGUMENT when it exists
  // with another dtype or a shape that contradicts.
  StatusOr<ResourceRef<Variable>> LookupOrCreateVariable(absl::string_view container,
                                                         absl::string_view name, DataType dtype,
                                                         const PartialShape& shape);

  // Drops every resource of the container. Steps that hold one finish with it; a variable has no
  // value afterwards, whoever asks.
  void DropContainer(absl::string_view container) ABSL_LOCKS_EXCLUDED(mutex_);
  // Drops these containers, or all when there are none. One that does not exist is empty.
  void Reset(absl::Span<const std::string> containers) ABSL_LOCKS_EXCLUDED(mutex_);
  int num_resources() const ABSL_LOCKS_EXCLUDED(mutex_);
  // All of them.
  std::vector<ResourceRef<Variable>> Variables() const ABSL_LOCKS_EXCLUDED(mutex_);

 private:
  using Key = std::tuple<std::string, std::string, std::string>;  // container, type, name
  using Map = std::map<Key, ResourceRef<Resource>, std::less<>>;

  // Takes the resources from `first` to `last` out of the map, but for those that keep their names;
  // gives them all, to be dropped without the lock.
  std::vector<ResourceRef<Resource>> TakeOut(Map::iterator first, Map::iterator last)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  mutable absl::Mutex mutex_;
  Map resources_ ABSL_GUARDED_BY(mutex_);
};

// The container of one step, "__per_step_<id>": for resources that live no longer than it. A step
// that needs none pays nothing. Thread-safe.
class StepContainer {
 public:
  // `manager` must outlive the container.
  StepContainer(ResourceManager* manager, uint64_t step_id)
      : manager_(manager), step_id_(step_id) {}
  // Drops the step's resources.
  ~StepContainer() {
    if (used_.load(std::memory_order_relaxed)) manager_->DropContainer(Name());
  }
  StepContainer(const StepContainer&) = delete;
  StepContainer& operator=(const StepContainer&) = delete;

  ResourceManager* manager() const { return manager_; }
  // The name to look resources up and create them by.
  std::string Name();

 private:
  ResourceManager* const manager_;
  const uint64_t step_id_;
  std::atomic<bool> used_{false};
};

}  // namespace millstream

#endif  // MILLSTREAM_CORE_RESOURCES_RESOURCE_MANAGER_H_
