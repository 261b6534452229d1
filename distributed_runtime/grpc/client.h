// Calls to other processes.
#ifndef MILLSTREAM_DISTRIBUTED_RUNTIME_GRPC_CLIENT_H_
#define MILLSTREAM_DISTRIBUTED_RUNTIME_GRPC_CLIENT_H_

#include "distributed_runtime/network_table.h"

namespace millstream::network {

// The functions of the table.
void* Connect(const char* address);
void Disconnect(void* channel);
void* StartCall(void* channel, const char* method, int32_t is_urgent, millstream_slice* slices,
                size_t n, int64_t deadline_ns, millstream_call_done done, void* user);
void CancelCall(void* call);
void FreeCall(void* call);

}  // namespace millstream::network

#endif  // MILLSTREAM_DISTRIBUTED_RUNTIME_GRPC_CLIENT_H_
