// MasterSession: placement by costs.
#include <atomic>
#include <string>
#include <utility>
#include <vector>

#include "core/placement/placer_costs.h"
#include "distributed_runtime/clock_offset.h"
#include "distributed_runtime/master_session.h"
#include "distributed_runtime/rpc.h"
#include "framework/steady_time.h"

namespace millstream {
namespace {

// How long a task is asked whose connection is not known.
constexpr absl::Duration kLatencyPatience = absl::Seconds(1);
// How long a task has to hear that it may forget a graph.
constexpr absl::Duration kReleasePatience = absl::Seconds(10);

// The first device of the task; -1 if the session uses none.
int DeviceOf(absl::string_view task, const DeviceSet& devices) {
  for (int d = 0; d < devices.size(); ++d) {
    if (TaskOf(devices[d].name) == task) return d;
  }
  return -1;
}

}  // namespace

std::string MasterSession::PlacementText(const std::shared_ptr<const MasterStep>& step) const {
  const std::shared_ptr<const MasterStep> present =
      step->placements == nullptr ? step : step->placements->Present(step);
  return present->here->placement_text();
}

// A run after which the step is placed anew waits for that.
Status MasterSession::RunPlaced(const std::shared_ptr<const MasterStep>& prepared,
                                absl::Span<const Tensor> feeds, absl::Span<Tensor> fetches,
                                const RunOptions& options) {
  StepPlacements* const placements = prepared->placements.get();
  const StepPlacements::Turn turn = placements->Begin(prepared);
  const Status status = turn.is_measured ? RunMeasured(turn.step, feeds, fetches, options)
                                         : RunStep(turn.step, feeds, fetches, options);
  if (status.ok() && placements->BeginPlacing(turn)) {
    if (MeasureLatencies().ok()) {
      placements->EndPlacing(PlaceAgain(*prepared, *turn.step, feeds));
    } else {
      placements->PutOff();
    }
  }
  if (placements->End(turn)) {
    if (turn.step->runs_here) num_steps_.fetch_sub(1, std::memory_order_relaxed);
    Release(*turn.step);
  }
  return status;
}

// The client gets the reports that it wants, and no others.
Status MasterSession::RunMeasured(const std::shared_ptr<const MasterStep>& step,
                                  absl::Span<const Tensor> feeds, absl::Span<Tensor> fetches,
                                  const RunOptions& options) {
  StepReport* const wanted = options.report;
  StepReport own;
  own.want_trace = true;
  own.want_partition_graphs = wanted != nullptr && wanted->want_partition_graphs;
  const bool is_own = wanted == nullptr || !wanted->want_trace;
  RunOptions traced = options;
  if (is_own) traced.report = &own;
  MS_RETURN_IF_ERROR(RunStep(step, feeds, fetches, traced));
  std::vector<Shape> shapes;
  for (const Tensor& feed : feeds) shapes.push_back(feed.shape());
  step->here->builder().Measure(traced.report->trace, shapes);
  if (is_own && wanted != nullptr) {
    for (std::string& graph : own.partition_graphs) {
      wanted->partition_graphs.push_back(std::move(graph));
    }
  }
  return absl::OkStatus();
}

void MasterSession::AddLatency(absl::string_view task, const ClockOffset& clock) {
  const int device = DeviceOf(task, devices_);
  const int here = DeviceOf(worker_->task(), devices_);
  if (device < 0 || here < 0 || clock.error <= 0) return;  // no error: the clock was not read
  CostModel* const model = &here_->costs()->model;
  model->AddTransferTime(here, device, 0, static_cast<double>(clock.error));
  model->AddTransferTime(device, here, 0, static_cast<double>(clock.error));
}

Status MasterSession::MeasureLatencies() {
  const int here = DeviceOf(worker_->task(), devices_);
  for (size_t t = 0; t < uses_.size(); ++t) {
    const std::string& task = worker_->peers()->tasks()[t].name;
    const int device = DeviceOf(task, devices_);
    if (!uses_[t] || device < 0 || here < 0) continue;
    if (here_->costs()->model.IsLinkMeasured(here, device)) continue;
    MS_ASSIGN_OR_RETURN(const std::shared_ptr<Channel> channel, worker_->peers()->ChannelTo(task));
    MS_ASSIGN_OR_RETURN(const ClockOffset clock,
                        MeasureClock(channel.get(), SteadyNow() + kLatencyPatience));
    AddLatency(task, clock);
  }
  return absl::OkStatus();
}

// What cannot be made is no better than what there is.
std::shared_ptr<const MasterStep> MasterSession::PlaceAgain(const MasterStep& prepared,
                                                            const MasterStep& present,
                                                            absl::Span<const Tensor> feeds) {
  std::vector<Shape> shapes;
  for (const Tensor& feed : feeds) shapes.push_back(feed.shape());
  PlacementHints hints;
  hints.feed_shapes = &shapes;
  hints.present = &present.here->builder().placed();
  absl::MutexLock lock(&mutex_);
  if (is_closed_) return nullptr;
  StatusOr<std::shared_ptr<MasterStep>> next = CompileStep(prepared.signature, hints);
  if (!next.ok() || (*next)->here->builder().placed() == *hints.present) return nullptr;
  if (!ShareStep(next->get(), prepared.signature).ok()) {
    Release(**next);
    return nullptr;
  }
  return *std::move(next);
}

// A task that does not answer has lost the session, and the graph with it.
void MasterSession::Release(const MasterStep& step) {
  step.here->DropKeptStates();
  proto::ReleaseGraphRequest request;
  request.set_session(handle_);
  request.set_graph(step.number);
  for (const TaskShare& share : step.shares) {
    StartRequest(share.channel.get(), "ReleaseGraph", EncodeMessage(request),
                 SteadyNow() + kReleasePatience, [](const Status&, PayloadReader*) {});
  }
}

}  // namespace millstream
