// A program that adds tensors with the other tasks of a schedule, and then ends.
#ifndef MILLSTREAM_DISTRIBUTED_RUNTIME_SIMULATION_SIM_SUMS_H_
#define MILLSTREAM_DISTRIBUTED_RUNTIME_SIMULATION_SIM_SUMS_H_

#include <cstdint>
#include <memory>

#include "core/graph/graph.h"
#include "core/graph/graph_builder.h"
#include "core/graph/step_signature.h"
#include "distributed_runtime/simulation/sim_program.h"

namespace millstream {

// The sum of what each task feeds, as one task sees it.
class SumGraph {
 public:
  // That of a task. It is made once in a process, and not changed.
  static const SumGraph& Of(int task);
  const Graph& graph() const { return graph_; }
  StepSignature Sum() const { return {{fed_}, {sum_}, {}}; }

 private:
  explicit SumGraph(int task);

  Graph graph_;
  GraphBuilder build_;
  Output fed_;
  Output sum_;
};

// Takes part in some sums, by a session of its own task alone, and lets the process end as soon as
// it has the last one.
class SimSums final : public SimProgram {
 public:
  // Of the tensors of a schedule.
  enum class Size {
    kSmall,     // they come with their members
    kLarge,     // the tasks exchange them in pieces
    kMeasured,  // the tasks measure connections by the first; others go the one or the other way
  };
  // As SimProgram. `size` is the same for all tasks.
  SimSums(SimClients* clients, SimPlace place, uint64_t seed, Size size);
  void Run();

 private:
  void RunSession();
  void AddAll(MasterClient* session);
  bool AddOnce(ClientStep* step);

  const SumGraph& graph_;
  const int64_t size_;
};

}  // namespace millstream

#endif  // MILLSTREAM_DISTRIBUTED_RUNTIME_SIMULATION_SIM_SUMS_H_
