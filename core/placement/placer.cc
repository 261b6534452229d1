#include "core/placement/placer.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "core/device/find_kernel.h"
#include "core/graph/colocation.h"
#include "core/graph/structural_role.h"
#include "core/placement/node_group.h"
#include "core/placement/variant_tasks.h"
#include "framework/plugin/kernel_registry.h"
#include "framework/plugin/loader.h"

namespace millstream {
namespace {

// Places one pruned graph, in the order of the methods of Run.
class Placer {
 public:
  Placer(const Graph& graph, const PrunedGraph& pruned, const DeviceSet& devices,
         const PlacementOptions& options)
      : graph_(graph), pruned_(pruned), devices_(devices), options_(options) {}
  StatusOr<Placement> Run();

 private:
  int size() const { return static_cast<int>(pruned_.nodes.size()); }
  const Node& node(int i) const { return *pruned_.nodes[i]; }
  int Find(int i);
  void Join(int a, int b) { parent_[Find(b)] = Find(a); }

  Status ReadRequests();
  void FindKernels();
  void JoinResources();
  bool FitsSoftly(const NodeGroup& more, NodeGroup* group) const;
  void JoinVariants();
  Status CheckColocation() const;
  void JoinColocated();
  void JoinLoops();
  void JoinLoop(const std::vector<int>& members, std::map<int, NodeGroup>* groups);
  std::map<int, NodeGroup> GroupsSoFar();
  bool Fits(const NodeGroup& more, NodeGroup* group) const;
  Status MergeRequests();
  bool HasKernel(int i, const std::string& type);
  std::vector<int> Candidates(const DeviceName& wanted, const NodeGroup& group) const;
  Status Choose();
  PlacementGroups Groups();
  void ChooseByCosts();
  Status TakeDecided();
  int PreferredDevice(int i, const std::vector<int>& candidates) const;
  bool IsOfFirstTask(int device) const;
  void Put(int i, int device, const std::string& preference);
  std::string Reason(int i, const std::string& preference);
  Status NoDevice(int i, const NodeGroup& group) const;
  StatusOr<Placement> PlaceOnTheOnlyDevice();

