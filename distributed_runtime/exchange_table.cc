#include "distributed_runtime/exchange_table.h"

#include <set>

#include "absl/time/time.h"
#include "distributed_runtime/tensor_coding.h"
#include "framework/steady_time.h"

namespace millstream {

std::shared_ptr<CollectiveExchange> ExchangeTable::Get(uint64_t meeting) {
  std::shared_ptr<CollectiveExchange> result;
  Status stopped;
  {
    absl::MutexLock lock(&mutex_);
    std::shared_ptr<CollectiveExchange>& exchange = exchanges_[meeting];
    if (exchange == nullptr) {
      const auto forget = [weak = weak_from_this(), meeting] {
        if (const std::shared_ptr<ExchangeTable> self = weak.lock()) self->Forget(meeting);
      };
      exchange = std::make_shared<CollectiveExchange>(meeting, task_, peers_, forget);
    }
    result = exchange;
    stopped = stopped_;
  }
  if (!stopped.ok()) result->Fail(stopped);
  return result;
}

ExchangeTable::Exchanges ExchangeTable::All() const {
  absl::MutexLock lock(&mutex_);
  return exchanges_;
}

std::shared_ptr<CollectiveExchange> ExchangeTable::Find(uint64_t meeting) const {
  absl::MutexLock lock(&mutex_);
  const auto found = exchanges_.find(meeting);
  return found == exchanges_.end() ? nullptr : found->second;
}

void ExchangeTable::Forget(uint64_t meeting) {
  std::shared_ptr<CollectiveExchange> forgotten;  // destroyed without the lock
  absl::MutexLock lock(&mutex_);
  const auto found = exchanges_.find(meeting);
  if (found == exchanges_.end()) return;
  forgotten = std::move(found->second);
  exchanges_.erase(found);
}

void ExchangeTable::Cancel(const void* ticket) {
  for (const auto& [meeting, exchange] : All()) {
    if (exchange->Cancel(ticket)) return;
  }
}

std::string ExchangeTable::Missing(const CollectiveSpec& spec, absl::string_view device) const {
  for (const auto& [meeting, exchange] : All()) {
    std::string missing = exchange->Missing(spec, device);
    if (!missing.empty()) return missing;
  }
  return "";
}

void ExchangeTable::Stop(const Status& error) {
  Exchanges exchanges;
  {
    absl::MutexLock lock(&mutex_);
    stopped_ = error;
    exchanges.swap(exchanges_);
  }
  for (const auto& [meeting, exchange] : exchanges) exchange->Fail(error);
}

size_t ExchangeTable::size() const {
  absl::MutexLock lock(&mutex_);
  return exchanges_.size();
}

// ---- Whether the others are there ----

void ExchangeTable::Beat() {
  std::map<std::string, proto::PingExchangesRequest> requests;  // by task
  for (const auto& [meeting, exchange] : All()) {
    const CollectiveExchange::Watch watch = exchange->Beat();
    if (watch.is_over) Forget(meeting);
    for (const std::string& task : watch.tasks) requests[task].add_meetings(meeting);
  }
  for (const auto& [task, request] : requests) Ping(task, request);
}

void ExchangeTable::Ping(const std::string& task, const proto::PingExchangesRequest& request) {
  const StatusOr<std::shared_ptr<Channel>> channel = peers_->ChannelTo(task);
  if (!channel.ok()) return;
  StartRequest(
      channel->get(), "PingExchanges", EncodeMessage(request), SteadyNow() + absl::Seconds(10),
      [weak = weak_from_this(), task, request](const Status& status, PayloadReader* response) {
        proto::PingExchangesResponse message;
        if (!status.ok() || !DecodeMessage(response, &message).ok()) return;
        const std::shared_ptr<ExchangeTable> self = weak.lock();
        if (self != nullptr) self->TakePong(task, request, message);
      });
}

void ExchangeTable::TakePong(const std::string& task, const proto::PingExchangesRequest& request,
                             const proto::PingExchangesResponse& response) {
  const std::set<uint64_t> known(response.known().begin(), response.known().end());
  for (const uint64_t meeting : request.meetings()) {
    const std::shared_ptr<CollectiveExchange> exchange = Find(meeting);
    if (exchange != nullptr) exchange->Hear(task, known.count(meeting) > 0);
  }
}

// ---- Requests of other tasks ----

bool ExchangeTable::Handle(absl::string_view method, PayloadReader* request, const Reply& reply) {
  if (method == "CollectivePiece") {
    OnPiece(request, reply);
  } else if (method == "LeaveExchange") {
    OnLeave(request, reply);
  } else if (method == "PingExchanges") {
    OnPing(request, reply);
  } else {
    return false;
  }
  return true;
}

void ExchangeTable::OnPiece(PayloadReader* request, const Reply& reply) {
  proto::CollectivePieceRequest message;
  const Status status = DecodeMessage(request, &message);
  if (!status.ok()) return reply.Give(status);
  Get(message.meeting())->Ask(message.of_result(), message.asker(), reply);
}

void ExchangeTable::OnLeave(PayloadReader* request, const Reply& reply) {
  proto::LeaveExchangeRequest message;
  const Status status = DecodeMessage(request, &message);
  if (!status.ok()) return reply.Give(status);
  // Members that are still to come get the error when they ask.
  const std::shared_ptr<CollectiveExchange> exchange = Find(message.meeting());
  if (exchange != nullptr) exchange->Leave(message.asker());
  reply.Give(absl::OkStatus());
}

void ExchangeTable::OnPing(PayloadReader* request, const Reply& reply) {
  proto::PingExchangesRequest message;
  const Status status = DecodeMessage(request, &message);
  if (!status.ok()) return reply.Give(status);
  proto::PingExchangesResponse response;
  for (const uint64_t meeting : message.meetings()) {
    const std::shared_ptr<CollectiveExchange> exchange = Find(meeting);
    if (exchange != nullptr && exchange->IsUnderWay()) response.add_known(meeting);
  }
  reply.Give(EncodeMessage(response));
}

}  // namespace millstream
