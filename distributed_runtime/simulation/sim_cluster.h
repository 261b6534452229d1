// The processes of a schedule, which begin, are killed or stopped, leave and begin again.
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

// Where a program runs, and which master it talks to.
struct SimPlace {
  int task = 0;     // from SimCluster::kTasks on: a client, in a process without a server
  int process = 0;  // the number of the task's process
  int home = 0;     // the task of the master
  std::shared_ptr<Master> master;  // null: it is in another process
  Transport* transport = nullptr;  // of the process
};

// Each task is a Server with its heartbeats; `client` is its program, which runs on a thread of its
// own as long as it likes. A client is a process that has only a program, and ends with it. Used on
// VirtualThreads, and not thread-safe: see there.
class SimCluster {
 public:
  static constexpr int kTasks = 3;
  static constexpr int kMostProcesses = kTasks + 2;
  using Client = std::function<void(const SimPlace& place)>;

  // REQUIRES: the arguments outlive the object.
  SimCluster(VirtualThreads* threads, SimNetwork* network, SimTrace* trace, Sabotage sabotage,
             Client client);

  // ---- Each begins a thread ----
  // A client's master is that of task `home`.
  void Begin(int task, int home);
  void Begin(int task) { Begin(task, task); }
  // As SIGKILL: the other tasks learn nothing but that connections broke. The task begins again.
  void Kill(int task, absl::Duration away);
  // Server::Stop, and then the process ends. The task begins again. A client closes its session
  // when its step has ended.
  void Leave(int task, absl::Duration away);
  // As SIGSTOP and then SIGCONT, unless the process ends before.
  void Freeze(int task, absl::Duration still);
  // The connection by which a task asks another one breaks; that of the other stays.
  void BreakWay(int from, int to);
  // The same as Leave for a program that has come to its end, on its own thread: the task does not
  // begin again. That is no fault.
  void Finish(int task);
  // Stops all tasks, and ends heartbeats.
  void StopAll();

  // ---- What clients ask ----
  // How many processes of the task have ended: the number of the present one.
  int ProcessOf(int task) const { return tasks_[task].ended; }
  bool IsUp(int task) const { return tasks_[task].transport != nullptr; }
  // Whether the process has ended or is about to.
  bool IsOver(int task, int process) const {
    return tasks_[task].ended != process || (tasks_[task].is_leaving && task < kTasks);
  }
  // Whether the program is to end.
  bool MustLeave(int task, int process) const {
    return tasks_[task].ended != process || tasks_[task].is_leaving;
  }
  // How long the processes of the task were stopped.
  absl::Duration StillFor(int task) const { return tasks_[task].still; }
  // Whether anything has happened that may be the cause of an error.
  bool HasFaults() const { return has_faults_; }
  void NoteFault() { has_faults_ = true; }
  // Remembers the sessions that tasks have, for Held.
  void NoteSessions();

  // Steps that went on although the connection to their master had ended, by lines.
  const std::vector<std::string>& late_steps() const { return late_steps_; }
  // What tasks hold for sessions, by lines: the sessions, and what is left of those that have
  // ended.
  std::vector<std::string> Held();

 private:
  struct Task {
    int home = 0;
    Transport* transport = nullptr;  // null: the task is away
    std::shared_ptr<Server> server;  // null, too, for clients
    int ended = 0;
    bool is_leaving = false;
    absl::Duration away;  // of a client that leaves
    absl::Duration still;
    // Whether a heartbeat runs; one for what does not block, one for what does.
    std::shared_ptr<bool> heart;
    std::shared_ptr<bool> sweeper;
  };
  // A step of a master in another task, whose end the task would notice.
  struct WatchedStep {
    int task = 0;
    int process = 0;
    absl::Duration still;  // of the task
    uint64_t session = 0;
    uint64_t step = 0;
  };
  void BeginHere(int task);
  void BeginServer(int task);
  void RunClient(const SimPlace& place);
  void EndHere(int task);
  // The present process is over.
  void NoteEnd(int task);
  void BeginAgain(int task, absl::Duration away);
  // Those of the master of a task that run in another one.
  void AddWatchedSteps(int task, int master, std::vector<WatchedStep>* steps) const;
  bool Runs(const WatchedStep& step) const;
  // Notes those of them that run when half a second has passed.
  void ExpectEnd(std::vector<WatchedStep> steps);
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
  std::vector<std::string> late_steps_;
  bool has_faults_ = false;
  bool is_over_ = false;
  // By task, process and handle.
  std::map<std::tuple<int, int, uint64_t>, std::weak_ptr<WorkerSession>> sessions_;
};

}  // namespace millstream

#endif  // MILLSTREAM_DISTRIBUTED_RUNTIME_SIMULATION_SIM_CLUSTER_H_
