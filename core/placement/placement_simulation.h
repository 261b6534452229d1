// Simulates a step on several devices, to choose where its nodes run.
// (TensorFlow: "Large-Scale Machine Learning on Heterogeneous Distributed Systems", 2015, §3.2.1.)
#ifndef MILLSTREAM_CORE_PLACEMENT_PLACEMENT_SIMULATION_H_
#define MILLSTREAM_CORE_PLACEMENT_PLACEMENT_SIMULATION_H_

#include <vector>

#include "core/placement/cost_model.h"

namespace millstream {

// A step as the simulation sees it. Times are nanoseconds.
struct PlacementProblem {
  struct Input {
    int node = 0;    // that gives it
    int output = 0;  // which of its tensors; -1: a control edge
    double bytes = 0;
  };
  struct Node {
    int group = 0;
    std::vector<Input> inputs;
    std::vector<double> times;  // by device
  };
  std::vector<Node> nodes;  // in an order in which every input stands before who reads it
  // By group, whose nodes are on one device: those that it may be on, the one that is liked best
  // first. None is empty.
  std::vector<std::vector<int>> candidates;
  std::vector<std::vector<LinkCost>> links;  // from a device to another one

  int num_devices() const { return static_cast<int>(links.size()); }
};

// When a group would be done on a device, as it was its turn.
struct DeviceOption {
  int device = 0;
  double end = 0;
};

struct SimulatedStep {
  std::vector<int> devices;  // by group
  double end = 0;            // of the step
  // By group, what it was chosen from; empty where there was no choice.
  std::vector<std::vector<DeviceOption>> options;
};

enum class SimulationOrder {
  kReadiness,  // the node whose inputs are there first
  kProgram,    // the order of PlacementProblem::nodes, which is that in which devices run theirs
};

// Goes through the nodes in the order; each group that is reached for the first time is put where
// it would be done first, all its nodes counted, and among equals where it is liked best. A tensor
// goes to another device once, one after the other between two devices.
SimulatedStep PlaceGreedily(const PlacementProblem& problem, SimulationOrder order);

// What the step takes with each group on the given device, its nodes run in the program's order.
double SimulateStep(const PlacementProblem& problem, const std::vector<int>& devices);

// The best of greedy placements in either order, with chains of nodes as groups and without, and of
// `known` ones, which are tried first: a later one must end the step in less than `gain` times the
// time. What wins keeps its options if it is a greedy one.
SimulatedStep FindPlacement(const PlacementProblem& problem,
                            const std::vector<std::vector<int>>& known, double gain);

}  // namespace millstream

#endif  // MILLSTREAM_CORE_PLACEMENT_PLACEMENT_SIMULATION_H_
