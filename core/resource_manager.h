// The named resources of a session, in containers.
#ifndef MILLSTREAM_CORE_RESOURCE_MANAGER_H_
#define MILLSTREAM_CORE_RESOURCE_MANAGER_H_

#include <map>
#include <memory>
#include <string>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "core/variable.h"
#include "framework/status.h"

namespace millstream {

// Thread-safe. Variables live until the manager goes, so that plans may keep pointers to them.
class ResourceManager {
 public:
  // The variable of this name, made (without value) when it is new. INVALID_ARGUMENT when it exists
  // with another dtype or a shape that contradicts.
  StatusOr<Variable*> LookupOrCreateVariable(const std::string& container, const std::string& name,
                                             DataType dtype, const PartialShape& shape)
      ABSL_LOCKS_EXCLUDED(mutex_);
  // Frees the values; the variables stay, without value.
  void DropValues() ABSL_LOCKS_EXCLUDED(mutex_);
  int num_variables() const ABSL_LOCKS_EXCLUDED(mutex_);

 private:
  mutable absl::Mutex mutex_;
  std::map<std::pair<std::string, std::string>, std::unique_ptr<Variable>> variables_
      ABSL_GUARDED_BY(mutex_);
};

}  // namespace millstream

#endif  // MILLSTREAM_CORE_RESOURCE_MANAGER_H_
