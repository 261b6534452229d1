#include "core/placement/placer_costs.h"

#include <algorithm>
#include <map>
#include <utility>

#include "absl/algorithm/container.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "core/graph/node_state.h"
#include "core/graph/structural_role.h"
#include "core/placement/placement_simulation.h"
#include "core/placement/step_work.h"

namespace millstream {
namespace {

// What a placement must leave of the step's time to be worth a change.
constexpr double kGain = 0.95;
// Of the devices that were not chosen, a reason names the best.
constexpr size_t kMostOptionsNamed = 3;
constexpr int kControlOutput = -1;

std::vector<CostModel::DeviceTraits> TraitsOf(const DeviceSet& devices) {
  std::vector<CostModel::DeviceTraits> traits;
  std::map<std::string, int> tasks;  // numbers by name
  for (const DeviceDescription& device : devices) {
    DeviceName task = device.parsed_name;
    task.type.reset();
    task.index.reset();
    const int next = static_cast<int>(tasks.size());
    traits.push_back({device.type(), !device.traits.host_memory, !device.traits.is_default,
                      tasks.try_emplace(task.ToString(), next).first->second});
  }
  return traits;
}

int HostOf(const DeviceSet& devices) {
  const auto host = absl::c_find_if(devices, [](const auto& d) { return d.traits.is_default; });
  return host == devices.end() ? 0 : static_cast<int>(host - devices.begin());
}

// Makes the problem of a pruned graph. Its nodes are the feeds, which are on the host, the nodes,
// and one on the host that reads what is fetched.
class ProblemMaker {
 public:
  ProblemMaker(const PrunedGraph& pruned, const DeviceSet& devices, const PlacementGroups& groups,
               const PlacementCosts& costs)
      : pruned_(pruned),
        model_(costs.session->model),
        host_(HostOf(devices)),
        work_(StepWork::Of(*costs.graph, pruned, *costs.signature, costs.feed_shapes)) {
    problem_.candidates = groups.candidates;
    host_group_ = static_cast<int>(problem_.candidates.size());
    problem_.candidates.push_back({host_});
    AddLinks();
    for (const Output& feed : costs.signature->feeds) {
      node_of_[feed] = static_cast<int>(problem_.nodes.size());
      AddHostNode();
    }
    for (size_t i = 0; i < pruned.nodes.size(); ++i) AddNode(static_cast<int>(i), groups);
    PlacementProblem::Node* const end = AddHostNode();
    for (const Output& fetch : costs.signature->fetches) AddInput(fetch, end);
  }
  PlacementProblem Take() { return std::move(problem_); }

 private:
  void AddLinks() {
    problem_.links.resize(model_.num_devices());
    for (int from = 0; from < model_.num_devices(); ++from) {
      for (int to = 0; to < model_.num_devices(); ++to) {
        problem_.links[from].push_back(model_.Link(from, to));
      }
    }
  }

  PlacementProblem::Node* AddHostNode() {
    PlacementProblem::Node& node = problem_.nodes.emplace_back();
    node.group = host_group_;
    node.times.assign(model_.num_devices(), 0);
    return &node;
  }

  void AddInput(const Output& input, PlacementProblem::Node* node) {
    auto producer = node_of_.find(input);
    if (producer == node_of_.end()) return;  // a back edge, or a constant: it is everywhere
    node->inputs.push_back({producer->second, input.index, work_.bytes(input)});
  }

  void AddNode(int i, const PlacementGroups& groups) {
    const Node* const node = pruned_.nodes[i];
    PlacementProblem::Node added;
    added.group = groups.group_of[i];
    for (const Output& input : node->inputs()) AddInput(input, &added);
    for (const Node* control : pruned_.controls[i]) {
      auto producer = node_of_.find({control, kControlOutput});
      if (producer != node_of_.end()) added.inputs.push_back({producer->second, kControlOutput, 0});
    }
    for (int d = 0; d < model_.num_devices(); ++d) {
      added.times.push_back(model_.NodeTime(node, work_.of(i), d));
    }
    const int index = static_cast<int>(problem_.nodes.size());
    problem_.nodes.push_back(std::move(added));
    if (IsCopied(pruned_, i)) return;
    node_of_[{node, kControlOutput}] = index;
    // What is fed hides what the node gives.
    for (int k = 0; k < node->num_outputs(); ++k) node_of_.try_emplace({node, k}, index);
  }

