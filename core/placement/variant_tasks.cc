#include "core/placement/variant_tasks.h"

#include "absl/container/flat_hash_map.h"
#include "absl/strings/str_cat.h"

namespace millstream {

bool AreOfOneTask(const DeviceDescription& a, const DeviceDescription& b) {
  return a.parsed_name.job == b.parsed_name.job && a.parsed_name.replica == b.parsed_name.replica &&
         a.parsed_name.task == b.parsed_name.task;
}

bool HasSeveralTasks(const DeviceSet& devices) {
  for (int d = 1; d < devices.size(); ++d) {
    if (!AreOfOneTask(devices[0], devices[d])) return true;
  }
  return false;
}

void ForEachVariant(const PrunedGraph& pruned, absl::FunctionRef<void(int from, int to)> visit) {
  absl::flat_hash_map<const Node*, int> numbers;
  for (size_t i = 0; i < pruned.nodes.size(); ++i) numbers[pruned.nodes[i]] = static_cast<int>(i);
  for (size_t i = 0; i < pruned.nodes.size(); ++i) {
    for (const Output& input : pruned.nodes[i]->inputs()) {
      if (input.dtype() != DataType::kVariant) continue;
      const auto producer = numbers.find(input.node);
      if (producer != numbers.end()) visit(producer->second, static_cast<int>(i));
    }
  }
}

Status CheckVariants(const PrunedGraph& pruned, const DeviceSet& devices,
                     const std::vector<int>& placed, absl::FunctionRef<std::string(int i)> reason) {
  if (!HasSeveralTasks(devices)) return absl::OkStatus();
  const auto place = [&](int i) {
    const std::string why = reason(i);
    return absl::StrCat("'", pruned.nodes[i]->name(), "' is on '", devices[placed[i]].name, "'",
                        why.empty() ? "" : absl::StrCat(" (", why, ")"));
  };
  Status status;
  ForEachVariant(pruned, [&](int from, int to) {
    if (!status.ok() || AreOfOneTask(devices[placed[from]], devices[placed[to]])) return;
    status = AnnotateWithNode(
        errors::InvalidArgument(
            "Cannot place: a tensor of dtype variant, such as a list, stays in one task, but ",
            place(from), " and makes one, and ", place(to), " and reads it"),
        *pruned.nodes[to]);
  });
  return status;
}

}  // namespace millstream
