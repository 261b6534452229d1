#include "distributed_runtime/simulation/sim_cluster.h"

#include <cstdlib>
#include <iostream>

#include "absl/strings/str_cat.h"
#include "distributed_runtime/pulse.h"
#include "millstream/framework/protos/tensorflow_server.pb.h"

namespace millstream {
namespace {

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
      tasks_(kTasks) {
  // The hearts of the tasks do not beat together.
  for (int task = 0; task < kTasks; ++task) {
    threads_.At(threads_.now() + kHeartbeatPeriod * (task + 1) / kTasks,
                [this, task] { Beat(task); });
  }
}

void SimCluster::Begin(int task) {
  threads_.Start(absl::StrCat("begin ", task), [this, task] { BeginHere(task); });
}

void SimCluster::BeginHere(int task) {
  Task& here = tasks_[task];
  StatusOr<std::unique_ptr<Server>> server =
      Server::Create(ServerDefOf(task), network_.Begin(task), Heartbeats::kByHand);
  if (!server.ok()) {
    std::cerr << "no server: " << server.status() << "\n";
    std::abort();
  }
  trace_.Note("task ", task, " begins");
  here.server = *std::move(server);
  here.is_leaving = false;
  here.heart = std::make_shared<bool>(false);
  here.sweeper = std::make_shared<bool>(false);
  threads_.Start(absl::StrCat("client of ", task),
                 [this, task, process = here.ended, master = here.server->master()] {
                   client_(task, process, master);
                 });
}

void SimCluster::BeginAgain(int task, absl::Duration away) {
  VirtualThreads::Sleep(away);
  BeginHere(task);
}

void SimCluster::Kill(int task, absl::Duration away) {
  threads_.Start(absl::StrCat("kill ", task), [this, task, away] {
    Task& here = tasks_[task];
    if (here.server == nullptr || here.is_leaving) return;
    trace_.Note("task ", task, " is killed");
    NoteFault();
    ++here.ended;
    std::shared_ptr<Server> server = std::move(here.server);
    here.server = nullptr;
    if (sabotage_ == Sabotage::kOldTask) {
      old_.push_back(std::move(server));
    } else {
      // What the server does in its destructor reaches nobody, and nobody waits for it.
      network_.End(task);
      threads_.Start(absl::StrCat("end of ", task),
                     [killed = std::move(server)]() mutable { killed.reset(); });
    }
    BeginAgain(task, away);
  });
}

void SimCluster::Leave(int task, absl::Duration away) {
  threads_.Start(absl::StrCat("leave ", task), [this, task, away] {
    Task& here = tasks_[task];
    if (here.server == nullptr || here.is_leaving) return;
    trace_.Note("task ", task, " leaves");
    NoteFault();
    EndHere(task);
    BeginAgain(task, away);
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
  std::shared_ptr<Server> server = here.server;  // StopAll may come while it stops
  server->Stop();
  ++here.ended;
  here.server = nullptr;
  network_.End(task);
  server.reset();
}

void SimCluster::StopAll() {
  is_over_ = true;
  threads_.Start("stop", [this] {
    for (Task& task : tasks_) task.server = nullptr;
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
          [worker = server->worker(), master = server->master()] {
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
  threads_.Start(absl::StrCat(name, " of ", task), [beats, beat = std::move(beat)] {
    beat();
    *beats = false;
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
