#include "distributed_runtime/host_transport.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstring>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/strings/str_cat.h"
#include "absl/synchronization/mutex.h"
#include "core/graph/fork_guard.h"
#include "distributed_runtime/loopback_transport.h"
#include "distributed_runtime/pulse.h"
#include "distributed_runtime/thread_cache.h"

namespace millstream {
namespace {

constexpr int kMostWaiting = 128;  // for accept
constexpr int kPauseMs = 100;

// Sets the name of an address. False if it is too long.
bool SetName(const std::string& address, sockaddr_un* name, socklen_t* size) {
  const std::string text = absl::StrCat("millstream ", NormalAddress(address));
  *name = sockaddr_un{};
  name->sun_family = AF_UNIX;
  if (text.size() + 1 > sizeof(name->sun_path)) return false;
  std::memcpy(name->sun_path + 1, text.data(), text.size());  // behind a zero: no file
  *size = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + text.size());
  return true;
}

bool IsOfThisUser(int socket) {
  ucred peer{};
  socklen_t size = sizeof(peer);
  return getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &peer, &size) == 0 && peer.uid == geteuid();
}

// The heart of the connections of this process. Never destroyed.
class Pinger {
 public:
  static Pinger* Global() {
    static auto* const pinger = new Pinger;
    return pinger;
  }
  void Add(std::weak_ptr<HostConnection> connection) ABSL_LOCKS_EXCLUDED(mutex_) {
    absl::MutexLock lock(&mutex_);
    connections_.push_back(std::move(connection));
  }

 private:
  Pinger() : pulse_(kHeartbeatPeriod, [this] { Beat(); }) {}
  void Beat() ABSL_LOCKS_EXCLUDED(mutex_) {
    std::vector<std::shared_ptr<HostConnection>> present;
    {
      absl::MutexLock lock(&mutex_);
      const auto is_gone = [&present](const std::weak_ptr<HostConnection>& one) {
        std::shared_ptr<HostConnection> connection = one.lock();
        if (connection == nullptr) return true;
        present.push_back(std::move(connection));
        return false;
      };
      connections_.erase(std::remove_if(connections_.begin(), connections_.end(), is_gone),
                         connections_.end());
    }
    for (const std::shared_ptr<HostConnection>& connection : present) connection->Beat();
  }

  absl::Mutex mutex_;
  std::vector<std::weak_ptr<HostConnection>> connections_ ABSL_GUARDED_BY(mutex_);
  const Pulse pulse_;
};

// The connections of a server, and the thread that accepts them.
class Acceptor : public std::enable_shared_from_this<Acceptor> {
 public:
  Acceptor(int socket, std::string address, std::shared_ptr<RequestHandler> handler)
      : socket_(socket), address_(std::move(address)), handler_(std::move(handler)) {}

  void Begin() {
    ThreadCache::Global()->Run([self = shared_from_this()] { self->AcceptAll(); });
  }
  // Returns when no request is passed to the handler any more. Called once.
  void Stop() ABSL_LOCKS_EXCLUDED(mutex_) {
    // A child shares the socket with its parent, and has none of the threads.
    if (ForkGuard::Forked()) return;
    shutdown(socket_, SHUT_RDWR);
    std::vector<std::shared_ptr<HostConnection>> connections;
    {
      absl::MutexLock lock(&mutex_);
      is_stopped_ = true;
      connections = connections_;
    }
    for (const std::shared_ptr<HostConnection>& connection : connections) connection->Shut();
    absl::MutexLock lock(&mutex_);
    mutex_.Await(absl::Condition(this, &Acceptor::IsIdle));
    close(socket_);
  }

