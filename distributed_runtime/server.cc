#include "distributed_runtime/server.h"

#include <algorithm>
#include <atomic>
#include <utility>
#include <vector>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "core/session/session.h"
#include "distributed_runtime/address.h"
#include "distributed_runtime/loopback_transport.h"
#include "distributed_runtime/rpc.h"
#include "framework/message.h"
#include "framework/plugin/host_interfaces.h"
#include "millstream/framework/protos/cluster.pb.h"
#include "millstream/framework/protos/tensorflow_server.pb.h"

namespace millstream {
namespace {

// Answers the requests to a task. Those that come before Set are refused.
class Services final : public RequestHandler {
 public:
  void Set(std::shared_ptr<Worker> worker, std::shared_ptr<Master> master)
      ABSL_LOCKS_EXCLUDED(mutex_) {
    absl::MutexLock lock(&mutex_);
    worker_ = std::move(worker);
    master_ = std::move(master);
  }
  std::shared_ptr<Master> master() ABSL_LOCKS_EXCLUDED(mutex_) {
    absl::MutexLock lock(&mutex_);
    return master_;
  }

  void Handle(absl::string_view method, Payload request, Respond respond) override {
    std::shared_ptr<Worker> worker;
    std::shared_ptr<Master> master;
    {
      absl::MutexLock lock(&mutex_);
      worker = worker_;
      master = master_;
    }
    const Reply reply(std::move(respond));
    if (worker == nullptr) return reply.Give(absl::UnavailableError("the task does not run"));
    const PayloadReader reader(std::move(request));
    if (worker->Handle(method, reader, reply) || master->Handle(method, reader, reply)) return;
    const Status refused = errors::Unimplemented(
        "the task ", worker->task(), " has messages of version ", kMessageVersion,
        ", and no method \"", absl::CHexEscape(method),
        "\": who asks has another version of Millstream, or is another program");
    // Once: who sends such requests may send many.
    if (!has_refused_.exchange(true)) HostLog(MS_LOG_WARNING, std::string(refused.message()));
    reply.Give(refused);
  }

 private:
  std::atomic<bool> has_refused_{false};
  absl::Mutex mutex_;
  std::shared_ptr<Worker> worker_ ABSL_GUARDED_BY(mutex_);
  std::shared_ptr<Master> master_ ABSL_GUARDED_BY(mutex_);
};

std::string TaskName(const std::string& job, int task) {
  return absl::StrCat("/job:", job, "/replica:0/task:", task);
}

// By job and number, so that the order is the same everywhere.
std::vector<ClusterTask> TasksOf(const proto::ClusterDef& cluster) {
  std::vector<const proto::JobDef*> jobs;
  for (const proto::JobDef& job : cluster.job()) jobs.push_back(&job);
  std::sort(jobs.begin(), jobs.end(),
            [](const auto* a, const auto* b) { return a->name() < b->name(); });
  std::vector<ClusterTask> tasks;
  for (const proto::JobDef* job : jobs) {
    std::vector<std::pair<int, std::string>> numbered(job->tasks().begin(), job->tasks().end());
    std::sort(numbered.begin(), numbered.end());
    for (const auto& [number, address] : numbered) {
      tasks.push_back({TaskName(job->name(), number), address});
    }
  }
  return tasks;
}

}  // namespace

StatusOr<std::unique_ptr<Server>> Server::Create(absl::string_view server_def, Transport* transport,
                                                 Heartbeats heartbeats) {
  MS_RETURN_IF_ERROR(Session::PrepareProcess());
  MS_ASSIGN_OR_RETURN(const MessagePtr message, ParseBinary("ServerDef", server_def));
  const auto& def = static_cast<const proto::ServerDef&>(*message);
  std::vector<ClusterTask> tasks = TasksOf(def.cluster());
  const std::string name = TaskName(def.job_name(), def.task_index());
  const auto own = std::find_if(tasks.begin(), tasks.end(),
                                [&name](const ClusterTask& task) { return task.name == name; });
  if (own == tasks.end()) {
    return errors::InvalidArgument("Task ", def.task_index(), " was not defined in job \"",
                                   def.job_name(), "\"");
  }
  for (const ClusterTask& task : tasks) {
    const Status checked = CheckAddress(task.address);
    if (!checked.ok()) return errors::InvalidArgument(task.name, ": ", checked.message());
  }
  std::string config;
  if (!def.default_session_config().SerializeToString(&config)) {
    return errors::InvalidArgument("default_session_config cannot be serialized");
  }
  std::unique_ptr<Server> server(new Server);
  const auto services = std::make_shared<Services>();
  MS_ASSIGN_OR_RETURN(server->listening_, transport->Serve(own->address, services));
  own->address = server->listening_->address();  // with the port that it got
  server->target_ =
      IsUnixAddress(own->address) ? own->address : absl::StrCat("grpc://", own->address);
  const auto peers = std::make_shared<Peers>(std::move(tasks), transport);
  const auto worker = std::make_shared<Worker>(name, std::move(config), peers);
  server->worker_ = worker;
  const auto master = std::make_shared<Master>(worker);
  server->master_ = master;
  services->Set(worker, master);
  if (heartbeats == Heartbeats::kRegular) server->StartPulses();
  return server;
}

void Server::StartPulses() {
  absl::MutexLock lock(&mutex_);
  heart_ = std::make_unique<Pulse>(kHeartbeatPeriod, [worker = worker_, master = master_] {
    master->Beat();
    worker->Beat();
  });
  sweeper_ = std::make_unique<Pulse>(kHeartbeatPeriod, [worker = worker_, master = master_] {
    worker->EndAbandoned();
    master->EndAbandoned();
  });
}

void Server::Beat() {
  master_->Beat();
  worker_->Beat();
  worker_->EndAbandoned();
  master_->EndAbandoned();
}

void Server::Join() { Join(absl::InfiniteDuration()); }

bool Server::Join(absl::Duration patience) {
  absl::MutexLock lock(&mutex_);
  const auto is_stopped = [this]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) { return is_stopped_; };
  return stopped_.Await(&mutex_, SteadyNow() + patience, is_stopped);
}

void Server::Stop() {
  std::unique_ptr<TransportServer> listening;
  std::unique_ptr<Pulse> heart;
  std::unique_ptr<Pulse> sweeper;
  {
    absl::MutexLock lock(&mutex_);
    is_stopped_ = true;
    stopped_.SignalAll();
    listening = std::move(listening_);
    heart = std::move(heart_);
    sweeper = std::move(sweeper_);
  }
  if (master_ == nullptr) return;
  // The task listens, and its heart beats, until the others have what they need of it.
  master_->Stop();
  worker_->Stop();
}

std::shared_ptr<Master> FindLocalMaster(const std::string& address) {
  const auto services =
      std::dynamic_pointer_cast<Services>(LoopbackTransport::Global()->Find(address));
  return services == nullptr ? nullptr : services->master();
}

}  // namespace millstream
