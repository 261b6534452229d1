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
#include "core/graph/graph.h"
#include "core/graph/graph_builder.h"
#include "core/graph/step_signature.h"
#include "distributed_runtime/graph_coding.h"
#include "distributed_runtime/master.h"
#include "distributed_runtime/simulation/sim_program.h"

namespace millstream {

// The steps of a client, which has a variable in each task. Each step increments one of them, in
// one of several ways to exchange tensors, and reads it.
class SimGraph {
 public:
  // How the increment comes to the variable's task.
  enum class Way {
    kFed,     // with the message that begins the step
    kVia,     // from a third task, which reads its own variable
    kReturn,  // from the master's task, which gets the variable first
  };
  static constexpr int kWays = 3;

  // That of a client. It is made once in a process, and not changed.
  static const SimGraph& Of(int client);
  const Graph& graph() const { return graph_; }
  // Sets all variables to what is fed.
  StepSignature Set() const;
  // Gives the variable after the increment. kVia: the third task is ViaTask.
  StepSignature Add(Way way, int task) const;
  int ViaTask(int task) const;

 private:
  explicit SimGraph(int client);
  Output On(int task, absl::string_view op, const std::vector<Output>& inputs);
  Output Read(int task);
  Output AddNodes(Way way, int task);
  static std::string Device(int task);

  const int client_;
  Graph graph_;
  GraphBuilder build_;
  Output fed_;
  std::vector<Output> handles_;
  std::vector<const Node*> sets_;
  std::map<std::pair<int, int>, Output> adds_;  // by way and task
};

// Opens sessions of its task's master, one after another, until the time is over or its process is.
class SimClient final : public SimProgram {
 public:
  // As SimProgram.
  SimClient(SimClients* clients, int task, int process, std::shared_ptr<Master> master,
            uint64_t seed);
  void Run();

 private:
  void RunSession(MasterSession* session);
  bool Set(MasterSession* session, GraphSender* sender);
  bool Add(MasterSession* session, GraphSender* sender, SimGraph::Way way, int task);
  // Whether the session knows another process of the task than the present one.
  bool IsOld(int task) const;

  const SimGraph& graph_;
  std::vector<int> processes_;  // of the tasks, when the session had begun
  int steps_ = 0;
};

}  // namespace millstream

#endif  // MILLSTREAM_DISTRIBUTED_RUNTIME_SIMULATION_SIM_CLIENT_H_
