#include "distributed_runtime/network.h"

#include <dlfcn.h>
#include <unistd.h>

#include <utility>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "distributed_runtime/handler_thread.h"
#include "distributed_runtime/network_table.h"
#include "framework/buffer.h"
#include "framework/plugin/host_interfaces.h"
#include "framework/steady_time.h"

namespace millstream {
namespace {

// The library takes over the slices; each keeps its buffer alive.
std::vector<millstream_slice> Lend(const Payload& payload) {
  std::vector<millstream_slice> lent;
  lent.reserve(payload.slices().size());
  for (const Slice& slice : payload.slices()) {
    Buffer* const owner = slice.owner.get();
    owner->Ref();
    lent.push_back({slice.data, slice.size,
                    [](void* buffer) { static_cast<Buffer*>(buffer)->Unref(); }, owner});
  }
  return lent;
}

// Takes over the library's slices.
Payload Take(const millstream_slice* slices, size_t n) {
  Payload payload;
  for (size_t i = 0; i < n; ++i) {
    const millstream_slice one = slices[i];
    Slice slice;
    slice.data = one.data;
    slice.size = one.size;
    slice.owner = BorrowBuffer(const_cast<char*>(one.data), one.size, /*writable=*/false,
                               [one] { one.release(one.owner); });
    payload.Append(std::move(slice));
  }
  return payload;
}

// The calling thread is in the library's `help`.
thread_local bool t_is_helping = false;

// Takes messages on the calling thread. Handlers that are called meanwhile may not keep it.
void HelpBy(const millstream_network_table& table, absl::FunctionRef<bool()> is_done) {
  const HandlerThread::Scope nobody(nullptr);
  const bool outer = std::exchange(t_is_helping, true);
  table.help(
      [](void* user) -> int32_t {
        return (*static_cast<absl::FunctionRef<bool()>*>(user))() ? 1 : 0;
      },
      &is_done);
  t_is_helping = outer;
}

// A thread of the library, for the time of one request.
class NetworkThread final : public HandlerThread::Owner {
 public:
  explicit NetworkThread(const millstream_network_table* table) : table_(*table) {}
  void HandOver() override { table_.keep_thread(); }
  void Help(absl::FunctionRef<bool()> is_done) override { HelpBy(table_, is_done); }

 private:
  const millstream_network_table& table_;
};

class NetworkServer final : public TransportServer {
 public:
  NetworkServer(const millstream_network_table* table, std::shared_ptr<RequestHandler> handler)
      : table_(*table), handler_(std::move(handler)) {}
  ~NetworkServer() override {
    if (server_ != nullptr) table_.stop(server_);
  }
  const std::string& address() const override { return address_; }

  Status Start(const std::string& address) {
    int32_t port = 0;
    server_ = table_.serve(address.c_str(), &Handle, this, &port);
    if (server_ == nullptr) {
      return absl::UnavailableError(
          absl::StrCat("the address ", address, " is in use, or cannot be used"));
    }
    address_ = absl::StrCat(address.substr(0, address.rfind(':') + 1), port);
    if (absl::StartsWith(address, "unix:")) address_ = address;
    return absl::OkStatus();
  }

 private:
  static void Handle(void* user, void* call, const char* method, millstream_slice* slices,
                     size_t n) {
    auto* const server = static_cast<NetworkServer*>(user);
    const auto respond = [table = &server->table_, call](const Status& status, Payload response) {
      std::vector<millstream_slice> lent = Lend(response);
      table->respond(call, lent.data(), lent.size());
    };
    if (t_is_helping) return server->handler_->Handle(method, Take(slices, n), respond);
    NetworkThread thread(&server->table_);
    const HandlerThread::Scope scope(&thread);
    server->handler_->Handle(method, Take(slices, n), respond);
  }

  const millstream_network_table& table_;
  const std::shared_ptr<RequestHandler> handler_;
  void* server_ = nullptr;
  std::string address_;
};

class NetworkCall final : public Channel::Call {
 public:
  NetworkCall(const millstream_network_table* table, void* call) : table_(*table), call_(call) {}
  ~NetworkCall() override { table_.free_call(call_); }
  void Cancel() override { table_.cancel(call_); }

