// The tasks of a schedule: servers that begin, are killed, leave and begin again.
#ifndef MILLSTREAM_DISTRIBUTED_RUNTIME_SIMULATION_SIM_CLUSTER_H_
#define MILLSTREAM_DISTRIBUTED_RUNTIME_SIMULATION_SIM_CLUSTER_H_

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <tuple>
#include <vector>

#include "absl/time/time.h"
#include "distributed_runtime/server.h"
#include "distributed_runtime/simulation/sim_network.h"
#include "distributed_runtime/simulation/sim_trace.h"
#include "distributed_runtime/simulation/virtual_threads.h"

namespace millstream {

// Each task is a Server with its heartbeats; `client` is its program, which runs on a thread of its
// own as long as it likes. Used on VirtualThreads, and not thread-safe: see there.
class SimCluster {
 public:
  static constexpr int kTasks = 3;
  // `process` is the number of the task's process.
  using Client = std::function<void(int task, int process, std::shared_ptr<Master> master)>;

  // REQUIRES: the arguments outlive the object.
  SimCluster(VirtualThreads* threads, SimNetwork* network, SimTrace* trace, Sabotage sabotage,
             Client client);

  // ---- Each begins a thread ----
  void Begin(int task);
  // As SIGKILL: the other tasks learn nothing but that connections broke. The task begins again.
  void Kill(int task, absl::Duration away);
  // Server::Stop, and then the process ends. The task begins again.
  void Leave(int task, absl::Duration away);
  // The same for a program that has come to its end, on its own thread: the task does not begin
  // again. That is no fault.
  void Finish(int task);
  // Stops all tasks, and ends heartbeats.
  void StopAll();

  // ---- What clients ask ----
  // How many processes of the task have ended: the number of the present one.
  int ProcessOf(int task) const { return tasks_[task].ended; }
  bool IsUp(int task) const { return tasks_[task].server != nullptr; }
  // Whether the process has ended or is about to.
  bool IsOver(int task, int process) const {
    return tasks_[task].ended != process || tasks_[task].is_leaving;
  }
  // Whether anything has happened that may be the cause of an error.
  bool HasFaults() const { return has_faults_; }
  void NoteFault() { has_faults_ = true; }
  // Remembers the sessions that tasks have, for Held.
  void NoteSessions();

  // What tasks hold for sessions, by lines: the sessions, and what is left of those that have
  // ended.
  std::vector<std::string> Held();

 private:
  struct Task {
    std::shared_ptr<Server> server;  // null: the task is away
    int ended = 0;
    bool is_leaving = false;
    // Whether a heartbeat runs; one for what does not block, one for what does.
    std::shared_ptr<bool> heart;
    std::shared_ptr<bool> sweeper;
  };
  void BeginHere(int task);
  void EndHere(int task);
  void BeginAgain(int task, absl::Duration away);
  void Beat(int task);
  void Pulse(int task, const char* name, const std::shared_ptr<bool>& beats,
             std::function<void()> beat);

  VirtualThreads& threads_;
  SimNetwork& network_;
  SimTrace& trace_;
  const Sabotage sabotage_;
  const Client client_;
  std::vector<Task> tasks_;
  std::vector<std::shared_ptr<Server>> old_;  // with kOldTask
  bool has_faults_ = false;
  bool is_over_ = false;
  // By task, process and handle.
  std::map<std::tuple<int, int, uint64_t>, std::weak_ptr<WorkerSession>> sessions_;
};

}  // namespace millstream

#endif  // MILLSTREAM_DISTRIBUTED_RUNTIME_SIMULATION_SIM_CLUSTER_H_
