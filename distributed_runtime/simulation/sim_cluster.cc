#include "distributed_runtime/simulation/sim_cluster.h"

#include <cstdlib>
#include <iostream>

#include "absl/strings/str_cat.h"
#include "distributed_runtime/pulse.h"
#include "millstream/distributed_runtime/protos/status_messages.pb.h"
#include "millstream/framework/protos/tensorflow_server.pb.h"

namespace millstream {
namespace {

// When the connection to a master has ended, its steps in other tasks end within that.
constexpr absl::Duration kNoticed = absl::Milliseconds(500);

// The text of the ServerDef of a task.
std::string ServerDefOf(int task) {
  proto::ServerDef def;
  def.set_job_name("worker");
  def.set_task_index(task);
  proto::JobDef* const job = def.mutable_cluster()->add_job();
  job->set_name("worker");
  for (int one = 0; one < SimCluster::kTasks; ++one) {
    (*job->mutable_tasks())[one] = SimNetwork::AddressOf(one);
  }
  // Teams and pools have real threads.
  def.mutable_default_session_config()->set_intra_op_parallelism_threads(1);
  def.mutable_default_session_config()->set_inter_op_parallelism_threads(1);
  return def.SerializeAsString();
}

}  // namespace

SimCluster::SimCluster(VirtualThreads* threads, SimNetwork* network, SimTrace* trace,
                       Sabotage sabotage, Client client)
    : threads_(*threads),
      network_(*network),
      trace_(*trace),
      sabotage_(sabotage),
      client_(std::move(client)),
      tasks_(kMostProcesses) {
  // The hearts of the tasks do not beat together.
  for (int task = 0; task < kTasks; ++task) {
    threads_.At(threads_.now() + kHeartbeatPeriod * (task + 1) / kTasks,
                [this, task] { Beat(task); });
  }
}

void SimCluster::Begin(int task, int home) {
  tasks_[task].home = home;
  threads_.Start(absl::StrCat("begin ", task), [this, task] { BeginHere(task); });
}

void SimCluster::BeginHere(int task) {
  Task& here = tasks_[task];
  here.transport = network_.Begin(task);
  here.is_leaving = false;
  if (task < kTasks) BeginServer(task);
  trace_.Note(task < kTasks ? "task " : "client ", task, " begins");
  SimPlace place;
  place.task = task;
  place.process = here.ended;
  place.home = here.home;
  if (here.server != nullptr) place.master = here.server->master();
  place.transport = here.transport;
  threads_.StartIn(network_.GroupOf(task), absl::StrCat("client of ", task),
                   [this, place] { RunClient(place); });
}

void SimCluster::BeginServer(int task) {
  Task& here = tasks_[task];
  StatusOr<std::unique_ptr<Server>> server =
      Server::Create(ServerDefOf(task), here.transport, Heartbeats::kByHand);
  if (!server.ok()) {
    std::cerr << "no server: " << server.status() << "\n";
    std::abort();
  }
  here.server = *std::move(server);
  here.heart = std::make_shared<bool>(false);
  here.sweeper = std::make_shared<bool>(false);
}

void SimCluster::RunClient(const SimPlace& place) {
  client_(place);
  const int task = place.task;
  if (task < kTasks || IsOver(task, place.process)) return;
  trace_.Note("client ", task, " ends");
  NoteEnd(task);
  if (tasks_[task].is_leaving) BeginAgain(task, tasks_[task].away);
}

void SimCluster::NoteEnd(int task) {
  Task& here = tasks_[task];
  ++here.ended;
  here.transport = nullptr;
  threads_.Thaw(network_.GroupOf(task));
  if (sabotage_ != Sabotage::kOldTask || task >= kTasks) network_.End(task);
}

// On a thread that is none of the old process.
void SimCluster::BeginAgain(int task, absl::Duration away) {
  threads_.StartIn(VirtualThreads::kNoGroup, absl::StrCat("begin ", task), [this, task, away] {
    VirtualThreads::Sleep(away);
    if (!is_over_) BeginHere(task);
  });
}

void SimCluster::Kill(int task, absl::Duration away) {
  threads_.Start(absl::StrCat("kill ", task), [this, task, away] {
    Task& here = tasks_[task];
    if (here.transport == nullptr || (here.is_leaving && task < kTasks)) return;
    trace_.Note("task ", task, " is killed");
    NoteFault();
    std::vector<WatchedStep> steps;
    for (int other = 0; other < kTasks; ++other) AddWatchedSteps(other, task, &steps);
    ExpectEnd(std::move(steps));
    std::shared_ptr<Server> server = std::move(here.server);
    here.server = nullptr;
    NoteEnd(task);
    if (sabotage_ == Sabotage::kOldTask) {
      old_.push_back(std::move(server));
    } else {
      // What the server does in its destructor reaches nobody, and nobody waits for it.
      threads_.Start(absl::StrCat("end of ", task),
                     [killed = std::move(server)]() mutable { killed.reset(); });
    }
    BeginAgain(task, away);
  });
}

void SimCluster::Leave(int task, absl::Duration away) {
  // A process that is stopped leaves when it goes on.
  threads_.StartIn(network_.GroupOf(task), absl::StrCat("leave ", task), [this, task, away] {
    Task& here = tasks_[task];
    if (here.transport == nullptr || here.is_leaving) return;
    trace_.Note("task ", task, " leaves");
    if (task >= kTasks) {  // as any program that ends: that is no fault
      here.is_leaving = true;
      here.away = away;
      return;
    }
    NoteFault();
    EndHere(task);
    BeginAgain(task, away);
  });
}

void SimCluster::Freeze(int task, absl::Duration still) {
  threads_.Start(absl::StrCat("stop ", task), [this, task, still] {
    const int group = network_.GroupOf(task);
    if (group == VirtualThreads::kNoGroup || threads_.IsFrozen(group)) return;
    trace_.Note("task ", task, " is stopped");
    NoteFault();
    threads_.Freeze(group);
    const absl::Time begin = threads_.now();
    VirtualThreads::Sleep(still);
    if (!threads_.IsFrozen(group)) return;
    tasks_[task].still += threads_.now() - begin;
    trace_.Note("task ", task, " goes on");
    threads_.Thaw(group);
  });
}

void SimCluster::Finish(int task) {
  trace_.Note("the program of task ", task, " ends");
  EndHere(task);
}

void SimCluster::EndHere(int task) {
  Task& here = tasks_[task];
  here.is_leaving = true;
  if (sabotage_ == Sabotage::kHasty) network_.End(task);
  std::shared_ptr<Server> server = here.server;
  if (server == nullptr) return;  // StopAll came before, as it may while the server stops
  server->Stop();
  here.server = nullptr;
  NoteEnd(task);
  server.reset();
}

void SimCluster::StopAll() {
  is_over_ = true;
  threads_.StartIn(VirtualThreads::kNoGroup, "stop", [this] {
    for (Task& task : tasks_) {
      task.server = nullptr;
      task.transport = nullptr;
    }
    old_.clear();
  });
}

void SimCluster::Beat(int task) {
  if (is_over_) return;
  const std::shared_ptr<Server>& server = tasks_[task].server;
  if (server != nullptr) {
    Pulse(task, "heart", tasks_[task].heart,
          [worker = server->worker(), master = server->master()] {
            master->Beat();
            worker->Beat();
          });
    Pulse(task, "sweeper", tasks_[task].sweeper,
          [sweeps = sabotage_ != Sabotage::kUnswept, worker = server->worker(),
           master = server->master()] {
            if (!sweeps) return;
            worker->EndAbandoned();
            master->EndAbandoned();
          });
  }
  threads_.At(threads_.now() + kHeartbeatPeriod, [this, task] { Beat(task); });
}

void SimCluster::Pulse(int task, const char* name, const std::shared_ptr<bool>& beats,
                       std::function<void()> beat) {
  if (*beats) return;
  *beats = true;
  threads_.StartIn(network_.GroupOf(task), absl::StrCat(name, " of ", task),
                   [beats, beat = std::move(beat)] {
                     beat();
                     *beats = false;
                   });
}

void SimCluster::BreakWay(int from, int to) {
  threads_.Start(absl::StrCat("break ", from, " to ", to), [this, from, to] {
    NoteFault();
    std::vector<WatchedStep> steps;
    AddWatchedSteps(from, to, &steps);
    ExpectEnd(std::move(steps));
    network_.BreakWay(from, to);
  });
}

void SimCluster::AddWatchedSteps(int task, int master, std::vector<WatchedStep>* steps) const {
  const Task& here = tasks_[task];
  if (task == master || here.server == nullptr || here.is_leaving) return;
  const std::string name = absl::StrCat("/job:worker/replica:0/task:", master);
  for (const std::shared_ptr<WorkerSession>& session : here.server->worker()->sessions()) {
    const bool is_watched = here.server->worker()->WatchesMasterOf(session->handle());
    if (session->master() != name || !is_watched) continue;
    proto::TaskStatusRecord status;
    session->AddStatus(&status);
    for (const proto::RunningStepRecord& step : status.running()) {
      steps->push_back({task, here.ended, here.still, session->handle(), step.step()});
    }
  }
}

bool SimCluster::Runs(const WatchedStep& step) const {
  const Task& here = tasks_[step.task];
  if (here.server == nullptr || here.ended != step.process) return false;
  // One that is stopped ends nothing.
  if (here.still != step.still || threads_.IsFrozen(network_.GroupOf(step.task))) return false;
  for (const std::shared_ptr<WorkerSession>& session : here.server->worker()->sessions()) {
    if (session->handle() != step.session) continue;
    proto::TaskStatusRecord status;
    session->AddStatus(&status);
    for (const proto::RunningStepRecord& running : status.running()) {
      if (running.step() == step.step) return true;
    }
  }
  return false;
}

void SimCluster::ExpectEnd(std::vector<WatchedStep> steps) {
  if (steps.empty()) return;
  threads_.Start("expects the end of steps", [this, steps = std::move(steps)] {
    VirtualThreads::Sleep(kNoticed);
    for (const WatchedStep& step : steps) {
      if (!Runs(step)) continue;
      late_steps_.push_back(absl::StrCat("a step of a session of another task goes on in task ",
                                         step.task, " without the connection to its master"));
    }
  });
}

void SimCluster::NoteSessions() {
  for (int task = 0; task < kTasks; ++task) {
    if (tasks_[task].server == nullptr) continue;
    for (const std::shared_ptr<WorkerSession>& session :
         tasks_[task].server->worker()->sessions()) {
      sessions_[{task, tasks_[task].ended, session->handle()}] = session;
    }
  }
}

std::vector<std::string> SimCluster::Held() {
  NoteSessions();
  std::vector<std::string> held;
  for (const auto& [key, session] : sessions_) {
    if (session.expired()) continue;
    held.push_back(absl::StrCat("task ", std::get<0>(key), ", process ", std::get<1>(key),
                                " holds a session, its graphs and steps"));
  }
  return held;
}

}  // namespace millstream
