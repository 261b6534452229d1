// A program that runs steps over the tasks of a schedule, and judges what it is told.
#ifndef MILLSTREAM_DISTRIBUTED_RUNTIME_SIMULATION_SIM_CLIENT_H_
#define MILLSTREAM_DISTRIBUTED_RUNTIME_SIMULATION_SIM_CLIENT_H_

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "core/graph/graph.h"
#include "core/graph/graph_builder.h"
#include "core/graph/step_signature.h"
#include "distributed_runtime/graph_coding.h"
#include "distributed_runtime/master_client.h"
#include "distributed_runtime/simulation/sim_program.h"

namespace millstream {

// The steps of a client's session, which has a variable in each task. Each step increments one of
// them, in one of several ways to exchange tensors, and reads it. The graph grows with the first
// step of a kind, so that tasks get more of it amid faults.
class SimGraph {
 public:
  // How the increment comes to the variable's task.
  enum class Way {
    kFed,     // with the message that begins the step
    kVia,     // from a third task, which reads its own variable
    kReturn,  // from the master's task, which gets the variable first
  };
  static constexpr int kWays = 3;

  // `home` is the task of its master.
  SimGraph(int client, int home);
  const Graph& graph() const { return graph_; }
  // Sets all variables to what is fed.
  StepSignature Set() const;
  // Gives the variable after the increment. kVia: the third task is ViaTask.
  StepSignature Add(Way way, int task);
  int ViaTask(int task) const;

 private:
  Output On(int task, absl::string_view op, const std::vector<Output>& inputs);
  Output Read(int task);
  Output AddNodes(Way way, int task);
  void CheckGraph() const;
  static std::string Device(int task);

  const int home_;
  Graph graph_;
  GraphBuilder build_;
  Output fed_;
  std::vector<Output> handles_;
  std::vector<const Node*> sets_;
  std::map<std::pair<int, int>, Output> adds_;  // by way and task, those that there are
};

// Opens sessions of its master, one after another, until the time is over or its process is.
class SimClient final : public SimProgram {
 public:
  // As SimProgram.
  SimClient(SimClients* clients, SimPlace place, uint64_t seed)
      : SimProgram(clients, std::move(place), seed) {}
  void Run();

 private:
  void RunSession(MasterClient* session);
  bool Set(MasterClient* session, SimGraph* graph, GraphSender* sender);
  bool Add(MasterClient* session, SimGraph* graph, GraphSender* sender, SimGraph::Way way,
           int task);
  // The clock, and how long the client's process has been stopped.
  struct Stopwatch {
    absl::Time begin;
    absl::Duration still;
  };
  Stopwatch StartWatch() const;
  // Reports what has taken too long since then.
  void CheckTime(absl::string_view what, const Stopwatch& watch, const Status& status);
  // They prepare and run a step, whose end must come in time.
  StatusOr<Step> PrepareStep(MasterClient* session, GraphSender* sender, const Graph& graph,
                             const StepSignature& signature);
  Status RunStep(ClientStep* step, float fed, absl::Span<Tensor> fetches,
                 const RunOptions& options);
  // Whether the session knows another process of the task than the present one.
  bool IsOld(int task) const;

  std::vector<int> processes_;  // of the tasks, when the session had begun
  int steps_ = 0;
};

}  // namespace millstream

#endif  // MILLSTREAM_DISTRIBUTED_RUNTIME_SIMULATION_SIM_CLIENT_H_
