#include "core/passes/array_family.h"

#include <utility>

#include "absl/algorithm/container.h"
#include "absl/strings/match.h"

namespace millstream {
namespace {

constexpr char kGradient[] = "TensorArrayGradV3";

bool ReadsElements(absl::string_view op) {
  return op == "TensorArrayReadV3" || op == "TensorArrayGatherV3";
}
bool WritesElements(absl::string_view op) {
  return op == "TensorArrayWriteV3" || op == "TensorArrayScatterV3";
}
// They say how long the array is, which does not depend on what is read and written.
bool IsOfSize(absl::string_view op) { return op == "TensorArraySizeV3"; }

class FamilyFinder {
 public:
  FamilyFinder(const StepOps& ops, int place) : ops_(ops), place_(place) {}

  std::optional<ArrayFamily> Find(int made) {
    family_.made = made;
    family_.users[""];
    if (!Follow(ops_.op(made).outputs[0], "")) return std::nullopt;
    for (auto& [gradient, users] : family_.users) {
      absl::c_sort(users.ops);
      absl::c_sort(users.loops);
    }
    return std::move(family_);
  }

 private:
  bool Follow(const Output& handle, const std::string& gradient) {
    if (ops_.IsVisible(handle)) return false;
    for (const int reader : ops_.Readers(handle)) {
      const StepOp& op = ops_.op(reader);
      const std::string& type = op.type();
      if (reader == place_ || IsOfSize(type)) continue;
      if (type == kGradient) {
        const std::string of_gradient = GradientArray(gradient, *op.node);
        family_.users[of_gradient];
        family_.gradients.push_back(reader);
        if (!Follow(op.outputs[0], of_gradient)) return false;
      } else if (type == "_Loop") {
        if (!FollowInLoop(reader, handle, gradient)) return false;
      } else if (ReadsElements(type) || WritesElements(type)) {
        family_.users[gradient].ops.push_back(reader);
      } else {
        return false;
      }
    }
    return true;
  }

  bool FollowInLoop(int place, const Output& handle, const std::string& gradient) {
    const auto loop = ops_.program().loops.find(ops_.op(place).node);
    if (loop == ops_.program().loops.end()) return false;
    const std::vector<Output>& inputs = ops_.op(place).inputs;
    for (size_t i = 0; i < inputs.size(); ++i) {
      if (inputs[i] != handle) continue;
      if (static_cast<int>(i) < loop->second->num_variables) return false;
      for (const InnerGraph* graph : {&loop->second->condition, &loop->second->iteration}) {
        if (i >= graph->signature.feeds.size()) return false;
        if (!FollowInGraph(*graph, graph->signature.feeds[i], gradient, place)) return false;
      }
    }
    return true;
  }

  bool FollowInGraph(const InnerGraph& graph, const Output& handle, const std::string& gradient,
                     int place) {
    if (absl::c_linear_search(graph.signature.fetches, handle)) return false;
    for (const Node* const node : graph.pruned.nodes) {
      if (!absl::c_linear_search(node->inputs(), handle)) continue;
      const std::string& type = node->op().name;
      if (type == kGradient) {
        const std::string of_gradient = GradientArray(gradient, *node);
        family_.users[of_gradient];
        if (!FollowInGraph(graph, node->output(0), of_gradient, place)) return false;
      } else if (ReadsElements(type) || WritesElements(type)) {
        family_.users[gradient].loops.push_back(place);
      } else if (!IsOfSize(type)) {
        return false;
      }
    }
    return true;
  }