 private:
  void AcceptAll() ABSL_LOCKS_EXCLUDED(mutex_) {
    while (!IsStopped()) {
      const int accepted = accept4(socket_, nullptr, nullptr, SOCK_CLOEXEC);
      if (accepted >= 0) {
        Add(accepted);
      } else if (errno == EMFILE || errno == ENFILE) {
        poll(nullptr, 0, kPauseMs);  // others may close some
      } else if (errno != EINTR && errno != ECONNABORTED) {
        break;
      }
    }
    absl::MutexLock lock(&mutex_);
    accepts_ = false;
  }
  // The system looks for a free descriptor first, and says that there is none also of a socket that
  // was shut.
  bool IsStopped() ABSL_LOCKS_EXCLUDED(mutex_) {
    absl::MutexLock lock(&mutex_);
    return is_stopped_;
  }
  void Add(int accepted) ABSL_LOCKS_EXCLUDED(mutex_) {
    if (!IsOfThisUser(accepted)) {
      close(accepted);
      return;
    }
    const auto connection = std::make_shared<HostConnection>(accepted, address_, handler_);
    {
      absl::MutexLock lock(&mutex_);
      if (is_stopped_) return;
      connections_.push_back(connection);
    }
    connection->Begin([self = shared_from_this(), raw = connection.get()] { self->Remove(raw); });
  }
  void Remove(HostConnection* connection) ABSL_LOCKS_EXCLUDED(mutex_) {
    std::shared_ptr<HostConnection> removed;  // destroyed without the lock
    absl::MutexLock lock(&mutex_);
    const auto found = std::find_if(connections_.begin(), connections_.end(),
                                    [connection](const std::shared_ptr<HostConnection>& one) {
                                      return one.get() == connection;
                                    });
    removed = std::move(*found);
    connections_.erase(found);
  }
  bool IsIdle() const ABSL_SHARED_LOCKS_REQUIRED(mutex_) {
    return !accepts_ && connections_.empty();
  }

  const int socket_;
  const std::string address_;
  const std::shared_ptr<RequestHandler> handler_;
  absl::Mutex mutex_;
  bool accepts_ ABSL_GUARDED_BY(mutex_) = true;
  bool is_stopped_ ABSL_GUARDED_BY(mutex_) = false;
  std::vector<std::shared_ptr<HostConnection>> connections_ ABSL_GUARDED_BY(mutex_);
};

class HostServer final : public TransportServer {
 public:
  HostServer(std::shared_ptr<Acceptor> acceptor, std::string address)
      : acceptor_(std::move(acceptor)), address_(std::move(address)) {}
  ~HostServer() override { acceptor_->Stop(); }
  const std::string& address() const override { return address_; }

 private:
  const std::shared_ptr<Acceptor> acceptor_;
  const std::string address_;
};

}  // namespace

StatusOr<std::unique_ptr<TransportServer>> ServeOnHost(const std::string& address,
                                                       std::shared_ptr<RequestHandler> handler) {
  sockaddr_un name;
  socklen_t size = 0;
  if (!SetName(address, &name, &size)) return errors::InvalidArgument(address, " is too long");
  const int listening = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (listening < 0 || bind(listening, reinterpret_cast<const sockaddr*>(&name), size) != 0 ||
      listen(listening, kMostWaiting) != 0) {
    const std::string cause = std::strerror(errno);
    if (listening >= 0) close(listening);
    return absl::UnavailableError(
        absl::StrCat("the name of ", address, " on this host cannot be used: ", cause));
  }
  const auto acceptor = std::make_shared<Acceptor>(listening, address, std::move(handler));
  acceptor->Begin();
  return std::make_unique<HostServer>(acceptor, address);
}

std::shared_ptr<HostConnection> ConnectOnHost(const std::string& address) {
  sockaddr_un name;
  socklen_t size = 0;
  if (!SetName(address, &name, &size)) return nullptr;
  // It does not block to connect, and does to read.
  const int connected = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (connected < 0) return nullptr;
  if (connect(connected, reinterpret_cast<const sockaddr*>(&name), size) != 0 ||
      !IsOfThisUser(connected) || fcntl(connected, F_SETFL, 0) != 0) {
    close(connected);
    return nullptr;
  }
  auto connection = std::make_shared<HostConnection>(connected, address, nullptr);
  connection->Begin(nullptr);
  Pinger::Global()->Add(connection);
  return connection;
}

}  // namespace millstream
