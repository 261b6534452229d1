#include "distributed_runtime/simulation/sim_client.h"

#include <algorithm>
#include <cstdlib>
#include <iostream>

#include "absl/strings/str_cat.h"
#include "framework/tensor.h"

namespace millstream {
namespace {

constexpr int kMostSteps = 12;  // of a process
constexpr int kMostSessions = 8;
constexpr absl::Duration kPatience = absl::Seconds(10);  // for tasks, as a session begins
// A step takes less, whatever fails: messages are held until 18 seconds after the begin at most,
// and a task that is stopped is taken for lost after five.
constexpr absl::Duration kLongestStep = absl::Seconds(25);

}  // namespace

SimGraph::SimGraph(int client, int home) : home_(home), build_(&graph_, "") {
  const PartialShape scalar = PartialShape::Scalar();
  fed_ = build_.Op("Placeholder", {}, {{"dtype", DataType::kFloat}, {"shape", scalar}});
  for (int task = 0; task < SimCluster::kTasks; ++task) {
    AttrMap attrs;
    SetAttr(&attrs, "dtype", DataType::kFloat);
    SetAttr(&attrs, "shape", scalar);
    build_.set_device(Device(task));
    const Node* const handle =
        build_.Named(absl::StrCat("client_", client, "_task_", task), "VarHandleOp", {}, attrs);
    handles_.push_back(handle == nullptr ? Output() : handle->output(0));
    sets_.push_back(build_.NodeOf("AssignVariableOp", {handles_.back(), fed_}));
  }
  CheckGraph();
}

void SimGraph::CheckGraph() const {
  if (build_.ok()) return;
  std::cerr << "no graph: " << build_.status() << "\n";
  std::abort();
}

std::string SimGraph::Device(int task) { return absl::StrCat("/job:worker/task:", task); }

Output SimGraph::On(int task, absl::string_view op, const std::vector<Output>& inputs) {
  build_.set_device(Device(task));
  return build_.Op(op, inputs);
}

// A task that is neither the master's nor the variable's, if there is one.
int SimGraph::ViaTask(int task) const {
  int via = 0;
  while (via == home_ || via == task) ++via;
  return via;
}

Output SimGraph::Read(int task) {
  build_.set_device(Device(task));
  return build_.Op("ReadVariableOp", {handles_[task]}, {{"dtype", DataType::kFloat}});
}

// What is fed is one, and variables are larger: their minimum is one, which no optimization knows.
Output SimGraph::AddNodes(Way way, int task) {
  Output delta = fed_;
  if (way == Way::kVia) {
    delta = On(ViaTask(task), "Minimum", {Read(ViaTask(task)), fed_});
  } else if (way == Way::kReturn) {
    delta = On(home_, "Minimum", {Read(task), fed_});
  }
  build_.set_device(Device(task));
  const Node* const add = build_.NodeOf("AssignAddVariableOp", {handles_[task], delta});
  build_.set_control_inputs({add});
  const Output after = Read(task);
  build_.set_control_inputs({});
  return after;
}

StepSignature SimGraph::Set() const { return {{fed_}, {}, sets_}; }

StepSignature SimGraph::Add(Way way, int task) {
  const auto [add, is_new] = adds_.try_emplace({static_cast<int>(way), task});
  if (is_new) {
    add->second = AddNodes(way, task);
    CheckGraph();
  }
  return {{fed_}, {add->second}, {}};
}

void SimClient::Run() {
  for (int i = 0; i < kMostSessions && steps_ < kMostSteps && !IsOver(); ++i) {
    StatusOr<Session> session = Begin("", kPatience);
    if (!session.ok()) {
      Judge(session.status(), false);
    } else {
      RunSession(session->get());
      // A process that was killed says nothing.
      if (!HasEnded()) (*session)->Close();
    }
    VirtualThreads::Sleep(chance_.Between(absl::Milliseconds(50), absl::Milliseconds(500)));
  }
}

// Until a step fails, or for a while; sometimes one more step shows what follows an error. Steps
// are prepared anew each time, so that graphs are registered amid faults, too.
void SimClient::RunSession(MasterClient* session) {
  processes_.clear();
  for (int task = 0; task < SimCluster::kTasks; ++task) {
    processes_.push_back(cluster_.ProcessOf(task));
  }
  SimGraph graph(task_, place_.home);
  GraphSender sender;
  if (!Set(session, &graph, &sender)) return;
  int errors = 0;
  while (errors < 2 && steps_ < kMostSteps && !IsOver()) {
    ++steps_;
    const auto way = static_cast<SimGraph::Way>(chance_.Below(SimGraph::kWays));
    if (!Add(session, &graph, &sender, way, chance_.Below(SimCluster::kTasks))) ++errors;
    if (errors == 1 && chance_.OneIn(2)) return;
    if (errors == 0 && chance_.OneIn(8)) return;
    VirtualThreads::Sleep(chance_.Between(absl::Milliseconds(1), absl::Milliseconds(300)));
  }
}

bool SimClient::IsOld(int task) const {
  return !cluster_.IsUp(task) || cluster_.ProcessOf(task) != processes_[task];
}

StatusOr<SimClient::Step> SimClient::PrepareStep(MasterClient* session, GraphSender* sender,
                                                 const Graph& graph,
                                                 const StepSignature& signature) {
  const Stopwatch watch = StartWatch();
  StatusOr<Step> step = Prepare(session, sender, graph, signature);
  CheckTime("the preparation of a step", watch, step.status());
  return step;
}

Status SimClient::RunStep(ClientStep* step, float fed, absl::Span<Tensor> fetches,
                          const RunOptions& options) {
  const Stopwatch watch = StartWatch();
  const std::vector<Tensor> feeds = {Tensor::Scalar<float>(fed)};
  const Status status = step->Run(feeds, fetches, options);
  CheckTime("a step", watch, status);
  return status;
}

SimClient::Stopwatch SimClient::StartWatch() const {
  return {clients_.threads->now(), cluster_.StillFor(task_)};
}

void SimClient::CheckTime(absl::string_view what, const Stopwatch& watch, const Status& status) {
  // While its process is stopped, nothing of it ends.
  const absl::Duration still = cluster_.StillFor(task_) - watch.still;
  const absl::Duration taken = clients_.threads->now() - watch.begin - still;
  if (HasEnded() || taken <= kLongestStep) return;
  Report(absl::StrCat(what, " took ", absl::FormatDuration(taken), ": ", status.ToString()));
}

bool SimClient::Set(MasterClient* session, SimGraph* graph, GraphSender* sender) {
  const StatusOr<Step> step = PrepareStep(session, sender, graph->graph(), graph->Set());
  if (!step.ok()) {
    Judge(step.status(), false);
    return false;
  }
  for (int task = 0; task < SimCluster::kTasks; ++task) {
    if (IsOld(task)) return false;
  }
  // The same for all variables, because one value is fed.
  int base = 0;
  for (int task = 0; task < SimCluster::kTasks; ++task) {
    base = std::max(base, clients_.ledgers[{task_, task}].NextBase());
  }
  for (int task = 0; task < SimCluster::kTasks; ++task) {
    clients_.ledgers[{task_, task}].BeginSet(processes_[task], base);
  }
  const Status status = RunStep(step->get(), static_cast<float>(base), {}, RunOptions());
  clients_.trace->Note("client ", task_, " sets ", base, ": ", status.message());
  if (HasEnded()) return false;
  if (!status.ok()) {
    Judge(status, false);
    return false;
  }
  for (int task = 0; task < SimCluster::kTasks; ++task) {
    clients_.ledgers[{task_, task}].EndSet(base);
  }
  return true;
}

bool SimClient::Add(MasterClient* session, SimGraph* graph, GraphSender* sender, SimGraph::Way way,
                    int task) {
  const StepSignature signature = graph->Add(way, task);
  const StatusOr<Step> step = PrepareStep(session, sender, graph->graph(), signature);
  if (!step.ok()) {
    Judge(step.status(), false);
    return false;
  }
  if (HasEnded()) return false;
  const bool is_old = IsOld(task) || IsOld(place_.home) ||
                      (way == SimGraph::Way::kVia && IsOld(graph->ViaTask(task)));
  SimLedger& ledger = clients_.ledgers[{task_, task}];
  if (!IsOld(task)) ledger.BeginAdd(processes_[task]);
  RunOptions options;
  std::shared_ptr<Cancellation> cancellation;
  if (chance_.OneIn(8)) {
    cancellation = std::make_shared<Cancellation>();
    options.cancellation = cancellation.get();
    const absl::Duration later = chance_.Between(absl::ZeroDuration(), absl::Milliseconds(400));
    clients_.threads->Start(absl::StrCat("cancel of ", task_), [cancellation, later] {
      VirtualThreads::Sleep(later);
      cancellation->Cancel();
    });
  }
  std::vector<Tensor> fetches(1);
  const Status status = RunStep(step->get(), 1, absl::MakeSpan(fetches), options);
  clients_.trace->Note("client ", task_, " adds in ", task, ", way ", static_cast<int>(way), ": ",
                       status.message());
  // Nobody is told what a client that has ended was told.
  if (HasEnded()) return false;
  ++clients_.steps;
  if (!status.ok()) {
    Judge(status, cancellation != nullptr);
    return false;
  }
  if (is_old) {
    Report(absl::StrCat("a step over task ", task,
                        " went well although a process that its session knew had ended"));
    return false;
  }
  // A step of a client in another process may end in its master when the next one has begun.
  const bool ends_earlier = place_.master != nullptr;
  const Status explained = ledger.EndAdd(fetches[0].data<float>()[0], ends_earlier);
  if (!explained.ok()) Report(std::string(explained.message()));
  return explained.ok();
}

}  // namespace millstream
