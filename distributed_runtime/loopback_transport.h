// The transport between tasks of one process: no bytes are copied.
#ifndef MILLSTREAM_DISTRIBUTED_RUNTIME_LOOPBACK_TRANSPORT_H_
#define MILLSTREAM_DISTRIBUTED_RUNTIME_LOOPBACK_TRANSPORT_H_

#include <memory>
#include <string>

#include "absl/base/thread_annotations.h"
#include "absl/container/flat_hash_map.h"
#include "absl/synchronization/mutex.h"
#include "distributed_runtime/transport.h"

namespace millstream {

// The same text for all names of this machine by which its servers are called: "localhost:PORT".
std::string NormalAddress(const std::string& address);

// The thread that calls also handles the request.
class LoopbackTransport final : public Transport {
 public:
  static LoopbackTransport* Global();  // never destroyed

  StatusOr<std::unique_ptr<TransportServer>> Serve(
      const std::string& address, std::shared_ptr<RequestHandler> handler) override;
  StatusOr<std::shared_ptr<Channel>> Connect(const std::string& address) override;
  // The handler at the address; null if no server of this process has it.
  std::shared_ptr<RequestHandler> Find(const std::string& address) ABSL_LOCKS_EXCLUDED(mutex_);

 private:
  class Server;
  void Remove(const std::string& address) ABSL_LOCKS_EXCLUDED(mutex_);

  absl::Mutex mutex_;
  absl::flat_hash_map<std::string, std::shared_ptr<RequestHandler>> handlers_
      ABSL_GUARDED_BY(mutex_);
  int next_port_ ABSL_GUARDED_BY(mutex_) = 1;
};

}  // namespace millstream

#endif  // MILLSTREAM_DISTRIBUTED_RUNTIME_LOOPBACK_TRANSPORT_H_
