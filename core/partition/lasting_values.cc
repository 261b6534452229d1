#include "core/partition/lasting_values.h"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <optional>

#include "absl/algorithm/container.h"
#include "core/graph/node_state.h"
#include "core/graph/structural_role.h"
#include "framework/dtype.h"
#include "framework/op_def.h"
#include "framework/shape.h"

namespace millstream {
namespace {

// The largest value that fold_constants always keeps (core/passes/fold_constants.cc).
constexpr int64_t kAlwaysKept = int64_t{1} << 20;
constexpr int64_t kWorthACopy = 1024;

bool IsOfOneTask(const DeviceName& a, const DeviceName& b) {
  return a.job == b.job && a.replica == b.replica && a.task == b.task;
}

bool AreTasksOfProcessors(const DeviceSet& devices, const std::vector<int>& used) {
  const DeviceName& first = devices[used[0]].parsed_name;
  return absl::c_all_of(used, [&](int d) { return devices[d].traits.host_memory; }) &&
         !absl::c_all_of(used, [&](int d) { return IsOfOneTask(devices[d].parsed_name, first); });
}

// The bytes of a tensor of numbers; none where the graph does not say.
std::optional<int64_t> BytesOf(const Output& output) {
  if (!IsPlainData(output.dtype())) return std::nullopt;
  const PartialShape& shape = output.node->facts(output.index).shape;
  if (!shape.IsFullyKnown() || !ValidateShape(shape.ToShape()).ok()) return std::nullopt;
  const auto size = static_cast<int64_t>(DataTypeSize(output.dtype()));
  const int64_t count = shape.num_elements();
  if (count > std::numeric_limits<int64_t>::max() / size) return std::nullopt;
  return count * size;
}

// An op without a shape function calls the program, or is one of which little is known.
bool ComputesNumbers(const Node& node) {
  const OpDef& op = node.op();
  if (HasState(node) || HasReferences(op) || op.shape_function == nullptr || !op.plugin.empty()) {
    return false;
  }
  switch (RoleOf(op.name)) {
    case StructuralRole::kKernel:
    case StructuralRole::kIdentity:
    case StructuralRole::kReshape: return true;
    default: return false;
  }
}

class Finder {
 public:
  Finder(const PrunedGraph& graph, const FrameTree& frames, const StepSignature& signature)
      : graph_(graph), frames_(frames), fed_(signature.feeds.begin(), signature.feeds.end()) {
    for (const std::vector<const Node*>& controls : graph.controls) {
      awaited_.insert(controls.begin(), controls.end());
    }
    awaited_.insert(signature.targets.begin(), signature.targets.end());
  }

  absl::flat_hash_set<const Node*> Run() {
    const int count = static_cast<int>(graph_.nodes.size());
    for (int i = 0; i < count; ++i) {
      if (IsFreeConstant(graph_, i) || IsFolded(i)) known_.insert(graph_.nodes[i]);
    }
    absl::flat_hash_set<const Node*> lasting;
    absl::flat_hash_set<const Node*> read;  // by lasting nodes
    for (int i = count - 1; i >= 0; --i) {
      const Node* const node = graph_.nodes[i];
      if (!known_.contains(node) || IsFreeConstant(graph_, i)) continue;
      if (!read.contains(node) && OutputBytes(*node) < kWorthACopy) continue;
      lasting.insert(node);
      for (const Output& input : node->inputs()) read.insert(input.node);
    }
    return lasting;
  }

 private:
  // The bytes of all outputs; -1 where the graph does not say.
  int64_t OutputBytes(const Node& node) const {
    int64_t sum = 0;
    for (int k = 0; k < node.num_outputs(); ++k) {
      const std::optional<int64_t> bytes = BytesOf(node.output(k));
      if (!bytes.has_value()) return -1;
      sum += *bytes;
    }
    return sum;
  }

  // Whether fold_constants replaces the node, whose inputs were looked at before.
  bool IsFolded(int i) const {
    const Node& node = *graph_.nodes[i];
    if (frames_.input_frame[i] != StaticFrame::kRoot || !graph_.controls[i].empty() ||
        awaited_.contains(&node) || node.num_inputs() == 0 || !ComputesNumbers(node)) {
      return false;
    }
    int64_t input_bytes = 0;
    for (const Output& input : node.inputs()) {
      const std::optional<int64_t> bytes = BytesOf(input);
      if (!bytes.has_value() || fed_.contains(input) || !known_.contains(input.node)) return false;
      input_bytes += *bytes;
    }
    for (int k = 0; k < node.num_outputs(); ++k) {
      if (fed_.contains(node.output(k))) return false;
    }
    const int64_t bytes = OutputBytes(node);
    return bytes > 0 && bytes <= std::max(input_bytes, kAlwaysKept);
  }

  const PrunedGraph& graph_;
  const FrameTree& frames_;
  const absl::flat_hash_set<Output> fed_;
  absl::flat_hash_set<const Node*> awaited_;
  absl::flat_hash_set<const Node*> known_;  // constants, and nodes that are folded
};

}  // namespace

bool IsFreeConstant(const PrunedGraph& graph, int i) {
  return RoleOf(graph.nodes[i]->op().name) == StructuralRole::kConstant &&
         graph.controls[i].empty();
}

absl::flat_hash_set<const Node*> FindLastingValues(const PrunedGraph& graph,
                                                   const FrameTree& frames,
                                                   const StepSignature& signature,
                                                   const DeviceSet& devices,
                                                   const std::vector<int>& used) {
  if (!AreTasksOfProcessors(devices, used)) return {};
  return Finder(graph, frames, signature).Run();
}

}  // namespace millstream
