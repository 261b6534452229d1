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
  if (owing_.erase(meeting) > 0 && owing_.empty()) has_given_.SignalAll();
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

void ExchangeTable::Close(const Status& error, absl::Time deadline) {
  {
    absl::MutexLock lock(&mutex_);
    stopped_ = error;
  }
  std::set<uint64_t> owing;
  for (const auto& [meeting, exchange] : All()) {
    exchange->Fail(error);  // which does nothing to one that owes something
    if (exchange->Owes()) owing.insert(meeting);
  }
  absl::MutexLock lock(&mutex_);
  // Some may have been forgotten meanwhile.
  for (const uint64_t meeting : owing) {
    if (exchanges_.count(meeting) > 0) owing_.insert(meeting);
  }
  const auto has_given = [this]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) { return owing_.empty(); };
  has_given_.Await(&mutex_, deadline, has_given);
}

bool ExchangeTable::Awaits(absl::string_view task) const {
  for (const auto& [meeting, exchange] : All()) {
    if (exchange->Awaits(task)) return true;
  }
  return false;
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

size_t ExchangeTable::num_owing() const {
  absl::MutexLock lock(&mutex_);
  return owing_.size();
}

// ---- Whether the others are there ----

void ExchangeTable::Beat() {
  std::map<std::string, proto::PingExchangesRequest> requests;  // by task
  for (const auto& [meeting, exchange] : All()) {
    const CollectiveExchange::Watch watch = exchange->Beat();
    if (watch.is_over) Forget(meeting);
    for (const CollectiveExchange::Watch::Watched& watched : watch.tasks) {
      proto::PingExchangesRequest& request = requests[watched.task];
      request.add_meetings(meeting);
      request.add_tickets(watched.ticket);
    }
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
  if (message.tickets_size() != message.meetings_size()) {
    return reply.Give(errors::InvalidArgument("a question about ", message.meetings_size(),
                                              " exchanges has ", message.tickets_size(),
                                              " tickets"));
  }
  proto::PingExchangesResponse response;
  for (int i = 0; i < message.meetings_size(); ++i) {
    if (TakesPart(message.meetings(i), message.tickets(i))) response.add_known(message.meetings(i));
  }
  reply.Give(EncodeMessage(response));
}

// A member whose answer is late knows nothing of the meeting as yet.
bool ExchangeTable::TakesPart(uint64_t meeting, uint64_t ticket) const {
  const std::shared_ptr<CollectiveExchange> exchange = Find(meeting);
  if (exchange != nullptr && exchange->IsUnderWay()) return true;
  return is_waiting_(ticket) && (exchange == nullptr || exchange->Expect());
}

}  // namespace millstream
