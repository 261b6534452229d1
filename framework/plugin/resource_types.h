// The types of objects that plugins keep in sessions (ms.resource/1).
#ifndef MILLSTREAM_FRAMEWORK_PLUGIN_RESOURCE_TYPES_H_
#define MILLSTREAM_FRAMEWORK_PLUGIN_RESOURCE_TYPES_H_

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/strings/string_view.h"
#include "absl/synchronization/mutex.h"
#include "framework/status.h"

namespace millstream {

struct ResourceType {
  std::string name;
  std::string plugin;  // who registered it
  void (*destroy)(void* object) = nullptr;
};

// Thread-safe. Types are never removed, so pointers stay valid.
class ResourceTypes {
 public:
  static ResourceTypes* Global();

  // Adds all or none. ALREADY_EXISTS names both plugins.
  Status Commit(std::vector<ResourceType> types) ABSL_LOCKS_EXCLUDED(mutex_);
  // NOT_FOUND if there is no such type.
  StatusOr<const ResourceType*> Find(absl::string_view name) const ABSL_LOCKS_EXCLUDED(mutex_);

 private:
  mutable absl::Mutex mutex_;
  std::map<std::string, std::unique_ptr<const ResourceType>, std::less<>> types_
      ABSL_GUARDED_BY(mutex_);
};

}  // namespace millstream

#endif  // MILLSTREAM_FRAMEWORK_PLUGIN_RESOURCE_TYPES_H_
