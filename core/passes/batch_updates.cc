// batch_updates: replaces an optimizer's updates of many variables with the same settings by one
// operation, which locks the variables, checks the shapes and starts the threads once.
//
// An update moves down to the position of the last one of its group. This only changes the order of
// operations that the program does not order, because a group ends
//   - before an operation with effects (also another update) that waits for one of its updates,
//     directly or over other operations;
//   - before an operation that reads the handle of one of its variables, or may read it;
//   - before a tensor that is sent to or received from another part of the step.
// Operations without effects may move before an update that they wait for: no result depends on it.
#include <algorithm>
#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_cat.h"
#include "core/graph/structural_role.h"
#include "core/passes/pass.h"
#include "core/resources/resource_handle.h"
#include "framework/op_registry.h"

namespace millstream {
namespace {

// The most bytes of gradients of waiting updates that are kept while other operations allocate
// tensors. Beyond it, the memory and the cache misses cost more than a call.
constexpr int64_t kMostBytesKept = 1 << 20;
// Smaller tensors of other operations are ignored.
constexpr int64_t kSmallBytes = 4096;

// The name of the variable if the value is a handle. The container is ignored, so that variables of
// the same name count as one.
std::optional<std::string> VariableOf(const Output& value) {
  if (RoleOf(value.node->op().name) != StructuralRole::kHandle) return std::nullopt;
  const StatusOr<ResourceName> name = ResourceNameOf(*value.node);
  return name.ok() ? std::optional<std::string>(name->name) : std::nullopt;
}

bool IsHandle(const Output& value) { return value.dtype() == DataType::kResource; }

// The attributes that the node's op defines.
AttrMap OwnAttrs(const Node& node) {
  AttrMap attrs;
  for (const auto& [name, value] : node.attrs()) {
    if (node.op().FindAttr(name) != nullptr) SetAttr(&attrs, name, value);
  }
  return attrs;
}

struct Group {
  const OpDef* many = nullptr;  // the op that replaces the updates
  AttrMap attrs;                // the attributes of the updates
  std::vector<int> members;     // ascending
};

class UpdateBatching {
 public:
  explicit UpdateBatching(StepOps* ops) : ops_(*ops) {}
  Status Run();

 private:
  const OpDef* ManyOf(const Node& node);
  bool IsCandidate(const StepOp& op, const OpDef* many) const;
  std::string KeyOf(const StepOp& op, const OpDef& many) const;
  std::string ScalarKey(const Output& value) const;
  int64_t BytesOf(const Output& value) const;
  bool MakesTensors(const StepOp& op) const;
  bool TouchesWaiting(const StepOp& op) const;
  void NoteEffects(const StepOp& op);
  void Wait(int i, const OpDef* many);
  Status VisitOp(int i, int* waits_for);
  Status VisitAdded(int before);
  Status Visit(const Node* node, const std::vector<const Node*>& controls);
  Status EndGroups();
  void AddNeedlessReads(const Group& group, std::vector<int>* replaced) const;
  Status Batch(const Group& group);

  StepOps& ops_;
  // Of the operations, by the program's nodes that stood there first. What other passes made of
  // several nodes stands where one of them did.
  absl::flat_hash_map<const Node*, int> places_;
  // The places of those that stand where none of the program's nodes did, until they are visited.
  std::deque<int> added_;
  absl::flat_hash_map<const OpDef*, const OpDef*> many_;

  // Updates that wait for others of their group, until EndGroups.
  std::multimap<std::string, Group> groups_;
  absl::flat_hash_set<std::string> variables_;  // that they change
  int64_t bytes_kept_ = 0;                      // their gradients

  // How often groups have ended, and for the nodes that wait for updates, the number of the last
  // of these.
  int round_ = 1;
  absl::flat_hash_map<const Node*, int> waits_for_;

