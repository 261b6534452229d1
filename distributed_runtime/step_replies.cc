#include "distributed_runtime/step_replies.h"

#include <optional>
#include <utility>

#include "distributed_runtime/handler_thread.h"
#include "distributed_runtime/trace_coding.h"

namespace millstream {
namespace {

// In bytes: to send a larger one may take long, in which others read.
constexpr size_t kLargeAnswer = size_t{64} << 10;

// `fetches` is null if the part has not ended; `report` if nothing was asked, else it is taken.
StatusOr<Payload> AnswerOf(const std::vector<CarriedParcel>& sent, bool shortens,
                           const std::vector<Tensor>* fetches, proto::StepReportRecord* report) {
  proto::RunGraphResponse response;
  TensorWriter writer;
  if (fetches != nullptr) {
    response.set_done(true);
    if (report != nullptr) response.mutable_report()->Swap(report);
    for (const Tensor& fetch : *fetches) {
      MS_RETURN_IF_ERROR(writer.Add(fetch, response.add_fetches()));
    }
  }
  MS_RETURN_IF_ERROR(EncodeCarried(sent, shortens, &writer, response.mutable_carried()));
  if (report == nullptr) return writer.Finish(response);
  return writer.FinishLarge(response);  // a report may have graphs
}

void Give(const Reply& reply, StatusOr<Payload> answer) {
  if (!answer.ok()) return reply.Give(answer.status());
  reply.Give(*std::move(answer));
}

void GiveNothing(const Reply& reply, const Status& status) {
  if (!status.ok()) return reply.Give(status);
  Give(reply, AnswerOf({}, false, nullptr, nullptr));
}

}  // namespace

StepReplies::~StepReplies() {
  {
    absl::MutexLock lock(&mutex_);
    if (has_ended_) return;
  }
  End(errors::Cancelled("the task has forgotten the step"), {});
}

void StepReplies::Begin(std::shared_ptr<const StepExchange> exchange, bool shortens) {
  exchange_ = std::move(exchange);
  shortens_ = shortens;
  absl::MutexLock lock(&mutex_);
  has_begun_ = true;
}

void StepReplies::Add(int round, Reply reply) {
  Status status;
  {
    absl::MutexLock lock(&mutex_);
    if (has_ended_) {
      status = ended_;
    } else if (replies_.try_emplace(round, reply).second) {
      return;
    } else {
      status = errors::InvalidArgument("round ", round, " of a step came twice");
    }
  }
  GiveNothing(reply, status);
}

void StepReplies::Carry(int64_t edge, Parcel parcel) {
  absl::MutexLock lock(&mutex_);
  if (!has_ended_) sent_.push_back({edge, std::move(parcel)});
}

void StepReplies::Await(int64_t edge) {
  const int round = exchange_->rounds[edge];
  std::optional<Reply> reply;
  std::vector<CarriedParcel> sent;
  {
    absl::MutexLock lock(&mutex_);
    if (has_ended_ || round <= round_) return;
    const auto found = replies_.find(round_);
    round_ = round;
    // The part came so far by the tensors of the request.
    if (found == replies_.end()) return;
    reply = std::move(found->second);
    replies_.erase(found);
    sent.swap(sent_);
  }
  StatusOr<Payload> answer = AnswerOf(sent, shortens_, nullptr, nullptr);
  const auto has_round = [this, round] { return HasRound(round); };
  if (!answer.ok() || answer->size() > kLargeAnswer) {
    Give(*reply, std::move(answer));
    return HandlerThread::Help(has_round);
  }
  HandlerThread::AnswerAndHelp([&] { Give(*reply, std::move(answer)); }, has_round);
}

bool StepReplies::HasRound(int round) const {
  absl::MutexLock lock(&mutex_);
  return has_ended_ || replies_.contains(round);
}

void StepReplies::SetReport(const StepReport& report) {
  auto record = std::make_unique<proto::StepReportRecord>();
  EncodeReport(report, record.get());
  absl::MutexLock lock(&mutex_);
  report_ = std::move(record);
}

void StepReplies::End(const Status& status, const std::vector<Tensor>& fetches) {
  absl::flat_hash_map<int, Reply> replies;
  std::vector<CarriedParcel> sent;
  std::unique_ptr<proto::StepReportRecord> report;
  {
    absl::MutexLock lock(&mutex_);
    if (has_ended_) return;
    has_ended_ = true;
    ended_ = status;
    report = std::move(report_);
    replies.swap(replies_);
    sent.swap(sent_);
  }
  // There is more than one if the part did not need the tensors of a round after all.
  bool has_given = false;
  for (const auto& [round, reply] : replies) {
    if (!status.ok() || round == kAbort || has_given) {
      GiveNothing(reply, status);
      continue;
    }
    has_given = true;
    Give(reply, AnswerOf(sent, shortens_, &fetches, report.get()));
  }
}

void StepReplies::EndUnlessBegun(const Status& error) {
  {
    absl::MutexLock lock(&mutex_);
    if (has_begun_) return;
  }
  End(error, {});
}

}  // namespace millstream
