// What gRPC says about its peers, in the runtime's log.
#ifndef MILLSTREAM_DISTRIBUTED_RUNTIME_GRPC_LOG_H_
#define MILLSTREAM_DISTRIBUTED_RUNTIME_GRPC_LOG_H_

#include "distributed_runtime/network_table.h"

namespace millstream::network {

// A function of the table. gRPC writes a line for each connection that it refuses, and anybody can
// open many. From now on each kind of error (each place in gRPC's code) is passed on once, but not
// if the user has set GRPC_VERBOSITY, and wants to see all that gRPC says.
void SetLog(millstream_network_log log);

// Passes on a message of ours, once for each place in the code that the caller names. Thread-safe.
void LogOnce(const char* message, const char* file, int line);

}  // namespace millstream::network

#endif  // MILLSTREAM_DISTRIBUTED_RUNTIME_GRPC_LOG_H_
