#include "distributed_runtime/testing/faulty_transport.h"

#include <algorithm>
#include <atomic>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace millstream {
namespace {

// Whichever of the response and the break of the connection comes first ends the request.
class OpenRequest {
 public:
  explicit OpenRequest(Respond respond) : respond_(std::move(respond)) {}
  void End(const Status& status, Payload response) {
    if (has_ended_.exchange(true)) return;
    const Respond respond = std::move(respond_);
    respond(status, std::move(response));
  }

 private:
  std::atomic<bool> has_ended_{false};
  Respond respond_;
};

}  // namespace

class FaultyTransport::State {
 public:
  // A request that Break may end.
  std::shared_ptr<OpenRequest> Open(absl::string_view method, Respond respond)
      ABSL_LOCKS_EXCLUDED(mutex_) {
    auto request = std::make_shared<OpenRequest>(std::move(respond));
    absl::MutexLock lock(&mutex_);
    const auto is_gone = [](const Opened& one) { return one.request.expired(); };
    opened_.erase(std::remove_if(opened_.begin(), opened_.end(), is_gone), opened_.end());
    opened_.push_back({std::string(method), request});
    return request;
  }
  void Break(absl::string_view method) ABSL_LOCKS_EXCLUDED(mutex_) {
    std::vector<std::shared_ptr<OpenRequest>> broken;
    {
      absl::MutexLock lock(&mutex_);
      for (const Opened& one : opened_) {
        if (one.method != method) continue;
        if (std::shared_ptr<OpenRequest> request = one.request.lock()) {
          broken.push_back(std::move(request));
        }
      }
    }
    for (const auto& request : broken) request->End(PeerLost("the connection broke"), Payload());
  }
  void Set(Fault fault) ABSL_LOCKS_EXCLUDED(mutex_) {
    absl::MutexLock lock(&mutex_);
    fault_ = fault;
    if (fault == Fault::kLost) ++losses_;
  }
  void LoseFrom(absl::string_view method) ABSL_LOCKS_EXCLUDED(mutex_) {
    absl::MutexLock lock(&mutex_);
    loses_from_ = std::string(method);
  }
  void HoldResponses(absl::string_view method) ABSL_LOCKS_EXCLUDED(mutex_) {
    absl::MutexLock lock(&mutex_);
    holds_ = std::string(method);
  }
  // True if the response is held; ReleaseResponses calls `give` then.
  bool Hold(absl::string_view method, std::function<void()> give) ABSL_LOCKS_EXCLUDED(mutex_) {
    absl::MutexLock lock(&mutex_);
    if (method != holds_) return false;
    held_.push_back(std::move(give));
    return true;
  }
  void HoldRequests(absl::string_view method) ABSL_LOCKS_EXCLUDED(mutex_) {
    absl::MutexLock lock(&mutex_);
    holds_requests_ = std::string(method);
  }
  // True if the request is held; ReleaseRequests calls `send` then.
  bool HoldRequest(absl::string_view method, const std::function<void()>& send)
      ABSL_LOCKS_EXCLUDED(mutex_) {
    absl::MutexLock lock(&mutex_);
    if (method != holds_requests_) return false;
    held_requests_.push_back(send);
    return true;
  }
  void ReleaseRequests() ABSL_LOCKS_EXCLUDED(mutex_) {
    std::vector<std::function<void()>> held;
    {
      absl::MutexLock lock(&mutex_);
      holds_requests_.clear();
      held.swap(held_requests_);
    }
    for (const std::function<void()>& send : held) send();
  }
  void ReleaseResponses() ABSL_LOCKS_EXCLUDED(mutex_) {
    std::vector<std::function<void()>> held;
    {
      absl::MutexLock lock(&mutex_);
      holds_.clear();
      held.swap(held_);
    }
    for (const std::function<void()>& give : held) give();
  }
  int num_held() const ABSL_LOCKS_EXCLUDED(mutex_) {
    absl::MutexLock lock(&mutex_);
    return static_cast<int>(held_.size());
  }
  // Counts a request. `losses` is for LosesResponse.
  Fault Note(absl::string_view method, int* losses) ABSL_LOCKS_EXCLUDED(mutex_) {
    absl::MutexLock lock(&mutex_);
    ++counts_[std::string(method)];
    if (method == loses_from_) {
      fault_ = Fault::kLost;
      ++losses_;
      loses_from_.clear();
    }
    *losses = losses_;
    return fault_;
  }
  bool LosesResponse(int losses) const ABSL_LOCKS_EXCLUDED(mutex_) {
    absl::MutexLock lock(&mutex_);
    return losses != losses_;
  }
  int Count(absl::string_view method) const ABSL_LOCKS_EXCLUDED(mutex_) {
    absl::MutexLock lock(&mutex_);
    const auto found = counts_.find(method);
    return found == counts_.end() ? 0 : found->second;
  }
  void ForgetCounts() ABSL_LOCKS_EXCLUDED(mutex_) {
    absl::MutexLock lock(&mutex_);
    counts_.clear();
  }

