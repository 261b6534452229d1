// The connections between tasks of one host.
#ifndef MILLSTREAM_DISTRIBUTED_RUNTIME_HOST_TRANSPORT_H_
#define MILLSTREAM_DISTRIBUTED_RUNTIME_HOST_TRANSPORT_H_

#include <memory>
#include <string>

#include "distributed_runtime/host_connection.h"
#include "distributed_runtime/transport.h"
#include "framework/status.h"

namespace millstream {

// A server of an address is also found by the address as a name that exists in the host's network
// namespace alone, without a file (an abstract unix socket). The kernel says who is at the other
// end: both sides talk to processes of the same user only. Thread-safe.

// Answers requests of this host. UNAVAILABLE if the name is taken. The server keeps the handler.
StatusOr<std::unique_ptr<TransportServer>> ServeOnHost(const std::string& address,
                                                       std::shared_ptr<RequestHandler> handler);
// Null if no server of this host and user has the address. Does not block.
std::shared_ptr<HostConnection> ConnectOnHost(const std::string& address);

}  // namespace millstream

#endif  // MILLSTREAM_DISTRIBUTED_RUNTIME_HOST_TRANSPORT_H_
