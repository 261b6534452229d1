#include "distributed_runtime/master_run.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "core/step/cancel_listeners.h"
#include "distributed_runtime/rpc.h"
#include "framework/steady_time.h"

namespace millstream {
namespace {

// How often a waiting run asks the front end whether it is to stop.
constexpr absl::Duration kAskingPeriod = absl::Milliseconds(20);
// How long an aborted run waits for tasks that do not answer.
constexpr absl::Duration kAbortPatience = absl::Milliseconds(500);
// Workers watch the time limit themselves, and know what they wait for.
constexpr absl::Duration kLateness = absl::Milliseconds(200);

// Ends a run when something is cancelled, as long as the object lives.
class Listening {
 public:
  Listening(MasterRun* run, const Cancellation* cancellation, void (*fn)(void*))
      : listener_(fn, run), cancellation_(cancellation) {
    if (cancellation_ != nullptr) cancellation_->listeners()->Add(&listener_);
  }
  ~Listening() {
    if (cancellation_ != nullptr) cancellation_->listeners()->Remove(&listener_);
  }

 private:
  CancelListener listener_;
  const Cancellation* const cancellation_;
};

void OnCancelled(void* run) {
  static_cast<MasterRun*>(run)->Fail(errors::Cancelled("the step was cancelled"));
}
void OnClosing(void* run) {
  static_cast<MasterRun*>(run)->Fail(
      errors::Cancelled("the session was closed while the step ran"));
}

}  // namespace

MasterRun::MasterRun(std::shared_ptr<const MasterStep> step, uint64_t session,
                     std::shared_ptr<WorkerStep> here)
    : step_(std::move(step)),
      session_(session),
      step_here_(std::move(here)),
      number_(step_here_->number()),
      begin_(SteadyNow()),
      awaits_answers_((step_->runs_in_order || !step_->runs_here) &&
                      !step_->session->shortens_floats()),
      fetches_(step_->here->builder().signature().fetches.size()),
      shares_(step_->shares.size()),
      missing_(step_->shares.size()) {
  for (size_t s = 0; s < shares_.size(); ++s) {
    shares_[s].collected.resize(step_->shares[s].exchange.num_requested.size());
  }
  step_here_->SetCarrier(this);
}

Status MasterRun::Start(absl::Span<const Tensor> feeds, int64_t timeout_ms,
                        std::vector<uint64_t> running) {
  feeds_ = feeds;
  timeout_ms_ = timeout_ms;
  running_ = std::move(running);
  // Requests without tensors differ in nothing but the feeds, which are mostly the same.
  Payload request;
  const std::vector<bool>* needed = nullptr;  // the feeds in it
  for (size_t s = 0; s < step_->shares.size(); ++s) {
    const TaskShare& share = step_->shares[s];
    if (share.exchange.num_requested[0] > 0) continue;
    if (needed == nullptr || *needed != share.needs_feed) {
      const Status encoded = EncodeBegin(s, {}, &request);
      if (!encoded.ok()) {
        Fail(encoded);
        return encoded;
      }
      needed = &share.needs_feed;
    }
    Send(s, 0, request);
  }
  return absl::OkStatus();
}

void MasterRun::Carry(int64_t edge, Parcel parcel) {
  const size_t share = static_cast<size_t>(step_->carriers[edge]);
  const StepExchange& exchange = step_->shares[share].exchange;
  const int round = exchange.rounds[edge];
  std::vector<CarriedParcel> full;
  {
    absl::MutexLock lock(&mutex_);
    std::vector<CarriedParcel>& collected = shares_[share].collected[round];
    collected.push_back({edge, std::move(parcel)});
    if (static_cast<int>(collected.size()) < exchange.num_requested[round]) return;
    full.swap(collected);
  }
  const Status sent = SendRound(share, round, full);
  if (!sent.ok()) Fail(sent);
}

void MasterRun::Await(int64_t edge) {
  const size_t share = static_cast<size_t>(step_->carriers[edge]);
  const int round = step_->shares[share].exchange.rounds[edge];
  if (!step_->runs_in_order || (!awaits_answers_ && HasRound(share, round))) return;
  step_->shares[share].channel->Help([this, share, round] { return HasRound(share, round); });
}

bool MasterRun::HasRound(size_t share, int round) const {
  absl::MutexLock lock(&mutex_);
  const Progress& progress = shares_[share];
  return !error_.ok() || !progress.has_begun || progress.has_answered || progress.answers > round;
}

Status MasterRun::SendRound(size_t share, int round, const std::vector<CarriedParcel>& carried) {
  Payload payload;
  MS_RETURN_IF_ERROR(round == 0 ? EncodeBegin(share, carried, &payload)
                                : EncodeContinue(round, carried, &payload));
  Send(share, round, std::move(payload));
  return absl::OkStatus();
}

void MasterRun::Send(size_t share, int round, Payload request) {
  {
    absl::MutexLock lock(&mutex_);
    if (!error_.ok()) return;
    shares_[share].has_begun = true;
  }
  StartRequest(
      step_->shares[share].channel.get(), round == 0 ? "RunGraph" : "ContinueStep",
      std::move(request), absl::InfiniteFuture(),
      [self = shared_from_this(), share](const Status& status, PayloadReader* response) {
        self->TakeResponse(share, status, response);
      },
      awaits_answers_);
}

Status MasterRun::EncodeBegin(size_t share, const std::vector<CarriedParcel>& carried,
                              Payload* payload) {
  proto::RunGraphRequest request;
  request.set_session(session_);
  request.set_graph(step_->number);
  request.set_step(number_);
  request.set_timeout_ms(timeout_ms_);
  request.set_want_trace(wants_trace_);
  request.set_want_partition_graphs(wants_graphs_);
  request.mutable_running_steps()->Add(running_.begin(), running_.end());
  TensorWriter writer;
  for (size_t i = 0; i < feeds_.size(); ++i) {
    if (!step_->shares[share].needs_feed[i]) {
      MS_RETURN_IF_ERROR(writer.AddShape(feeds_[i], request.add_feeds()));
      continue;
    }
    MS_RETURN_IF_ERROR(writer.Add(feeds_[i], request.add_feeds()));
  }
  MS_RETURN_IF_ERROR(EncodeCarried(carried, step_->session->shortens_floats(), &writer,
                                   request.mutable_carried()));
  *payload = writer.Finish(request);
  return absl::OkStatus();
}

Status MasterRun::EncodeContinue(int round, const std::vector<CarriedParcel>& carried,
                                 Payload* payload) {
  proto::ContinueStepRequest request;
  request.set_session(session_);
  request.set_step(number_);
  request.set_round(round);
  TensorWriter writer;
  MS_RETURN_IF_ERROR(EncodeCarried(carried, step_->session->shortens_floats(), &writer,
                                   request.mutable_carried()));
  *payload = writer.Finish(request);
  return absl::OkStatus();
}

void MasterRun::TakeResponse(size_t share, const Status& status, PayloadReader* response) {
  proto::RunGraphResponse message;
  std::vector<CarriedParcel> carried;
  const auto read = [&]() -> Status {
    MS_RETURN_IF_ERROR(status);
    MS_RETURN_IF_ERROR(DecodeMessage(response, &message));
    std::vector<Tensor> fetches;
    for (const proto::TensorHeader& header : message.fetches()) {
      MS_ASSIGN_OR_RETURN(Tensor fetch, DecodeTensor(header, response));
      fetches.push_back(std::move(fetch));
    }
    MS_ASSIGN_OR_RETURN(carried, DecodeCarried(message.carried(), response));
    absl::MutexLock lock(&mutex_);
    if (message.has_report()) shares_[share].report.reset(message.release_report());
    const size_t count = std::min(fetches.size(), fetches_.size());
    for (size_t i = 0; i < count; ++i) {
      if (fetches[i].has_value()) fetches_[i] = std::move(fetches[i]);
    }
    ++shares_[share].answers;
    return absl::OkStatus();
  };
  const Status result = read();
  if (message.done() || !result.ok()) EndShare(share, result);
  if (!result.ok()) return;
  // At last, because it wakes the thread that runs the part of this task, which then finds that the
  // share has ended.
  const Status delivered = step_here_->Deliver(std::move(carried));
  if (!delivered.ok()) Fail(WithTask(delivered, step_->shares[share].name));
}

void MasterRun::EndShare(size_t share, const Status& status) {
  {
    // Before Fail, which does not tell a task that has ended.
    absl::MutexLock lock(&mutex_);
    if (shares_[share].has_answered) return;
    shares_[share].has_answered = true;
  }
  if (!status.ok()) Fail(WithTask(status, step_->shares[share].name));
  absl::MutexLock lock(&mutex_);
  NoteEnd();
}

// The task is told all the same: it may only be slow. Its part may have ended, and others may still
// wait for tensors of it.
void MasterRun::LoseTask(size_t task, const Status& error) {
  for (size_t s = 0; s < step_->shares.size(); ++s) {
    if (step_->shares[s].task != task || IsOver()) continue;
    Fail(WithTask(error, step_->shares[s].name));
    absl::MutexLock lock(&mutex_);
    if (shares_[s].has_answered) continue;
    shares_[s].has_answered = true;
    NoteEnd();
  }
}

bool MasterRun::IsOver() const {
  absl::MutexLock lock(&mutex_);
  return missing_ == 0 && !step_->runs_here;
}

// Tasks that have not begun are told, too: others may have asked them for tensors. A task answers
// when its part has ended.
void MasterRun::Fail(const Status& error) {
  std::vector<size_t> running;
  {
    absl::MutexLock lock(&mutex_);
    if (!error_.ok()) return;
    error_ = error;
    for (size_t s = 0; s < shares_.size(); ++s) {
      if (shares_[s].has_answered) continue;
      running.push_back(s);
      if (shares_[s].has_begun) continue;
      shares_[s].has_answered = true;
      NoteEnd();
    }
  }
  step_here_->Stop(error);
  proto::AbortStepRequest request;
  request.set_session(session_);
  request.set_step(number_);
  EncodeStatus(error, request.mutable_error());
  for (const size_t s : running) {
    StartRequest(step_->shares[s].channel.get(), "AbortStep", EncodeMessage(request),
                 SteadyNow() + absl::Seconds(10),
                 [self = shared_from_this(), s](const Status& status, PayloadReader*) {
                   self->EndShare(s, status);
                 });
  }
}

std::vector<proto::StepReportRecord> MasterRun::TakeReports() {
  std::vector<proto::StepReportRecord> reports(step_->shares.size());
  absl::MutexLock lock(&mutex_);
  for (size_t s = 0; s < reports.size(); ++s) {
    if (shares_[s].report != nullptr) reports[s].Swap(shares_[s].report.get());
  }
  return reports;
}

void MasterRun::Describe(proto::RunningStepRecord* record) const {
  record->set_session(session_);
  record->set_step(number_);
  record->set_is_led(true);
  record->set_nanos(absl::ToInt64Nanoseconds(SteadyNow() - begin_));
  absl::MutexLock lock(&mutex_);
  for (size_t s = 0; s < shares_.size(); ++s) {
    if (!shares_[s].has_begun || shares_[s].has_answered) continue;
    record->add_waits()->set_task(step_->shares[s].name);
  }
}

std::string MasterRun::MissingTasks() const {
  std::string tasks;
  for (size_t s = 0; s < shares_.size(); ++s) {
    if (shares_[s].has_answered) continue;
    absl::StrAppend(&tasks, tasks.empty() ? "" : ", ", step_->shares[s].name);
  }
  return tasks;
}

void MasterRun::Help() {
  for (size_t s = 0; s < step_->shares.size(); ++s) {
    const auto is_done = [this, s] {
      absl::MutexLock lock(&mutex_);
      return !error_.ok() || shares_[s].has_answered || !shares_[s].has_begun;
    };
    if (awaits_answers_ || !is_done()) step_->shares[s].channel->Help(is_done);
  }
}

void MasterRun::Await(const RunOptions& options) {
  Help();
  const absl::Time limit = options.timeout_ms > 0
                               ? SteadyNow() + absl::Milliseconds(options.timeout_ms) + kLateness
                               : absl::InfiniteFuture();
  absl::Time end = absl::InfiniteFuture();  // of the patience after an error
  while (true) {
    Status stop;
    {
      absl::MutexLock lock(&mutex_);
      absl::Time wake = std::min(limit, end);
      if (options.should_stop != nullptr) wake = std::min(wake, SteadyNow() + kAskingPeriod);
      // An error shortens the wait, and comes from another thread.
      wake = std::min(wake, SteadyNow() + absl::Milliseconds(100));
      const auto has_all = [this]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) { return missing_ == 0; };
      if (ended_all_.Await(&mutex_, wake, has_all)) return;
      if (!error_.ok() && end == absl::InfiniteFuture()) end = SteadyNow() + kAbortPatience;
      if (SteadyNow() >= end) return;
      if (error_.ok() && SteadyNow() >= limit) {
        stop = absl::DeadlineExceededError(absl::StrCat(
            "the step took longer than ", options.timeout_ms, " ms in ", MissingTasks()));
      }
    }
    if (stop.ok() && options.should_stop != nullptr &&
        options.should_stop(options.should_stop_argument)) {
      stop = errors::Cancelled("the step was interrupted");
    }
    if (!stop.ok()) Fail(stop);
  }
}

Status MasterRun::Finish(absl::Span<const Tensor> feeds, absl::Span<Tensor> fetches,
                         const RunOptions& options, const Cancellation* closing) {
  const Listening cancelled(this, options.cancellation, &OnCancelled);
  const Listening client_closing(this, options.closing, &OnClosing);
  const Listening master_closing(this, closing, &OnClosing);
  if (step_->runs_here) {
    const Status status =
        step_->session->Run(step_->here.get(), step_here_.get(), feeds, fetches, options);
    if (!status.ok()) Fail(status);
  }
  Await(options);
  absl::MutexLock lock(&mutex_);
  MS_RETURN_IF_ERROR(error_);
  for (size_t i = 0; i < fetches_.size(); ++i) {
    if (fetches_[i].has_value()) fetches[i] = std::move(fetches_[i]);
  }
  return absl::OkStatus();
}

}  // namespace millstream
