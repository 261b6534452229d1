#include "core/placement/node_group.h"

#include <algorithm>
#include <optional>

namespace millstream {
namespace {

template <typename T>
bool CombinePart(const std::optional<T>& from, std::optional<T>* into) {
  if (from.has_value() && into->has_value() && *from != **into) return false;
  if (from.has_value()) *into = from;
  return true;
}

}  // namespace

bool Combine(const DeviceName& from, DeviceName* into) {
  return CombinePart(from.job, &into->job) && CombinePart(from.replica, &into->replica) &&
         CombinePart(from.task, &into->task) && CombinePart(from.type, &into->type) &&
         CombinePart(from.index, &into->index);
}

void AddMissing(const std::vector<std::string>& types, NodeGroup* group) {
  for (const std::string& type : types) {
    const auto found = std::find(group->unsupported.begin(), group->unsupported.end(), type);
    if (found == group->unsupported.end()) group->unsupported.push_back(type);
  }
}

}  // namespace millstream
