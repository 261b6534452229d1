#include "core/placement/placement_simulation.h"

#include <algorithm>
#include <functional>
#include <map>
#include <numeric>
#include <queue>
#include <tuple>
#include <utility>

namespace millstream {
namespace {

constexpr int kNotChosen = -1;

// A step as it goes on.
class Simulation {
 public:
  explicit Simulation(const PlacementProblem& problem)
      : problem_(problem),
        ends_(problem.nodes.size()),
        free_(problem.num_devices()),
        link_free_(problem.num_devices(), std::vector<double>(problem.num_devices())),
        promised_(problem.num_devices()),
        totals_(problem.candidates.size(), std::vector<double>(problem.num_devices())) {
    step_.devices.assign(problem.candidates.size(), kNotChosen);
    step_.options.resize(problem.candidates.size());
    for (const PlacementProblem::Node& node : problem.nodes) {
      for (int d = 0; d < problem.num_devices(); ++d) totals_[node.group][d] += node.times[d];
    }
  }

  // When all that the node reads has been made, wherever.
  double ReadyTime(const PlacementProblem::Node& node) const {
    double ready = 0;
    for (const PlacementProblem::Input& input : node.inputs) {
      ready = std::max(ready, ends_[input.node]);
    }
    return ready;
  }

  void Run(int i) {
    const PlacementProblem::Node& node = problem_.nodes[i];
    int& device = step_.devices[node.group];
    if (device == kNotChosen) {
      device = Choose(node);
      promised_[device] += totals_[node.group][device];
    }
    double start = free_[device];
    for (const PlacementProblem::Input& input : node.inputs) {
      start = std::max(start, Receive(input, device));
    }
    ends_[i] = start + node.times[device];
    free_[device] = ends_[i];
    promised_[device] -= node.times[device];
    step_.end = std::max(step_.end, ends_[i]);
  }

  void Fix(const std::vector<int>& devices) { step_.devices = devices; }
  SimulatedStep Take() { return std::move(step_); }

 private:
  using Sent = std::tuple<int, int, int>;  // node, output, device

  int Choose(const PlacementProblem::Node& node) {
    const std::vector<int>& candidates = problem_.candidates[node.group];
    if (candidates.size() == 1) return candidates[0];
    std::vector<DeviceOption>& options = step_.options[node.group];
    for (const int device : candidates) {
      double start = free_[device] + promised_[device];
      for (const PlacementProblem::Input& input : node.inputs) {
        start = std::max(start, Arrival(input, device));
      }
      options.push_back({device, start + totals_[node.group][device]});
    }
    return std::min_element(
               options.begin(), options.end(),
               [](const DeviceOption& a, const DeviceOption& b) { return a.end < b.end; })
        ->device;
  }

  double Arrival(const PlacementProblem::Input& input, int device) const {
    const int from = step_.devices[problem_.nodes[input.node].group];
    if (from == device) return ends_[input.node];
    auto sent = sent_.find({input.node, input.output, device});
    if (sent != sent_.end()) return sent->second;
    return std::max(ends_[input.node], link_free_[from][device]) +
           problem_.links[from][device].Of(input.bytes);
  }

  double Receive(const PlacementProblem::Input& input, int device) {
    const int from = step_.devices[problem_.nodes[input.node].group];
    const double arrival = Arrival(input, device);
    if (from != device && sent_.try_emplace({input.node, input.output, device}, arrival).second) {
      link_free_[from][device] = arrival;
    }
    return arrival;
  }