  const Graph& graph_;
  const PrunedGraph& pruned_;
  const DeviceSet& devices_;
  const PlacementOptions& options_;
  absl::flat_hash_map<const Node*, int> index_;
  std::vector<int> parent_;
  std::vector<DeviceName> requests_;
  std::vector<std::string> request_texts_;
  std::vector<std::string> types_;
  std::vector<std::vector<std::string>> unsupported_;  // types without kernel, by node
  std::map<int, NodeGroup> groups_;                    // by root
  std::vector<int> group_sizes_;                       // by root
  Placement placement_;
  absl::flat_hash_map<int, int> chosen_;             // device of a group that has one
  absl::flat_hash_map<int, std::vector<int>> open_;  // which it was chosen from, itself first
};

int Placer::Find(int i) {
  while (parent_[i] != i) i = parent_[i] = parent_[parent_[i]];
  return i;
}

Status Placer::ReadRequests() {
  parent_.resize(size());
  std::iota(parent_.begin(), parent_.end(), 0);
  for (int i = 0; i < size(); ++i) {
    index_[&node(i)] = i;
    request_texts_.push_back(graph_.Device(&node(i)));
    StatusOr<DeviceName> request = DeviceName::Parse(request_texts_.back());
    if (!request.ok()) return AnnotateWithNode(request.status(), node(i));
    requests_.push_back(*std::move(request));
  }
  for (const DeviceDescription& device : devices_) {
    if (std::find(types_.begin(), types_.end(), device.type()) == types_.end()) {
      types_.push_back(device.type());
    }
  }
  return absl::OkStatus();
}

// State is where its handle is: a handle is an address on one device.
void Placer::JoinResources() {
  for (int i = 0; i < size(); ++i) {
    for (const Output& input : node(i).inputs()) {
      auto producer = index_.find(input.node);
      if (input.dtype() == DataType::kResource && producer != index_.end()) {
        Join(producer->second, i);
      }
    }
  }
}

// What is asked of the groups that there are; of requests that contradict each other the first.
std::map<int, NodeGroup> Placer::GroupsSoFar() {
  std::map<int, NodeGroup> groups;
  for (int i = 0; i < size(); ++i) {
    NodeGroup& group = groups[Find(i)];
    AddMissing(unsupported_[i], &group);
    DeviceName combined = group.wanted;
    if (request_texts_[i].empty() || !Combine(requests_[i], &combined)) continue;
    group.wanted = combined;
    if (group.wanted_by < 0) group.wanted_by = i;
  }
  return groups;
}

// Adds one group to another if some device can run both.
bool Placer::Fits(const NodeGroup& more, NodeGroup* group) const {
  NodeGroup both = *group;
  if (!Combine(more.wanted, &both.wanted)) return false;
  if (both.wanted_by < 0) both.wanted_by = more.wanted_by;
  AddMissing(more.unsupported, &both);
  if (Candidates(both.wanted, both).empty()) return false;
  *group = std::move(both);
  return true;
}

// As Fits; with soft placement some device must have the kernels, whatever is asked for.
bool Placer::FitsSoftly(const NodeGroup& more, NodeGroup* group) const {
  if (Fits(more, group)) return true;
  if (!options_.allow_soft_placement) return false;
  NodeGroup both = *group;
  AddMissing(more.unsupported, &both);
  if (Candidates(DeviceName(), both).empty()) return false;
  *group = std::move(both);
  return true;
}

// A variant, such as the list of what a loop keeps for its gradient, is an object of one process:
// no message carries it to another task. The nodes that make it, change it and pass it on stay on
// one device if they can. Within a task it may go from device to device.
void Placer::JoinVariants() {
  if (!HasSeveralTasks(devices_)) return;
  std::map<int, NodeGroup> groups = GroupsSoFar();
  ForEachVariant(pruned_, [&](int from, int to) {
    NodeGroup& group = groups[Find(from)];
    if (Find(from) == Find(to) || !FitsSoftly(groups[Find(to)], &group)) return;
    Join(from, to);
  });
}

// A loop, with all loops in it and the nodes through which it is entered and left, stays on one
// device if it can. If its nodes ask for different devices, or no device can run them all, it is
// cut: what asks for a device is there, and of the rest as much as possible stays together.
void Placer::JoinLoop(const std::vector<int>& members, std::map<int, NodeGroup>* groups) {
  NodeGroup whole;
  const bool fits = std::all_of(members.begin(), members.end(),
                                [&](int i) { return Fits((*groups)[Find(i)], &whole); });
  int first = -1;
  NodeGroup joined;
  for (const int i : members) {
    const NodeGroup& group = (*groups)[Find(i)];
    if (!fits && (group.wanted_by >= 0 || !Fits(group, &joined))) continue;
    if (first < 0) first = i;
    Join(first, i);
  }
  if (first >= 0) (*groups)[Find(first)] = fits ? whole : joined;
}

void Placer::JoinLoops() {
  if (options_.frames == nullptr) return;
  const FrameTree& tree = *options_.frames;
  // Parents come first, so that one pass finds the outermost loop of each.
  std::vector<int> outermost(tree.frames.size());
  for (size_t f = 1; f < tree.frames.size(); ++f) {
    const int parent = tree.frames[f].parent;
    outermost[f] = parent == StaticFrame::kRoot ? static_cast<int>(f) : outermost[parent];
  }
  std::vector<std::vector<int>> members(tree.frames.size());
  for (int i = 0; i < size(); ++i) {
    members[outermost[std::max(tree.input_frame[i], tree.output_frame[i])]].push_back(i);
  }
  std::map<int, NodeGroup> groups = GroupsSoFar();
  for (size_t f = 1; f < members.size(); ++f) JoinLoop(members[f], &groups);
}

// A name that no node of the graph has is a misspelt one.
Status Placer::CheckColocation() const {
  for (const Node* node : pruned_.nodes) {
    for (const absl::string_view name : ColocatedWith(node->attrs())) {
      if (graph_.FindNode(name).ok()) continue;
      return AnnotateWithNode(errors::InvalidArgument("the node asks to be colocated with '", name,
                                                      "', but the graph has no node of that name"),
                              *node);
    }
  }
  return absl::OkStatus();
}

void Placer::JoinColocated() {
  absl::flat_hash_map<absl::string_view, int> by_name;
  for (int i = 0; i < size(); ++i) by_name[node(i).name()] = i;
  // An imported node is where the nodes are that do its work.
  for (int i = 0; i < size(); ++i) {
    if (node(i).imported() != nullptr) by_name.try_emplace(node(i).imported()->name, i);
  }
  for (int i = 0; i < size(); ++i) {
    for (const absl::string_view name : ColocatedWith(node(i).attrs())) {
      auto other = by_name.find(name);
      // A node that this step does not run constrains nothing.
      if (other != by_name.end()) Join(other->second, i);
    }
  }
}

Status Placer::MergeRequests() {
  group_sizes_.assign(size(), 0);
  for (int i = 0; i < size(); ++i) {
    const int root = Find(i);
    ++group_sizes_[root];
    NodeGroup& group = groups_[root];
    AddMissing(unsupported_[i], &group);
    if (request_texts_[i].empty()) continue;
    DeviceName combined = group.wanted;
    if (Combine(requests_[i], &combined)) {
      group.wanted = combined;
      if (group.wanted_by < 0) group.wanted_by = i;
      continue;
    }
    if (options_.allow_soft_placement) continue;  // the first that asked has its way
    return AnnotateWithNode(
        errors::InvalidArgument("Cannot colocate: the node asks for '", request_texts_[i],
                                "', but must be on one device with '", node(group.wanted_by).name(),
                                "', which asks for '", request_texts_[group.wanted_by], "'"),
        node(i));
  }
  return absl::OkStatus();
}

bool Placer::HasKernel(int i, const std::string& type) {
  switch (RoleOf(node(i).op().name)) {
    case StructuralRole::kKernel: break;
    default: return true;
  }
  return FindKernel(node(i), type).ok();
}

void Placer::FindKernels() {
  unsupported_.resize(size());
  for (int i = 0; i < size(); ++i) {
    for (const std::string& type : types_) {
      if (!HasKernel(i, type)) unsupported_[i].push_back(type);
    }
  }
}

std::vector<int> Placer::Candidates(const DeviceName& wanted, const NodeGroup& group) const {
  std::vector<int> candidates;
  for (int d = 0; d < devices_.size(); ++d) {
    const DeviceDescription& device = devices_[d];
    const bool supported = std::find(group.unsupported.begin(), group.unsupported.end(),
                                     device.type()) == group.unsupported.end();
    if (supported && wanted.Fits(device.parsed_name)) candidates.push_back(d);
  }
  return candidates;
}

// What the group asks for, the devices, and for this member why each does not do.
Status Placer::NoDevice(int i, const NodeGroup& group) const {
  const Node& failed = node(i);
  std::string text = "Cannot assign a device for operation ";
  absl::StrAppend(&text, failed.name(), ": ");
  if (group.wanted_by >= 0) {
    absl::StrAppend(&text, "it was asked for '", request_texts_[group.wanted_by], "'",
                    group.wanted_by == i ? "" : " by '",
                    group.wanted_by == i ? "" : node(group.wanted_by).name() + "'", "; ");
  }
  absl::StrAppend(&text, "available devices are [", devices_.Names(), "]");
  // A missing device may belong to a plugin that failed to load.
  const auto fits = [&group](const DeviceDescription& device) {
    return group.wanted.Fits(device.parsed_name);
  };
  if (std::none_of(devices_.begin(), devices_.end(), fits)) {
    const std::string reasons = PluginLoader::Global()->FailureReasons();
    if (!reasons.empty()) absl::StrAppend(&text, "; plugins that are not used: ", reasons);
  }
  for (const std::string& type : types_) {
    const auto kernel = FindKernel(failed, type);
    if (RoleOf(failed.op().name) == StructuralRole::kKernel && !kernel.ok()) {
      absl::StrAppend(&text, "; ", type, ": ", kernel.status().message());
    }
  }
  return AnnotateWithNode(errors::InvalidArgument(text), failed);
}

// Where the tensor is that the node passes on, when the node may be there.
int Placer::PreferredDevice(int i, const std::vector<int>& candidates) const {
  const StructuralRole role = RoleOf(node(i).op().name);
  if (role != StructuralRole::kIdentity && role != StructuralRole::kReshape) return -1;
  auto producer = index_.find(node(i).input(0).node);
  if (producer == index_.end() || producer->second >= i) return -1;
  const int device = placement_.devices[producer->second];
  return std::find(candidates.begin(), candidates.end(), device) == candidates.end() ? -1 : device;
}

// In a cluster, that is the task of the master.
bool Placer::IsOfFirstTask(int device) const { return AreOfOneTask(devices_[0], devices_[device]); }

std::string Placer::Reason(int i, const std::string& preference) {
  const int root = Find(i);
  const NodeGroup& group = groups_[root];
  std::string text;
  if (group.wanted_by == i) {
    text = absl::StrCat("it asks for '", request_texts_[i], "'");
  } else if (group.wanted_by >= 0) {
    text = absl::StrCat("it is together with '", node(group.wanted_by).name(),
                        "', which asks for '", request_texts_[group.wanted_by], "'");
  } else if (group_sizes_[root] > 1 && root != i) {
    text = absl::StrCat("it is together with '", node(root).name(), "'");
  }
  if (!preference.empty()) absl::StrAppend(&text, text.empty() ? "" : "; ", preference);
  for (const std::string& type : unsupported_.empty() ? types_ : unsupported_[i]) {
    if (RoleOf(node(i).op().name) != StructuralRole::kKernel) break;
    const std::string refusals = KernelRefusals(node(i), type);
    if (refusals.empty()) continue;
    absl::StrAppend(&text, text.empty() ? "" : "; ", type, " does not take it: ", refusals);
  }
  return text;
}

void Placer::Put(int i, int device, const std::string& preference) {
  placement_.devices.push_back(device);
  if (options_.explain) placement_.reasons.push_back(Reason(i, preference));
}

Status Placer::Choose() {
  for (int i = 0; i < size(); ++i) {
    const int root = Find(i);
    const NodeGroup& group = groups_[root];
    auto known = chosen_.find(root);
    if (known != chosen_.end()) {
      Put(i, known->second, "");
      continue;
    }
    std::string preference;
    std::vector<int> candidates = Candidates(group.wanted, group);
    if (candidates.empty() && options_.allow_soft_placement) {
      DeviceName looser = group.wanted;
      looser.index.reset();
      candidates = Candidates(looser, group);
      looser.type.reset();
      if (candidates.empty()) candidates = Candidates(looser, group);
      if (candidates.empty()) candidates = Candidates(DeviceName(), group);
      preference = "which cannot be met; soft placement moved it";
    }
    if (candidates.empty()) return NoDevice(i, group);
    // Accelerators come before the default device, and the task of the first device before others;
    // among equals the first.
    std::stable_partition(candidates.begin(), candidates.end(),
                          [this](int d) { return !devices_[d].traits.is_default; });
    std::stable_partition(candidates.begin(), candidates.end(),
                          [this](int d) { return IsOfFirstTask(d); });
    int device = PreferredDevice(i, candidates);
    if (device >= 0 && candidates.size() > 1) {
      preference = absl::StrCat("its input '", node(i).input(0).name(), "' is there");
    } else {
      device = candidates[0];
      if (preference.empty() && candidates.size() > 1) {
        preference = absl::StrCat("it is the first of ", candidates.size(), " that can run it");
      } else if (preference.empty() && group.wanted_by < 0) {
        preference = "no other device can run it";
      }
    }
    chosen_[root] = device;
    Put(i, device, preference);
    if (options_.costs == nullptr && options_.decided == nullptr) continue;
    const auto chosen = std::find(candidates.begin(), candidates.end(), device);
    std::rotate(candidates.begin(), chosen, chosen + 1);
    open_[root] = std::move(candidates);
  }
  return absl::OkStatus();
}

PlacementGroups Placer::Groups() {
  PlacementGroups groups;
  absl::flat_hash_map<int, int> numbers;  // of the groups, by root
  for (int i = 0; i < size(); ++i) {
    const int root = Find(i);
    const int next = static_cast<int>(groups.candidates.size());
    const auto [number, is_new] = numbers.try_emplace(root, next);
    if (is_new) groups.candidates.push_back(open_.at(root));
    groups.group_of.push_back(number->second);
  }
  return groups;
}

// Where costs decide, instead of what was preferred.
void Placer::ChooseByCosts() {
  PlacementGroups groups = Groups();
  placement_.had_choice = std::any_of(groups.candidates.begin(), groups.candidates.end(),
                                      [](const auto& devices) { return devices.size() > 1; });
  CostedPlacement placed = PlaceByCosts(pruned_, devices_, std::move(groups), *options_.costs);
  placement_.devices = std::move(placed.devices);
  if (!options_.explain) return;
  for (int i = 0; i < size(); ++i) {
    if (!placed.reasons[i].empty()) placement_.reasons[i] = Reason(i, placed.reasons[i]);
  }
}

// Where another task has decided.
Status Placer::TakeDecided() {
  MS_RETURN_IF_ERROR(CheckDecided(pruned_, devices_, Groups(), *options_.decided));
  placement_.devices = *options_.decided;
  for (int i = 0; options_.explain && i < size(); ++i) {
    if (open_.at(Find(i)).size() > 1) placement_.reasons[i] = Reason(i, "its master decided so");
  }
  return absl::OkStatus();
}

// What has no kernel here is found when its kernel is made.
StatusOr<Placement> Placer::PlaceOnTheOnlyDevice() {
  for (int i = 0; i < size(); ++i) {
    NodeGroup alone;
    alone.wanted = requests_[i];
    if (!request_texts_[i].empty()) alone.wanted_by = i;
    const bool fits = requests_[i].Fits(devices_[0].parsed_name);
    if (!fits && !options_.allow_soft_placement) return NoDevice(i, alone);
    placement_.devices.push_back(0);
    if (!options_.explain) continue;
    placement_.reasons.push_back(
        fits ? "there is no other device"
             : absl::StrCat("it asks for '", request_texts_[i],
                            "', which cannot be met; soft placement moved it"));
  }
  return std::move(placement_);
}

StatusOr<Placement> Placer::Run() {
  MS_RETURN_IF_ERROR(ReadRequests());
  MS_RETURN_IF_ERROR(CheckColocation());
  if (devices_.size() == 1) return PlaceOnTheOnlyDevice();
  FindKernels();
  JoinResources();
  JoinColocated();
  JoinVariants();
  JoinLoops();
  MS_RETURN_IF_ERROR(MergeRequests());
  MS_RETURN_IF_ERROR(Choose());
  if (options_.decided != nullptr) {
    MS_RETURN_IF_ERROR(TakeDecided());
  } else if (options_.costs != nullptr) {
    ChooseByCosts();
  }
  MS_RETURN_IF_ERROR(CheckVariants(pruned_, devices_, placement_.devices,
                                   [this](int i) { return Reason(i, ""); }));
  return std::move(placement_);
}

}  // namespace

StatusOr<Placement> Place(const Graph& graph, const PrunedGraph& pruned, const DeviceSet& devices,
                          const PlacementOptions& options) {
  return Placer(graph, pruned, devices, options).Run();
}

std::string ExplainPlacement(const PrunedGraph& pruned, const DeviceSet& devices,
                             const Placement& placement, int i) {
  const Node& node = *pruned.nodes[i];
  return absl::StrCat(node.name(), ": (", node.op().name, "): ", devices[placement.devices[i]].name,
                      " because ", placement.reasons[i]);
}

}  // namespace millstream