 private:
  struct Opened {
    std::string method;
    std::weak_ptr<OpenRequest> request;
  };

  mutable absl::Mutex mutex_;
  std::vector<Opened> opened_ ABSL_GUARDED_BY(mutex_);
  Fault fault_ ABSL_GUARDED_BY(mutex_) = Fault::kNone;
  int losses_ ABSL_GUARDED_BY(mutex_) = 0;          // how often messages began to be lost
  std::string loses_from_ ABSL_GUARDED_BY(mutex_);  // a method; empty: of none
  std::string holds_ ABSL_GUARDED_BY(mutex_);       // likewise
  std::vector<std::function<void()>> held_ ABSL_GUARDED_BY(mutex_);
  std::string holds_requests_ ABSL_GUARDED_BY(mutex_);  // likewise
  std::vector<std::function<void()>> held_requests_ ABSL_GUARDED_BY(mutex_);
  absl::flat_hash_map<std::string, int> counts_ ABSL_GUARDED_BY(mutex_);
};

namespace {

class NoCall final : public Channel::Call {
 public:
  void Cancel() override {}
};

class FaultyChannel final : public Channel {
 public:
  FaultyChannel(std::shared_ptr<Channel> inner, std::shared_ptr<FaultyTransport::State> state)
      : inner_(std::move(inner)), state_(std::move(state)) {}

  std::shared_ptr<Call> Start(absl::string_view method, Payload request, absl::Time deadline,
                              Respond respond) override {
    int losses = 0;
    switch (state_->Note(method, &losses)) {
      case Fault::kNone: break;
      case Fault::kRefused:
        respond(absl::UnavailableError("the message was refused"), Payload());
        return std::make_shared<NoCall>();
      case Fault::kBroken:
        respond(PeerLost("the connection broke"), Payload());
        return std::make_shared<NoCall>();
      case Fault::kLost: return std::make_shared<NoCall>();
    }
    const std::shared_ptr<OpenRequest> open = state_->Open(method, std::move(respond));
    const auto take = [state = state_, losses, name = std::string(method), open](
                          const Status& status, Payload response) {
      if (state->LosesResponse(losses)) return;
      const auto give = [open, status, response] { open->End(status, response); };
      if (!state->Hold(name, give)) give();
    };
    const auto send = [inner = inner_, name = std::string(method), request, deadline, take] {
      inner->Start(name, request, deadline, take);
    };
    if (state_->HoldRequest(method, send)) return std::make_shared<NoCall>();
    return inner_->Start(method, std::move(request), deadline, take);
  }

 private:
  const std::shared_ptr<Channel> inner_;
  const std::shared_ptr<FaultyTransport::State> state_;
};

}  // namespace

FaultyTransport::FaultyTransport(Transport* inner)
    : inner_(*inner), state_(std::make_shared<State>()) {}

StatusOr<std::unique_ptr<TransportServer>> FaultyTransport::Serve(
    const std::string& address, std::shared_ptr<RequestHandler> handler) {
  return inner_.Serve(address, std::move(handler));
}

StatusOr<std::shared_ptr<Channel>> FaultyTransport::Connect(const std::string& address) {
  MS_ASSIGN_OR_RETURN(std::shared_ptr<Channel> channel, inner_.Connect(address));
  return std::make_shared<FaultyChannel>(std::move(channel), state_);
}

void FaultyTransport::Set(Fault fault) { state_->Set(fault); }

void FaultyTransport::LoseFrom(absl::string_view method) { state_->LoseFrom(method); }

void FaultyTransport::HoldResponses(absl::string_view method) { state_->HoldResponses(method); }

void FaultyTransport::ReleaseResponses() { state_->ReleaseResponses(); }

int FaultyTransport::num_held() const { return state_->num_held(); }

void FaultyTransport::HoldRequests(absl::string_view method) { state_->HoldRequests(method); }

void FaultyTransport::ReleaseRequests() { state_->ReleaseRequests(); }

void FaultyTransport::Break(absl::string_view method) { state_->Break(method); }

int FaultyTransport::Count(absl::string_view method) const { return state_->Count(method); }

void FaultyTransport::ForgetCounts() { state_->ForgetCounts(); }

}  // namespace millstream
