#include "distributed_runtime/loopback_transport.h"

#include <atomic>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/synchronization/notification.h"
#include "distributed_runtime/handler_thread.h"
#include "framework/steady_time.h"

namespace millstream {
namespace {

// Whichever of the response and Cancel comes first ends the call.
class LoopbackCall final : public Channel::Call {
 public:
  explicit LoopbackCall(Respond respond) : respond_(std::move(respond)) {}
  void Cancel() override { End(errors::Cancelled("the call was cancelled"), Payload()); }
  void End(const Status& status, Payload response) {
    if (has_ended_.exchange(true)) return;
    const Respond respond = std::move(respond_);
    respond(status, std::move(response));
  }

 private:
  std::atomic<bool> has_ended_{false};
  Respond respond_;
};

// The deadline is not watched: a handler of the same process answers.
class LoopbackChannel final : public Channel {
 public:
  LoopbackChannel(LoopbackTransport* transport, std::string address)
      : transport_(*transport), address_(std::move(address)) {}
  std::shared_ptr<Call> Start(absl::string_view method, Payload request, absl::Time deadline,
                              Respond respond) override {
    auto call = std::make_shared<LoopbackCall>(std::move(respond));
    const std::shared_ptr<RequestHandler> handler = transport_.Find(address_);
    if (handler == nullptr) {
      call->End(absl::UnavailableError(absl::StrCat("no server of this process is at ", address_)),
                Payload());
    } else {
      const HandlerThread::Scope nobody(nullptr);  // the caller waits for this thread
      handler->Handle(method, std::move(request), [call](const Status& status, Payload response) {
        call->End(status, std::move(response));
      });
    }
    return call;
  }

 private:
  LoopbackTransport& transport_;
  const std::string address_;
};

}  // namespace

std::string NormalAddress(const std::string& address) {
  const size_t colon = address.rfind(':');
  const absl::string_view host = absl::string_view(address).substr(0, colon);
  for (const char* local : {"127.0.0.1", "[::1]", "0.0.0.0", "[::]", ""}) {
    if (host == local) return absl::StrCat("localhost", address.substr(colon));
  }
  return address;
}

StatusOr<Payload> CallAndWait(Channel* channel, absl::string_view method, Payload request,
                              absl::Time deadline) {
  struct Result {
    absl::Mutex mutex;
    SteadyCondVar done;
    bool is_done ABSL_GUARDED_BY(mutex) = false;
    Status status ABSL_GUARDED_BY(mutex);
    Payload response ABSL_GUARDED_BY(mutex);
  };
  auto result = std::make_shared<Result>();
  channel->Start(method, std::move(request), deadline,
                 [result](const Status& status, Payload response) {
                   absl::MutexLock lock(&result->mutex);
                   result->status = status;
                   result->response = std::move(response);
                   result->is_done = true;
                   result->done.SignalAll();
                 });
  absl::MutexLock lock(&result->mutex);
  const auto is_done = [&]()
                           ABSL_EXCLUSIVE_LOCKS_REQUIRED(result->mutex) { return result->is_done; };
  if (!result->done.Await(&result->mutex, deadline, is_done)) {
    return absl::DeadlineExceededError(absl::StrCat("no answer to ", method));
  }
  MS_RETURN_IF_ERROR(result->status);
  return std::move(result->response);
}

class LoopbackTransport::Server final : public TransportServer {
 public:
  explicit Server(LoopbackTransport* transport, std::string address)
      : transport_(*transport), address_(std::move(address)) {}
  ~Server() override { transport_.Remove(address_); }
  const std::string& address() const override { return address_; }

 private:
  LoopbackTransport& transport_;
  const std::string address_;
};

LoopbackTransport* LoopbackTransport::Global() {
  static auto* const transport = new LoopbackTransport;
  return transport;
}

StatusOr<std::unique_ptr<TransportServer>> LoopbackTransport::Serve(
    const std::string& address, std::shared_ptr<RequestHandler> handler) {
  std::string name = NormalAddress(address);
  absl::MutexLock lock(&mutex_);
  if (absl::EndsWith(name, ":0")) {
    // No such port is open: the number only tells servers of this process apart.
    const std::string host = name.substr(0, name.size() - 1);
    while (handlers_.contains(name = absl::StrCat(host, next_port_))) ++next_port_;
  }
  if (!handlers_.try_emplace(name, std::move(handler)).second) {
    return absl::UnavailableError(absl::StrCat("the address ", address, " is in use"));
  }
  return std::make_unique<Server>(this, name);
}

StatusOr<std::shared_ptr<Channel>> LoopbackTransport::Connect(const std::string& address) {
  return std::make_shared<LoopbackChannel>(this, NormalAddress(address));
}

std::shared_ptr<RequestHandler> LoopbackTransport::Find(const std::string& address) {
  absl::MutexLock lock(&mutex_);
  const auto found = handlers_.find(NormalAddress(address));
  return found == handlers_.end() ? nullptr : found->second;
}

void LoopbackTransport::Remove(const std::string& address) {
  std::shared_ptr<RequestHandler> removed;  // destroyed without the lock
  absl::MutexLock lock(&mutex_);
  const auto found = handlers_.find(address);
  if (found == handlers_.end()) return;
  removed = std::move(found->second);
  handlers_.erase(found);
}

}  // namespace millstream
