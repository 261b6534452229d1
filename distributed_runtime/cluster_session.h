// Sessions of a cluster, as front ends see them.
#ifndef MILLSTREAM_DISTRIBUTED_RUNTIME_CLUSTER_SESSION_H_
#define MILLSTREAM_DISTRIBUTED_RUNTIME_CLUSTER_SESSION_H_

#include <memory>
#include <string>

#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "core/graph/graph.h"
#include "core/session/session.h"
#include "distributed_runtime/transport.h"
#include "framework/status.h"

namespace millstream {

// Creates a session of the master at `target`. `config` is a serialized ConfigProto. Errors are
// those of MasterClient::Connect. REQUIRES: `graph` outlives the session.
StatusOr<std::unique_ptr<Session>> CreateClusterSession(Graph* graph, absl::string_view target,
                                                        const std::string& config,
                                                        Transport* transport, absl::Time deadline);

}  // namespace millstream

#endif  // MILLSTREAM_DISTRIBUTED_RUNTIME_CLUSTER_SESSION_H_
