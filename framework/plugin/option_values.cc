#include "framework/plugin/option_values.h"

#include <map>
#include <memory>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"

namespace millstream {
namespace {

// By plugin, then by option. Values that were replaced stay too, since they may be in use.
struct Values {
  static Values* Global() {
    static auto* const values = new Values;
    return values;
  }
  absl::Mutex mutex;
  std::map<std::pair<std::string, std::string>, const std::string*> current ABSL_GUARDED_BY(mutex);
  std::vector<std::unique_ptr<const std::string>> all ABSL_GUARDED_BY(mutex);
};

}  // namespace

void SetOptionValues(const std::string& plugin,
                     const std::vector<std::pair<std::string, std::string>>& options) {
  Values* const values = Values::Global();
  absl::MutexLock lock(&values->mutex);
  for (const auto& [name, value] : options) {
    values->all.push_back(std::make_unique<const std::string>(value));
    values->current[{plugin, name}] = values->all.back().get();
  }
}

const std::string* FindOptionValue(absl::string_view plugin, absl::string_view name) {
  Values* const values = Values::Global();
  absl::MutexLock lock(&values->mutex);
  const auto found = values->current.find({std::string(plugin), std::string(name)});
  return found == values->current.end() ? nullptr : found->second;
}

}  // namespace millstream
