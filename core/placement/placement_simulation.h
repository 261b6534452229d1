// Simulates a step on several devices, to choose the devices of its nodes.
// (TensorFlow: "Large-Scale Machine Learning on Heterogeneous Distributed Systems", 2015, §3.2.1.)
#ifndef MILLSTREAM_CORE_PLACEMENT_PLACEMENT_SIMULATION_H_
#define MILLSTREAM_CORE_PLACEMENT_PLACEMENT_SIMULATION_H_

#include <vector>

#include "core/placement/cost_model.h"

namespace millstream {

// The input of the simulation: a step. Times are in nanoseconds.
struct PlacementProblem {
  struct Input {
    int node = 0;    // the node that produces it
    int output = 0;  // the output of that node; -1: a control edge
    double bytes = 0;
  };
  struct Node {
    int group = 0;
    std::vector<Input> inputs;
    std::vector<double> times;  // by device
  };
  std::vector<Node> nodes;  // in topological order
  // By group: the devices on which it may be, the preferred one first. The nodes of a group are on
  // one device. REQUIRES: no list is empty.
  std::vector<std::vector<int>> candidates;
  std::vector<std::vector<LinkCost>> links;  // from a device to another one

  int num_devices() const { return static_cast<int>(links.size()); }
};

// The time at which a group would end on a device, when the simulation placed it.
struct DeviceOption {
  int device = 0;
  double end = 0;
};

struct SimulatedStep {
  std::vector<int> devices;  // by group
  double end = 0;            // of the step
  // By group, the devices that were compared; empty if there was no choice.
  std::vector<std::vector<DeviceOption>> options;
};

enum class SimulationOrder {
  kReadiness,  // the node whose inputs are ready first
  kProgram,    // the order of PlacementProblem::nodes, in which devices run their nodes
};

// Simulates the nodes in the order. When the simulation reaches a group for the first time, it
// places it on the device on which all its nodes would end first; of equal devices, on the
// preferred one. A tensor is copied to another device once. Copies between two devices run one
// after the other.
SimulatedStep PlaceGreedily(const PlacementProblem& problem, SimulationOrder order);

// The time of the step with the given device of each group, and nodes in the program's order.
double SimulateStep(const PlacementProblem& problem, const std::vector<int>& devices);

// The best placement of the `known` ones and of greedy placements in both orders, with and without
// chains of nodes as groups. The known ones are tried first: a later one is better only if the step
// takes less than `gain` times the time of the best so far. A greedy result has its options.
SimulatedStep FindPlacement(const PlacementProblem& problem,
                            const std::vector<std::vector<int>>& known, double gain);

}  // namespace millstream

#endif  // MILLSTREAM_CORE_PLACEMENT_PLACEMENT_SIMULATION_H_
