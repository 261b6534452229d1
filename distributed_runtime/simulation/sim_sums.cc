#include "distributed_runtime/simulation/sim_sums.h"

#include <cstdlib>
#include <iostream>
#include <string>
#include <utility>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/strings/str_cat.h"
#include "absl/types/span.h"
#include "framework/tensor.h"
#include "millstream/framework/protos/config.pb.h"

namespace millstream {
namespace {

constexpr int kSums = 3;
constexpr int kMostErrors = 2;
// A sum takes less where nothing fails: the answer of the leader may take nine seconds, and the
// others may be as late.
constexpr absl::Duration kLongest = absl::Seconds(30);

// Elements of 8 bytes. Those of a large tensor have pieces of 13 KB, by which nothing is measured,
// and those of the last kind pieces of 80 KB.
int64_t NumElementsOf(SimSums::Size size) {
  switch (size) {
    case SimSums::Size::kSmall: return 3;
    case SimSums::Size::kLarge: return 5001;
    case SimSums::Size::kMeasured: return 30'003;
  }
  return 0;
}

std::string DeviceOf(int task) { return absl::StrCat("/job:worker/task:", task); }

// A session that needs no other task.
std::string ConfigOf(int task) {
  proto::ConfigProto config;
  config.add_device_filters(DeviceOf(task));
  return config.SerializeAsString();
}

}  // namespace

SumGraph::SumGraph(int task) : build_(&graph_, "") {
  build_.set_device(DeviceOf(task));
  fed_ = build_.Op("Placeholder", {},
                   {{"dtype", DataType::kDouble}, {"shape", PartialShape({int64_t{-1}})}});
  sum_ = build_.Op("CollectiveReduce", {fed_},
                   {{"group_size", int64_t{SimCluster::kTasks}},
                    {"group_key", int64_t{1}},
                    {"instance_key", int64_t{0}},
                    {"merge_op", std::string("Add")},
                    {"final_op", std::string("Id")},
                    {"subdiv_offsets", std::vector<int64_t>{0}}});
  if (build_.ok()) return;
  std::cerr << "no graph: " << build_.status() << "\n";
  std::abort();
}

const SumGraph& SumGraph::Of(int task) {
  static const auto* const graphs = [] {
    auto* const made = new std::vector<std::unique_ptr<const SumGraph>>;
    for (int one = 0; one < SimCluster::kTasks; ++one) made->emplace_back(new SumGraph(one));
    return made;
  }();
  return *(*graphs)[task];
}

SimSums::SimSums(SimClients* clients, SimPlace place, uint64_t seed, Size size)
    : SimProgram(clients, std::move(place), seed),
      graph_(SumGraph::Of(task_)),
      size_(NumElementsOf(size)) {}

void SimSums::Run() {
  RunSession();
  if (!HasEnded()) cluster_.Finish(task_);
}

void SimSums::RunSession() {
  const StatusOr<Session> session = Begin(ConfigOf(task_), kLongest);
  if (!session.ok()) return Judge(session.status(), false);
  AddAll(session->get());
  (*session)->Close();
}

void SimSums::AddAll(MasterClient* session) {
  GraphSender sender;
  const StatusOr<Step> step = Prepare(session, &sender, graph_.graph(), graph_.Sum());
  if (!step.ok()) return Judge(step.status(), false);
  int errors = 0;
  for (int i = 0; i < kSums && errors < kMostErrors; ++i) {
    // Where nothing fails, the others take part in as many sums, however long these take.
    if (HasEnded() || (cluster_.HasFaults() && IsOver())) return;
    if (i > 0) {
      VirtualThreads::Sleep(chance_.Between(absl::Milliseconds(1), absl::Milliseconds(300)));
    }
    if (!AddOnce(step->get())) ++errors;
  }
}

bool SimSums::AddOnce(ClientStep* step) {
  const int number = clients_.sums.Begin(task_);
  const double given = SimSumLedger::Given(task_, number);
  const std::vector<Tensor> feeds = {
      Tensor::Vector<double>(std::vector<double>(static_cast<size_t>(size_), given))};
  std::vector<Tensor> fetches(1);
  const auto cancellation = std::make_shared<Cancellation>();
  VirtualThreads* const threads = clients_.threads;
  threads->At(threads->now() + kLongest,
              [threads, waiting = std::weak_ptr<Cancellation>(cancellation)] {
                const std::shared_ptr<Cancellation> late = waiting.lock();
                if (late != nullptr) threads->Start("limit of a sum", [late] { late->Cancel(); });
              });
  RunOptions options;
  options.cancellation = cancellation.get();
  const absl::Duration still = cluster_.StillFor(task_);
  ++clients_.adding;
  const Status status = step->Run(feeds, absl::MakeSpan(fetches), options);
  // After faults, some tasks wait for others that have stopped adding, until they are cancelled.
  const bool waits_alone = clients_.adding-- < SimCluster::kTasks && cluster_.HasFaults();
  // A process that was stopped may be cancelled as it goes on.
  const bool waits_in_vain = waits_alone || cluster_.StillFor(task_) > still;
  clients_.trace->Note("task ", task_, " adds ", number, ": ", status.message());
  // Nobody is told what a program that has ended was told.
  if (HasEnded()) return false;
  ++clients_.steps;
  if (!status.ok()) {
    Judge(status, waits_in_vain);
    return false;
  }
  const absl::Span<const double> sums(fetches[0].data<double>(), static_cast<size_t>(size_));
  const bool is_one = absl::c_all_of(sums, [&](double sum) { return sum == sums[0]; });
  const Status explained = is_one ? clients_.sums.End(task_, number, sums[0])
                                  : errors::Internal("a sum has elements of several meetings");
  if (!explained.ok()) Report(std::string(explained.message()));
  return explained.ok();
}

}  // namespace millstream