  const PrunedGraph& pruned_;
  const CostModel& model_;
  const int host_;
  const StepWork work_;
  int host_group_ = 0;
  absl::flat_hash_map<Output, int> node_of_;  // who gives the tensor
  PlacementProblem problem_;
};

bool HasVariant(const Node& node) {
  return absl::c_any_of(node.inputs(),
                        [](const Output& o) { return o.dtype() == DataType::kVariant; }) ||
         absl::c_linear_search(node.signature().output_types, DataType::kVariant);
}

// Leaves groups that must not change their task the devices of one.
void KeepTasks(const PrunedGraph& pruned, const CostModel& model, PlacementGroups* groups) {
  for (size_t i = 0; i < pruned.nodes.size(); ++i) {
    const Node* const node = pruned.nodes[i];
    if (!HasState(*node) && !HasVariant(*node)) continue;
    std::vector<int>& candidates = groups->candidates[groups->group_of[i]];
    const int first = candidates[0];
    candidates.erase(std::remove_if(candidates.begin(), candidates.end(),
                                    [&](int device) { return !model.AreOfOneTask(device, first); }),
                     candidates.end());
  }
}

// Leaves groups with state one device, where it must not be chosen again.
void KeepState(const PrunedGraph& pruned, const absl::flat_hash_map<const Node*, int>& homes,
               PlacementGroups* groups) {
  for (size_t i = 0; i < pruned.nodes.size(); ++i) {
    const Node* const node = pruned.nodes[i];
    std::vector<int>& candidates = groups->candidates[groups->group_of[i]];
    if (candidates.size() == 1 || !HasState(*node)) continue;
    auto home = homes.find(node);
    if (home != homes.end() && absl::c_linear_search(candidates, home->second)) {
      candidates = {home->second};
    }
  }
  for (size_t i = 0; i < pruned.nodes.size(); ++i) {
    std::vector<int>& candidates = groups->candidates[groups->group_of[i]];
    if (candidates.size() > 1 && HasResource(*pruned.nodes[i])) candidates.resize(1);
  }
}

// Constants that are copied stand where they are first read, so that no device takes part in the
// step for their sake alone.
void MoveConstants(const PrunedGraph& pruned, const PlacementGroups& groups,
                   CostedPlacement* placed) {
  std::vector<int> sizes(groups.candidates.size());
  for (const int group : groups.group_of) ++sizes[group];
  absl::flat_hash_map<const Node*, size_t> waiting;
  for (size_t i = 0; i < pruned.nodes.size(); ++i) {
    const Node* const node = pruned.nodes[i];
    for (const Output& input : node->inputs()) {
      auto constant = waiting.find(input.node);
      if (constant == waiting.end()) continue;
      placed->devices[constant->second] = placed->devices[i];
      placed->reasons[constant->second] = absl::StrCat("'", node->name(), "' reads it there");
      waiting.erase(constant);
    }
    const int group = groups.group_of[i];
    if (IsCopied(pruned, i) && groups.candidates[group].size() > 1 && sizes[group] == 1) {
      waiting[node] = i;
    }
  }
}

std::string ShortName(const DeviceDescription& device) {
  return absl::StrCat(device.type(), ":", device.parsed_name.index.value_or(0));
}

std::string Describe(std::vector<DeviceOption> options, int chosen, const DeviceSet& devices) {
  std::string here;
  std::string elsewhere;
  absl::c_stable_sort(options, [](const auto& a, const auto& b) { return a.end < b.end; });
  size_t named = 0;
  for (const DeviceOption& option : options) {
    const std::string time = absl::StrFormat("%.3g ms", option.end / 1e6);
    if (option.device == chosen) {
      here = absl::StrCat("it would end at ", time, " here");
    } else if (named++ < kMostOptionsNamed) {
      absl::StrAppend(&elsewhere, ", at ", time, " on ", ShortName(devices[option.device]));
    }
  }
  return here + elsewhere;
}

}  // namespace

bool IsCopied(const PrunedGraph& pruned, size_t i) {
  return RoleOf(pruned.nodes[i]->op().name) == StructuralRole::kConstant &&
         pruned.controls[i].empty();
}

SessionCosts::SessionCosts(const DeviceSet& devices) : model(TraitsOf(devices)) {}

CostedPlacement PlaceByCosts(const PrunedGraph& pruned, const DeviceSet& devices,
                             PlacementGroups groups, const PlacementCosts& costs) {
  absl::MutexLock lock(&costs.session->mutex);
  absl::flat_hash_map<const Node*, int>& homes = costs.session->homes;
  KeepTasks(pruned, costs.session->model, &groups);
  KeepState(pruned, homes, &groups);
  PlacementProblem problem = ProblemMaker(pruned, devices, groups, costs).Take();
  std::vector<std::vector<int>> known(1);
  for (const std::vector<int>& candidates : problem.candidates) known[0].push_back(candidates[0]);
  if (costs.present != nullptr) {
    known.insert(known.begin(), known[0]);
    for (size_t i = 0; i < pruned.nodes.size(); ++i) {
      const int group = groups.group_of[i];
      if (absl::c_linear_search(problem.candidates[group], (*costs.present)[i])) {
        known[0][group] = (*costs.present)[i];
      }
    }
  }
  const bool is_free = costs.present != nullptr || !costs.session->model.HasSeveralTasks();
  const SimulatedStep step =
      is_free ? FindPlacement(problem, known, kGain) : SimulatedStep{known[0], 0, {}};
  CostedPlacement placed;
  std::vector<bool> is_explained(problem.candidates.size());
  for (size_t i = 0; i < pruned.nodes.size(); ++i) {
    const int group = groups.group_of[i];
    placed.devices.push_back(step.devices[group]);
    std::string& reason = placed.reasons.emplace_back();
    if (homes.contains(pruned.nodes[i])) reason = "its state is there";
    if (is_explained[group] || step.options.empty() || step.options[group].empty()) continue;
    reason = Describe(step.options[group], step.devices[group], devices);
    is_explained[group] = true;
  }
  MoveConstants(pruned, groups, &placed);
  for (size_t i = 0; i < pruned.nodes.size(); ++i) {
    if (HasState(*pruned.nodes[i])) homes.try_emplace(pruned.nodes[i], placed.devices[i]);
  }
  return placed;
}

Status CheckDecided(const PrunedGraph& pruned, const DeviceSet& devices,
                    const PlacementGroups& groups, const std::vector<int>& decided) {
  if (decided.size() != pruned.nodes.size()) {
    return errors::InvalidArgument("expected the devices of ", pruned.nodes.size(),
                                   " nodes from the master of the step, got ", decided.size());
  }
  std::vector<int> chosen(groups.candidates.size(), -1);
  for (size_t i = 0; i < decided.size(); ++i) {
    const bool is_device = decided[i] >= 0 && decided[i] < devices.size();
    int& device = chosen[groups.group_of[i]];
    if (is_device && IsCopied(pruned, i)) continue;
    if (device < 0) device = decided[i];
    if (device == decided[i] &&
        absl::c_linear_search(groups.candidates[groups.group_of[i]], device)) {
      continue;
    }
    const std::string name =
        is_device ? devices[decided[i]].name : absl::StrCat("device number ", decided[i]);
    return AnnotateWithNode(
        errors::InvalidArgument("the master of the step has placed '", pruned.nodes[i]->name(),
                                "' on ", name, ", where it cannot be"),
        *pruned.nodes[i]);
  }
  return absl::OkStatus();
}

}  // namespace millstream
