// The exchanges of tensors that a task takes part in.
#ifndef MILLSTREAM_DISTRIBUTED_RUNTIME_EXCHANGE_TABLE_H_
#define MILLSTREAM_DISTRIBUTED_RUNTIME_EXCHANGE_TABLE_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/strings/string_view.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "distributed_runtime/collective_exchange.h"
#include "distributed_runtime/peers.h"
#include "distributed_runtime/rpc.h"
#include "framework/status.h"
#include "framework/steady_time.h"
#include "millstream/distributed_runtime/protos/step_messages.pb.h"

namespace millstream {

// By the numbers of their meetings. With each heartbeat, the tasks that exchanges need, or are kept
// for, are asked whether they are there. Thread-safe.
class ExchangeTable : public std::enable_shared_from_this<ExchangeTable> {
 public:
  // Whether the member of this task with that ticket waits for the answer about its meeting.
  using IsWaiting = std::function<bool(uint64_t ticket)>;

  // `task` is this one. `is_waiting` is called by Handle alone.
  ExchangeTable(std::string task, std::shared_ptr<Peers> peers, IsWaiting is_waiting)
      : task_(std::move(task)), peers_(std::move(peers)), is_waiting_(std::move(is_waiting)) {}

  // The exchange of a meeting. It begins with whoever comes first, a member or a request.
  std::shared_ptr<CollectiveExchange> Get(uint64_t meeting) ABSL_LOCKS_EXCLUDED(mutex_);
  // Ends the exchange of which this execution is a member that waits, if there is one.
  void Cancel(const void* ticket) ABSL_LOCKS_EXCLUDED(mutex_);
  // See CollectiveExchange::Missing.
  std::string Missing(const CollectiveSpec& spec, absl::string_view device) const
      ABSL_LOCKS_EXCLUDED(mutex_);
  // Called with each heartbeat, does not block. See CollectiveExchange::Beat.
  void Beat() ABSL_LOCKS_EXCLUDED(mutex_);
  // Ends with the error those whose members have no result, and those to come. Then waits until
  // other tasks have asked for all that this one owes them, or `deadline` (SteadyNow).
  void Close(const Status& error, absl::Time deadline) ABSL_LOCKS_EXCLUDED(mutex_);
  // Whether an exchange waits for a piece of that task.
  bool Awaits(absl::string_view task) const ABSL_LOCKS_EXCLUDED(mutex_);
  // Ends all with the error, also those to come.
  void Stop(const Status& error) ABSL_LOCKS_EXCLUDED(mutex_);
  size_t size() const ABSL_LOCKS_EXCLUDED(mutex_);
  // Those for which Close waits.
  size_t num_owing() const ABSL_LOCKS_EXCLUDED(mutex_);

  // Answers a request of another task. False if this is none of these requests.
  bool Handle(absl::string_view method, PayloadReader* request, const Reply& reply);

 private:
  using Exchanges = std::map<uint64_t, std::shared_ptr<CollectiveExchange>>;

  Exchanges All() const ABSL_LOCKS_EXCLUDED(mutex_);
  // Null if there is none.
  std::shared_ptr<CollectiveExchange> Find(uint64_t meeting) const ABSL_LOCKS_EXCLUDED(mutex_);
  void Forget(uint64_t meeting) ABSL_LOCKS_EXCLUDED(mutex_);
  void Ping(const std::string& task, const proto::PingExchangesRequest& request);
  void TakePong(const std::string& task, const proto::PingExchangesRequest& request,
                const proto::PingExchangesResponse& response);

  void OnPiece(PayloadReader* request, const Reply& reply);
  void OnLeave(PayloadReader* request, const Reply& reply);
  void OnPing(PayloadReader* request, const Reply& reply);
  // Whether the member of this task with the ticket is in the exchange of the meeting, or will be.
  bool TakesPart(uint64_t meeting, uint64_t ticket) const ABSL_LOCKS_EXCLUDED(mutex_);

  const std::string task_;
  const std::shared_ptr<Peers> peers_;
  const IsWaiting is_waiting_;

  mutable absl::Mutex mutex_;
  Exchanges exchanges_ ABSL_GUARDED_BY(mutex_);
  // Those for which Close waits.
  std::set<uint64_t> owing_ ABSL_GUARDED_BY(mutex_);
  SteadyCondVar has_given_;  // there are none any more
  Status stopped_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace millstream

#endif  // MILLSTREAM_DISTRIBUTED_RUNTIME_EXCHANGE_TABLE_H_