 private:
  const millstream_network_table& table_;
  void* const call_;
};

// By these a task learns that another one is there. Behind a large tensor on a slow network they
// would come too late.
bool IsUrgent(absl::string_view method) {
  return method == "Heartbeat" || method == "KeepSession" || method == "PingExchanges" ||
         method == "PingMember" || method == "MissingMembers" || method == "Farewell" ||
         method == "WatchMaster";
}

class NetworkChannel final : public Channel {
 public:
  NetworkChannel(const millstream_network_table* table, std::string address)
      : table_(*table), address_(std::move(address)), channel_(table_.connect(address_.c_str())) {}
  ~NetworkChannel() override { table_.disconnect(channel_); }

  std::shared_ptr<Call> Start(absl::string_view method, Payload request, absl::Time deadline,
                              Respond respond) override {
    std::vector<millstream_slice> lent = Lend(request);
    // The library takes a time of the system's clock, and waits by a steady one from here on.
    const int64_t deadline_ns = deadline == absl::InfiniteFuture()
                                    ? -1
                                    : absl::ToUnixNanos(absl::Now() + (deadline - SteadyNow()));
    auto* const waiting = new Waiting{std::move(respond), address_};
    void* const call = table_.start(channel_, std::string(method).c_str(), IsUrgent(method) ? 1 : 0,
                                    lent.data(), lent.size(), deadline_ns, &Done, waiting);
    return std::make_shared<NetworkCall>(&table_, call);
  }
  void Help(absl::FunctionRef<bool()> is_done) override { HelpBy(table_, is_done); }

 private:
  struct Waiting {
    Respond respond;
    std::string address;
  };

  static void Done(void* user, int32_t code, const char* message, millstream_slice* slices,
                   size_t n) {
    const std::unique_ptr<Waiting> waiting(static_cast<Waiting*>(user));
    Payload response = Take(slices, n);
    if (code == 0) return waiting->respond(absl::OkStatus(), std::move(response));
    const std::string text = absl::StrCat("no answer from ", waiting->address, ": ", message);
    const bool is_lost = absl::string_view(message) == MILLSTREAM_NETWORK_PEER_LOST;
    waiting->respond(is_lost ? PeerLost(text) : Status(static_cast<absl::StatusCode>(code), text),
                     Payload());
  }

  const millstream_network_table& table_;
  const std::string address_;
  void* const channel_;
};

class NetworkTransport final : public Transport {
 public:
  explicit NetworkTransport(const millstream_network_table* table) : table_(*table) {}
  StatusOr<std::unique_ptr<TransportServer>> Serve(
      const std::string& address, std::shared_ptr<RequestHandler> handler) override {
    auto server = std::make_unique<NetworkServer>(&table_, std::move(handler));
    MS_RETURN_IF_ERROR(server->Start(address));
    return std::unique_ptr<TransportServer>(std::move(server));
  }
  StatusOr<std::shared_ptr<Channel>> Connect(const std::string& address) override {
    return std::make_shared<NetworkChannel>(&table_, address);
  }

 private:
  const millstream_network_table& table_;
};

}  // namespace

StatusOr<std::unique_ptr<Transport>> OpenNetwork(const std::string& path) {
  if (path.empty() || access(path.c_str(), F_OK) != 0) {
    return errors::Unimplemented(
        "the library that connects processes is not installed (pip install millstream[cluster]), "
        "so that a cluster can only have tasks of one host without credentials; expected it at '",
        path, "'");
  }
  // It stays open: threads of it may run until the process ends.
  void* const library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
  if (library == nullptr) {
    return errors::FailedPrecondition("cannot open ", path, ": ", dlerror());
  }
  const auto get =
      reinterpret_cast<millstream_get_network>(dlsym(library, MILLSTREAM_NETWORK_SYMBOL));
  return NetworkOf(get == nullptr ? nullptr : get(), path);
}

StatusOr<std::unique_ptr<Transport>> NetworkOf(const millstream_network_table* table,
                                               const std::string& path) {
  if (table == nullptr) {
    return errors::FailedPrecondition(path, " is no library that connects processes");
  }
  // The version stands first in each table, and nothing else need be where it is in this one.
  if (table->version != kMillstreamNetworkVersion) {
    return errors::FailedPrecondition(
        "the library that connects processes, ", path, ", has the version ", table->version,
        ", and this Millstream needs version ", kMillstreamNetworkVersion,
        "; install millstream[cluster] of the version of millstream");
  }
  table->set_log([](const char* text) { HostLog(MS_LOG_WARNING, text); });
  return std::make_unique<NetworkTransport>(table);
}

}  // namespace millstream