  // What two reads of a variable have in common when both give one value.
  absl::flat_hash_map<std::string, int> writes_;  // so far, by variable
  int unknown_effects_ = 0;                       // operations so far that may change anything
  absl::flat_hash_map<Output, std::string> reads_;
};

// The op on many variables that goes with the node's, or null. It has the same arguments, some of
// them several times.
const OpDef* UpdateBatching::ManyOf(const Node& node) {
  auto [entry, is_new] = many_.try_emplace(&node.op(), nullptr);
  if (!is_new) return entry->second;
  const OpDef* const found =
      OpRegistry::Global()->FindOrNull(absl::StrCat("_Multi", node.op().name));
  const bool goes_along = found != nullptr && found->inputs.size() == node.op().inputs.size() &&
                          static_cast<size_t>(node.num_inputs()) == found->inputs.size() &&
                          node.num_outputs() == 0;
  if (goes_along) entry->second = found;
  return entry->second;
}

bool UpdateBatching::IsCandidate(const StepOp& op, const OpDef* many) const {
  if (many == nullptr || op.names_kernel()) return false;
  const bool handles_known = absl::c_all_of(op.inputs, [](const Output& input) {
    return !IsHandle(input) || VariableOf(input).has_value();
  });
  return handles_known && ops_.HasKernel(many->name, op.node->attrs());
}

// The same for inputs that have the same value wherever they are read.
std::string UpdateBatching::ScalarKey(const Output& value) const {
  auto read = reads_.find(value);
  if (read != reads_.end()) return read->second;
  const Tensor* const constant = ops_.constant(value);
  if (constant == nullptr || !IsPlainData(constant->dtype()) || constant->shape().rank() != 0) {
    return absl::StrCat("value ", value.name());
  }
  return absl::StrCat(
      "number ", DataTypeName(constant->dtype()), " ",
      absl::string_view(static_cast<const char*>(constant->raw()), constant->bytes()));
}

// Updates of one key go together if their attributes are the same.
std::string UpdateBatching::KeyOf(const StepOp& op, const OpDef& many) const {
  std::string key = op.type();
  for (size_t a = 0; a < many.inputs.size(); ++a) {
    if (many.inputs[a].number_attr.empty()) absl::StrAppend(&key, "\n", ScalarKey(op.inputs[a]));
  }
  return key;
}

int64_t UpdateBatching::BytesOf(const Output& value) const {
  const PartialShape* const shape = ops_.KnownShape(value);
  if (shape == nullptr) return kMostBytesKept;
  return shape->ToShape().num_elements() * static_cast<int64_t>(DataTypeSize(value.dtype()));
}

bool UpdateBatching::MakesTensors(const StepOp& op) const {
  return RoleOf(op.type()) == StructuralRole::kKernel &&
         absl::c_any_of(op.outputs,
                        [&](const Output& output) { return BytesOf(output) >= kSmallBytes; });
}

bool UpdateBatching::TouchesWaiting(const StepOp& op) const {
  return absl::c_any_of(op.inputs, [&](const Output& input) {
    if (!IsHandle(input)) return false;
    const std::optional<std::string> variable = VariableOf(input);
    return !variable.has_value() || variables_.contains(*variable);
  });
}

void UpdateBatching::NoteEffects(const StepOp& op) {
  bool is_known = false;
  for (const Output& input : op.inputs) {
    if (!IsHandle(input)) continue;
    const std::optional<std::string> variable = VariableOf(input);
    is_known = variable.has_value();
    if (!is_known) break;
    if (op.type() == "ReadVariableOp") {
      reads_[op.outputs[0]] =
          absl::StrCat("variable ", writes_[*variable], " ", unknown_effects_, " ", *variable);
    } else {
      ++writes_[*variable];
    }
  }
  if (!is_known) ++unknown_effects_;
}

void UpdateBatching::Wait(int i, const OpDef* many) {
  const StepOp& op = ops_.op(i);
  AttrMap attrs = OwnAttrs(*op.node);
  std::string key = KeyOf(op, *many);
  const auto [first, last] = groups_.equal_range(key);
  auto group =
      std::find_if(first, last, [&](const auto& entry) { return entry.second.attrs == attrs; });
  if (group == last) {
    group = groups_.emplace(std::move(key), Group{many, std::move(attrs), {}});
  }
  group->second.members.push_back(i);
  for (size_t a = 0; a < op.inputs.size(); ++a) {
    if (IsHandle(op.inputs[a])) {
      variables_.insert(*VariableOf(op.inputs[a]));
    } else if (!many->inputs[a].number_attr.empty()) {
      bytes_kept_ += BytesOf(op.inputs[a]);
    }
  }
}

// `waits_for`: see waits_for_; set where the operation is an update that others may wait for.
Status UpdateBatching::VisitOp(int i, int* waits_for) {
  const StepOp& op = ops_.op(i);
  const StructuralRole role = RoleOf(op.type());
  if (role == StructuralRole::kHandle) return absl::OkStatus();
  const bool transfers = role == StructuralRole::kSend || role == StructuralRole::kReceive;
  const bool has_effects = transfers || op.node->op().is_stateful;
  const OpDef* const many = has_effects ? ManyOf(*op.node) : nullptr;
  const bool is_update = IsCandidate(op, many);
  const bool ends = transfers || (has_effects && (*waits_for == round_ || TouchesWaiting(op))) ||
                    (!is_update && bytes_kept_ > kMostBytesKept && MakesTensors(op));
  if (ends && !groups_.empty()) MS_RETURN_IF_ERROR(EndGroups());
  if (has_effects) NoteEffects(op);
  if (!is_update) return absl::OkStatus();
  Wait(i, many);
  *waits_for = round_;
  return absl::OkStatus();
}

Status UpdateBatching::Visit(const Node* node, const std::vector<const Node*>& controls) {
  int waits_for = 0;
  const auto wait = [&](const Node* other) {
    auto found = waits_for_.find(other);
    if (found != waits_for_.end()) waits_for = std::max(waits_for, found->second);
  };
  for (const Output& input : node->inputs()) wait(input.node);
  for (const Node* control : controls) wait(control);
  const auto place = places_.find(node);
  if (place != places_.end()) {
    MS_RETURN_IF_ERROR(VisitAdded(place->second));
    MS_RETURN_IF_ERROR(VisitOp(place->second, &waits_for));
  }
  if (waits_for > 0) waits_for_[node] = waits_for;
  return absl::OkStatus();
}

// Adds to `replaced` the reads whose only reader is a member, and whose value the last member reads
// from another operation.
void UpdateBatching::AddNeedlessReads(const Group& group, std::vector<int>* replaced) const {
  const StepOp& last = ops_.op(group.members.back());
  absl::flat_hash_set<Output> seen(last.inputs.begin(), last.inputs.end());
  for (int i : group.members) {
    for (size_t a = 0; a < last.inputs.size(); ++a) {
      const Output value = ops_.op(i).inputs[a];
      const bool is_read = group.many->inputs[a].number_attr.empty() && reads_.contains(value);
      if (!is_read || !seen.insert(value).second || ops_.IsVisible(value)) continue;
      const bool others_read = absl::c_any_of(ops_.Readers(value), [&](int reader) {
        return !absl::c_binary_search(group.members, reader);
      });
      if (!others_read) replaced->push_back(ops_.Producer(value));
    }
  }
}

Status UpdateBatching::Batch(const Group& group) {
  const StepOp& last = ops_.op(group.members.back());
  std::vector<Output> inputs;
  for (size_t a = 0; a < group.many->inputs.size(); ++a) {
    if (group.many->inputs[a].number_attr.empty()) {
      inputs.push_back(last.inputs[a]);
      continue;
    }
    for (int i : group.members) inputs.push_back(ops_.op(i).inputs[a]);
  }
  AttrMap attrs = group.attrs;
  SetAttr(&attrs, "N", static_cast<int64_t>(group.members.size()));
  std::vector<std::string> names;
  for (int i : group.members) names.push_back(ops_.op(i).node->name());
  SetAttr(&attrs, "_nodes", std::move(names));
  std::vector<int> replaced = group.members;
  AddNeedlessReads(group, &replaced);
  return ops_.Replace(group.members.back(), replaced, group.many->name, std::move(attrs),
                      *last.node, std::move(inputs), {});
}

Status UpdateBatching::EndGroups() {
  for (const auto& [key, group] : groups_) {
    if (group.members.size() > 1) MS_RETURN_IF_ERROR(Batch(group));
  }
  groups_.clear();
  variables_.clear();
  bytes_kept_ = 0;
  ++round_;
  return absl::OkStatus();
}

// Operations with effects that passes have added have their turn where they stand.
Status UpdateBatching::VisitAdded(int before) {
  for (; !added_.empty() && added_.front() < before; added_.pop_front()) {
    int waits_for = 0;
    MS_RETURN_IF_ERROR(VisitOp(added_.front(), &waits_for));
  }
  return absl::OkStatus();
}

Status UpdateBatching::Run() {
  const PrunedGraph& program = ops_.program();
  const absl::flat_hash_set<const Node*> nodes(program.nodes.begin(), program.nodes.end());
  for (int i = 0; i < ops_.size(); ++i) {
    if (ops_.IsGone(i)) continue;
    if (nodes.contains(ops_.origin(i))) {
      places_[ops_.origin(i)] = i;
    } else if (ops_.op(i).node->op().is_stateful) {
      added_.push_back(i);
    }
  }
  for (size_t i = 0; i < program.nodes.size(); ++i) {
    MS_RETURN_IF_ERROR(Visit(program.nodes[i], program.controls[i]));
  }
  MS_RETURN_IF_ERROR(VisitAdded(ops_.size()));
  return EndGroups();
}

Status BatchUpdates(StepOps* ops) { return UpdateBatching(ops).Run(); }

MILLSTREAM_PASS("batch_updates", 50, BatchUpdates);

}  // namespace
}  // namespace millstream