  const PlacementProblem& problem_;
  std::vector<double> ends_;  // by node
  std::vector<double> free_;  // by device: from when on
  std::vector<std::vector<double>> link_free_;
  std::vector<double> promised_;             // by device: to nodes of groups that are there
  std::vector<std::vector<double>> totals_;  // by group and device: what its nodes take
  std::map<Sent, double> sent_;              // when it is there
  SimulatedStep step_;
};

// Joins a group with the group of its only reader, if both have the same candidate devices, because
// a copy between them has no benefit. Returns the new group of each group.
std::vector<int> JoinChains(const PlacementProblem& problem) {
  std::vector<int> readers(problem.nodes.size());
  for (const PlacementProblem::Node& node : problem.nodes) {
    for (const PlacementProblem::Input& input : node.inputs) ++readers[input.node];
  }
  std::vector<int> joined(problem.candidates.size());
  std::iota(joined.begin(), joined.end(), 0);
  for (const PlacementProblem::Node& node : problem.nodes) {
    // Nodes with one choice read what is fed to the step: they do not count.
    int made_by = kNotChosen;
    int inputs = 0;
    for (const PlacementProblem::Input& input : node.inputs) {
      if (problem.candidates[problem.nodes[input.node].group].size() == 1) continue;
      made_by = input.node;
      ++inputs;
    }
    if (inputs != 1 || readers[made_by] != 1) continue;
    const int group = problem.nodes[made_by].group;
    const bool is_new = joined[node.group] == node.group;
    if (is_new && problem.candidates[group] == problem.candidates[node.group]) {
      joined[node.group] = joined[group];
    }
  }
  return joined;
}

// The placement of the joined groups, for those of `problem`.
SimulatedStep PlaceJoined(const PlacementProblem& problem, SimulationOrder order) {
  const std::vector<int> joined = JoinChains(problem);
  PlacementProblem chains = problem;
  for (PlacementProblem::Node& node : chains.nodes) node.group = joined[node.group];
  const SimulatedStep placed = PlaceGreedily(chains, order);
  SimulatedStep step;
  for (const int group : joined) {
    step.devices.push_back(placed.devices[group]);
    step.options.push_back(placed.options[group]);
  }
  return step;
}

// Runs every node, the one that is ready first before the others.
void RunByReadiness(const PlacementProblem& problem, Simulation* simulation) {
  const int size = static_cast<int>(problem.nodes.size());
  std::vector<int> pending(size);
  std::vector<std::vector<int>> readers(size);
  for (int i = 0; i < size; ++i) {
    pending[i] = static_cast<int>(problem.nodes[i].inputs.size());
    for (const PlacementProblem::Input& input : problem.nodes[i].inputs) {
      readers[input.node].push_back(i);
    }
  }
  using Ready = std::pair<double, int>;
  std::priority_queue<Ready, std::vector<Ready>, std::greater<>> ready;
  for (int i = 0; i < size; ++i) {
    if (pending[i] == 0) ready.emplace(0, i);
  }
  while (!ready.empty()) {
    const int i = ready.top().second;
    ready.pop();
    simulation->Run(i);
    for (const int reader : readers[i]) {
      if (--pending[reader] > 0) continue;
      ready.emplace(simulation->ReadyTime(problem.nodes[reader]), reader);
    }
  }
}

}  // namespace

SimulatedStep PlaceGreedily(const PlacementProblem& problem, SimulationOrder order) {
  Simulation simulation(problem);
  if (order == SimulationOrder::kReadiness) {
    RunByReadiness(problem, &simulation);
  } else {
    for (size_t i = 0; i < problem.nodes.size(); ++i) simulation.Run(static_cast<int>(i));
  }
  return simulation.Take();
}

double SimulateStep(const PlacementProblem& problem, const std::vector<int>& devices) {
  Simulation simulation(problem);
  simulation.Fix(devices);
  for (size_t i = 0; i < problem.nodes.size(); ++i) simulation.Run(static_cast<int>(i));
  return simulation.Take().end;
}

SimulatedStep FindPlacement(const PlacementProblem& problem,
                            const std::vector<std::vector<int>>& known, double gain) {
  std::vector<SimulatedStep> tried;
  for (const std::vector<int>& devices : known) tried.push_back({devices, 0, {}});
  for (const SimulationOrder order : {SimulationOrder::kReadiness, SimulationOrder::kProgram}) {
    tried.push_back(PlaceJoined(problem, order));
    tried.push_back(PlaceGreedily(problem, order));
  }
  const SimulatedStep* best = nullptr;
  for (SimulatedStep& step : tried) {
    step.end = SimulateStep(problem, step.devices);
    if (best == nullptr || step.end < gain * best->end) best = &step;
  }
  return *best;
}

}  // namespace millstream
