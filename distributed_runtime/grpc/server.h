// Requests of other processes.
#ifndef MILLSTREAM_DISTRIBUTED_RUNTIME_GRPC_SERVER_H_
#define MILLSTREAM_DISTRIBUTED_RUNTIME_GRPC_SERVER_H_

#include "distributed_runtime/network_table.h"

namespace millstream::network {

// The functions of the table.
void* Serve(const char* address, millstream_handle_request handle, void* user, int32_t* port);
// The same, but a connection on which no stream is open is ended after so long.
void* ServeWithin(int idle_ms, const char* address, millstream_handle_request handle, void* user,
                  int32_t* port);
void RespondTo(void* call, millstream_slice* slices, size_t n);
void StopServer(void* server);

}  // namespace millstream::network

#endif  // MILLSTREAM_DISTRIBUTED_RUNTIME_GRPC_SERVER_H_
