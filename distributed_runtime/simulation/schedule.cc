#include "distributed_runtime/simulation/schedule.h"

#include <cstdlib>
#include <iostream>
#include <map>
#include <memory>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/time/time.h"
#include "core/session/session.h"
#include "core/testing/session_fixture.h"
#include "distributed_runtime/simulation/chance.h"
#include "distributed_runtime/simulation/sim_client.h"
#include "distributed_runtime/simulation/sim_cluster.h"
#include "distributed_runtime/simulation/sim_sums.h"
#include "distributed_runtime/simulation/sim_trace.h"
#include "distributed_runtime/simulation/virtual_threads.h"
#include "distributed_runtime/thread_cache.h"
#include "framework/plugin/host_interfaces.h"
#include "framework/steady_time.h"

namespace millstream {
namespace {

// Clients begin nothing afterwards, and faults are over.
constexpr absl::Duration kActive = absl::Seconds(12);
// A lease ends after 31 heartbeats. Three sums take less where all answers of the leader are late,
// and a sum that waits for who does not come takes 30 seconds; then its task may wait for others.
// A task that was stopped goes on up to 51 seconds after the begin, and then gives leases as many
// heartbeats as ever.
constexpr absl::Duration kMostUntilClean = absl::Seconds(120);
// The others have given up a task that is stopped for longer.
constexpr absl::Duration kPastLeases = absl::Seconds(33);

// What programs do.
enum class Work { kSteps, kSums };

// All that belongs to one schedule.
class Schedule {
 public:
  Schedule(uint64_t seed, Work work, Sabotage sabotage, std::vector<std::string>* log)
      : seed_(seed),
        work_(work),
        chance_(Mixed(seed, "schedule")),
        threads_(Mixed(seed, "threads")),
        trace_(&threads_, log),
        network_(&threads_, &trace_, Mixed(seed, "network"), sabotage),
        cluster_(&threads_, &network_, &trace_, sabotage,
                 [this](const SimPlace& place) { RunProgram(place); }),
        num_local_(chance_.Below(3)),
        num_remote_(num_local_ == 0 ? 1 + chance_.Below(2) : chance_.Below(2)) {
    clients_.threads = &threads_;
    clients_.cluster = &cluster_;
    clients_.trace = &trace_;
    clients_.end = threads_.now() + kActive;
    ThreadCache::Global()->GiveTo([this](std::function<void()> work) {
      threads_.Start("work of a handler", std::move(work));
    });
  }

  // False if something hangs, so that the object cannot be destroyed.
  bool Run() {
    BeginTasks();
    BeginClients();
    const int faults = chance_.Below(4);
    for (int i = 0; i < faults; ++i) PlanFault();
    PlanBrokenWay();
    absl::Time now = clients_.end;
    const absl::Time limit = now + kMostUntilClean;
    bool is_endless = !threads_.RunUntil(now);
    while (!is_endless && now < limit && !Unclean().empty()) {
      now += absl::Seconds(1);
      is_endless = !threads_.RunUntil(now);
    }
    if (is_endless) Find("threads go round in circles");
    for (const std::string& text : Unclean()) Find(text);
    for (const std::string& text : cluster_.late_steps()) Find(text);
    return !is_endless && StopTasks(now);
  }

  ScheduleResult Result() const {
    ScheduleResult result;
    result.findings = clients_.findings;
    result.trace = trace_.sum();
    result.steps = clients_.steps;
    result.failed = clients_.failed;
    result.faults = faults_;
    return result;
  }

 private:
  void Find(const std::string& text) { clients_.findings.push_back(text); }

  void RunProgram(const SimPlace& place) {
    const bool is_remote = place.task >= SimCluster::kTasks;
    if (work_ == Work::kSteps && !is_remote && place.task >= num_local_) return;
    // The other tasks begin at the same time, and not to find them is no error.
    VirtualThreads::Sleep(absl::Milliseconds(1));
    if (work_ == Work::kSteps) return SimClient(&clients_, place, seed_).Run();
    using Size = SimSums::Size;
    static constexpr Size kSizes[] = {Size::kSmall, Size::kLarge, Size::kMeasured};
    SimSums(&clients_, place, seed_, kSizes[Mixed(seed_, "size") % 3]).Run();
  }

  // Clients in processes of their own. One may join late.
  void BeginClients() {
    if (work_ != Work::kSteps) return;
    for (int i = 0; i < num_remote_; ++i) {
      const int client = SimCluster::kTasks + i;
      const int home = chance_.Below(SimCluster::kTasks);
      const absl::Duration late = chance_.OneIn(2)
                                      ? absl::ZeroDuration()
                                      : chance_.Between(absl::Milliseconds(10), absl::Seconds(6));
      homes_[client] = home;
      threads_.At(threads_.now() + late, [this, client, home] { cluster_.Begin(client, home); });
    }
  }

  // The last task may begin late.
  void BeginTasks() {
    for (int task = 0; task + 1 < SimCluster::kTasks; ++task) cluster_.Begin(task);
    const int last = SimCluster::kTasks - 1;
    if (!chance_.OneIn(4)) return cluster_.Begin(last);
    cluster_.NoteFault();
    ++faults_;
    const absl::Duration late = chance_.Between(absl::Milliseconds(10), absl::Seconds(3));
    threads_.At(threads_.now() + late, [this] { cluster_.Begin(SimCluster::kTasks - 1); });
  }