  const StepOps& ops_;
  const int place_;
  ArrayFamily family_;
};

bool IsUnread(const StepOps& ops, int i) {
  return absl::c_all_of(ops.op(i).outputs,
                        [&](const Output& value) { return ops.Readers(value).empty(); });
}

// What can be removed of a family now: arrays that have gradients, and writes to arrays that
// nothing reads and that have no gradients.
std::vector<int> RemovableOf(const StepOps& ops, const ArrayFamily& family) {
  std::vector<int> found;
  const auto add = [&](int i) {
    if (MayRemoveOp(ops, i) && IsUnread(ops, i)) found.push_back(i);
  };
  absl::c_for_each(family.gradients, add);
  for (const auto& [gradient, users] : family.users) {
    const std::string prefix = gradient + "@";
    const auto is_of_this = [&prefix](const auto& other) {
      return other.first.rfind(prefix, 0) == 0;
    };
    const bool is_read =
        !users.loops.empty() || absl::c_any_of(family.users, is_of_this) ||
        absl::c_any_of(users.ops, [&](int i) { return ReadsElements(ops.op(i).type()); });
    if (!is_read) absl::c_for_each(users.ops, add);
  }
  return found;
}

// Removes the operation, and what gave it its inputs if nothing else reads that.
void Remove(int i, StepOps* ops) {
  const std::vector<Output> inputs = ops->op(i).inputs;
  ops->Remove(i);
  for (const Output& input : inputs) {
    const int producer = ops->Producer(input);
    if (producer >= 0) ops->RemoveUnread(producer);
  }
}

}  // namespace

std::optional<ArrayFamily> FindArrayFamily(const StepOps& ops, int made, int place) {
  return FamilyFinder(ops, place).Find(made);
}

int FindArray(const StepOps& ops, Output handle, std::string* gradient) {
  std::vector<const Node*> path;
  int made = ops.Producer(handle);
  while (made >= 0 && ops.op(made).type() == kGradient && handle == ops.op(made).outputs[0]) {
    path.push_back(ops.op(made).node);
    handle = ops.op(made).inputs[0];
    made = ops.Producer(handle);
  }
  if (made < 0 || ops.op(made).type() != "TensorArrayV3") return -1;
  const StatusOr<DataType> dtype = ops.op(made).node->Attr<DataType>("dtype");
  if (!dtype.ok() || *dtype != DataType::kFloat) return -1;
  gradient->clear();
  for (auto node = path.rbegin(); node != path.rend(); ++node) {
    *gradient = GradientArray(*gradient, **node);
  }
  return made;
}

bool MayRemoveOp(const StepOps& ops, int i) {
  const StepOp& op = ops.op(i);
  return !op.must_run && !op.names_kernel() &&
         absl::c_none_of(op.outputs, [&](const Output& value) { return ops.IsVisible(value); });
}

void RemoveUnreadArrays(int made, StepOps* ops) {
  while (made >= 0 && !ops->IsGone(made)) {
    const std::optional<ArrayFamily> family = FindArrayFamily(*ops, made, -1);
    if (!family.has_value()) return;
    const std::vector<int> removable = RemovableOf(*ops, *family);
    for (const int i : removable) {
      if (!ops->IsGone(i)) Remove(i, ops);
    }
    if (!removable.empty()) continue;
    if (MayRemoveOp(*ops, made) && IsUnread(*ops, made)) Remove(made, ops);
    return;
  }
}

bool IsOnlyFlow(const StepOps& ops, const Output& flow) {
  // All ops on arrays have it as their last input.
  const auto is_read_as_flow = [&](int reader, const Output& value) {
    const StepOp& op = ops.op(reader);
    return absl::StartsWith(op.type(), "TensorArray") && op.inputs.back() == value &&
           absl::c_count(op.inputs, value) == 1;
  };
  return absl::c_all_of(ops.Readers(flow), [&](int reader) {
    if (is_read_as_flow(reader, flow)) return true;
    // A sum of flows is a flow. Sums of sums are not followed.
    if (ops.op(reader).type() != "AddN" || !MayRemoveOp(ops, reader)) return false;
    const Output& sum = ops.op(reader).outputs[0];
    return absl::c_all_of(ops.Readers(sum), [&](int next) { return is_read_as_flow(next, sum); });
  });
}

}  // namespace millstream
