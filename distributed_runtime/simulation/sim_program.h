// What the programs of a schedule's tasks have in common.
#ifndef MILLSTREAM_DISTRIBUTED_RUNTIME_SIMULATION_SIM_PROGRAM_H_
#define MILLSTREAM_DISTRIBUTED_RUNTIME_SIMULATION_SIM_PROGRAM_H_

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/time/time.h"
#include "core/graph/step_signature.h"
#include "distributed_runtime/graph_coding.h"
#include "distributed_runtime/master_client.h"
#include "distributed_runtime/simulation/chance.h"
#include "distributed_runtime/simulation/sim_cluster.h"
#include "distributed_runtime/simulation/sim_ledger.h"
#include "distributed_runtime/simulation/sim_sum_ledger.h"
#include "distributed_runtime/simulation/sim_trace.h"
#include "distributed_runtime/simulation/virtual_threads.h"
#include "framework/status.h"

namespace millstream {

// What the programs of a schedule share.
struct SimClients {
  VirtualThreads* threads = nullptr;
  SimCluster* cluster = nullptr;
  SimTrace* trace = nullptr;
  absl::Time end;  // nothing begins after that
  // By the tasks of client and variable.
  std::map<std::pair<int, int>, SimLedger> ledgers;
  SimSumLedger sums;
  int adding = 0;  // programs that take part in a sum at present
  int64_t steps = 0;
  int64_t failed = 0;
  // What must not be.
  std::vector<std::string> findings;
};

// A program, which judges what it is told: an error must be one that a fault explains, and name a
// task, or the address of a master in another process.
class SimProgram {
 public:
  // REQUIRES: `clients` outlives the object.
  SimProgram(SimClients* clients, SimPlace place, uint64_t seed);

 protected:
  using Session = std::unique_ptr<MasterClient>;
  using Step = std::unique_ptr<ClientStep>;

  ~SimProgram() = default;
  // Whether the process has ended or is about to.
  bool HasEnded() const { return cluster_.IsOver(task_, process_); }
  // The same, or nothing is to begin any more.
  bool IsOver() const {
    return clients_.threads->now() >= clients_.end || cluster_.MustLeave(task_, process_);
  }
  // Begins a session of the program's master, and waits for tasks that long.
  StatusOr<Session> Begin(const std::string& config, absl::Duration patience);
  static StatusOr<Step> Prepare(MasterClient* session, GraphSender* sender, const Graph& graph,
                                const StepSignature& signature);
  void Judge(const Status& error, bool was_cancelled);
  void Report(const std::string& text);

  SimClients& clients_;
  SimCluster& cluster_;
  const SimPlace place_;
  const int task_;
  const int process_;
  Chance chance_;
};

}  // namespace millstream

#endif  // MILLSTREAM_DISTRIBUTED_RUNTIME_SIMULATION_SIM_PROGRAM_H_