  void PlanFault() {
    ++faults_;
    const absl::Duration at = chance_.Between(absl::Milliseconds(100), absl::Seconds(9));
    const int kind = chance_.Below(5);
    const int task = chance_.Below(SimCluster::kTasks + static_cast<int>(homes_.size()));
    const int other = task < SimCluster::kTasks
                          ? (task + 1 + chance_.Below(SimCluster::kTasks - 1)) % SimCluster::kTasks
                          : homes_[task];
    const absl::Duration away = chance_.OneIn(2)
                                    ? chance_.Between(absl::Microseconds(1), absl::Milliseconds(50))
                                    : chance_.Between(absl::Milliseconds(50), absl::Seconds(4));
    const absl::Duration held = chance_.OneIn(2)
                                    ? chance_.Between(absl::Milliseconds(1), absl::Seconds(1))
                                    : chance_.Between(absl::Seconds(1), absl::Seconds(9));
    const absl::Duration still =
        chance_.OneIn(3) ? kPastLeases + chance_.Between(absl::ZeroDuration(), absl::Seconds(9))
                         : chance_.Between(absl::Milliseconds(10), absl::Seconds(9));
    threads_.At(threads_.now() + at, [this, kind, task, other, away, held, still] {
      switch (kind) {
        case 0: return cluster_.Kill(task, away);
        case 1: return cluster_.Leave(task, away);
        case 2: return cluster_.Freeze(task, still);
        case 3: cluster_.NoteFault(); return network_.Break(task, other);
        default: cluster_.NoteFault(); return network_.Hold(task, other, threads_.now() + held);
      }
    });
  }

  // In some schedules, the connection breaks by which a task watches a master in another one, and
  // the other way it stays. That is chosen apart, so that a seed has the other faults that it had
  // before there were such ones.
  void PlanBrokenWay() {
    Chance chance(Mixed(seed_, "broken way"));
    if (!chance.OneIn(4)) return;
    ++faults_;
    const absl::Duration at = chance.Between(absl::Milliseconds(100), absl::Seconds(9));
    const int from = chance.Below(SimCluster::kTasks);
    const int to = (from + 1 + chance.Below(SimCluster::kTasks - 1)) % SimCluster::kTasks;
    threads_.At(threads_.now() + at, [this, from, to] { cluster_.BreakWay(from, to); });
  }

  // What has not ended, although it will.
  std::vector<std::string> Unclean() {
    std::vector<std::string> texts = cluster_.Held();
    const std::vector<std::string> alive = threads_.Alive();
    if (!alive.empty()) texts.push_back(absl::StrCat("hangs: ", absl::StrJoin(alive, "; ")));
    for (const std::string& call : network_.OpenCalls()) {
      texts.push_back(absl::StrCat("a call has not ended: ", call));
    }
    return texts;
  }

  bool StopTasks(absl::Time now) {
    const bool was_clean = Unclean().empty();
    cluster_.StopAll();
    const bool is_endless = !threads_.RunUntil(now + absl::Seconds(20));
    const std::vector<std::string> alive = threads_.Alive();
    if (was_clean && !alive.empty()) {
      Find(absl::StrCat("tasks do not stop: ", absl::StrJoin(alive, "; ")));
    }
    return alive.empty() && !is_endless && network_.OpenCalls().empty();
  }

  // Members are destroyed from the bottom up: who uses the threads before them.
  const uint64_t seed_;
  const Work work_;
  Chance chance_;
  VirtualThreads threads_;
  SimTrace trace_;
  SimNetwork network_;
  SimClients clients_;
  SimCluster cluster_;
  const int num_local_;       // clients in the process of their master
  const int num_remote_;      // in others
  std::map<int, int> homes_;  // of these
  int faults_ = 0;
};

ScheduleResult RunOne(uint64_t seed, Work work, Sabotage sabotage, std::vector<std::string>* log) {
  auto schedule = std::make_unique<Schedule>(seed, work, sabotage, log);
  const bool has_ended = schedule->Run();
  ThreadCache::Global()->GiveTo(nullptr);
  ScheduleResult result = schedule->Result();
  if (has_ended) return result;
  // Threads and calls that hang use it as long as the process lives.
  static auto* const hanging = new std::vector<std::unique_ptr<Schedule>>;
  hanging->push_back(std::move(schedule));
  return result;
}

}  // namespace

ScheduleResult RunSchedule(uint64_t seed, Sabotage sabotage, std::vector<std::string>* log) {
  return RunOne(seed, Work::kSteps, sabotage, log);
}

ScheduleResult RunSumSchedule(uint64_t seed, Sabotage sabotage, std::vector<std::string>* log) {
  return RunOne(seed, Work::kSums, sabotage, log);
}

void PrepareSchedules() {
  // The steady clock begins with its first reader, which has to be a thread of virtual time.
  VirtualThreads threads(0);
  absl::Duration behind = absl::InfiniteDuration();
  threads.Start("reads the clock", [&] { behind = SteadyNow() - threads.now(); });
  if (!threads.RunUntil(threads.now() + absl::Seconds(1)) || behind != absl::ZeroDuration()) {
    std::cerr << "the steady clock was read in real time\n";
    std::abort();
  }
  Status status = LoadCpuPlugin();
  if (status.ok()) status = Session::PrepareProcess();
  if (!status.ok()) {
    std::cerr << "no kernels: " << status << "\n";
    std::abort();
  }
  SumGraph::Of(0);
  // Sessions of masters that are gone are no news here.
  SetHostLogLevel(MS_LOG_ERROR);
}

}  // namespace millstream
