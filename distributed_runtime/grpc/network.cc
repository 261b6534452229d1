// The table of functions (network_table.h) on gRPC.
#include "distributed_runtime/grpc/client.h"
#include "distributed_runtime/grpc/log.h"
#include "distributed_runtime/grpc/queue.h"
#include "distributed_runtime/grpc/server.h"
#include "distributed_runtime/network_table.h"

extern "C" const millstream_network_table* millstream_network(void) {
  static const millstream_network_table table = {
      kMillstreamNetworkVersion,       &millstream::network::Serve,
      &millstream::network::RespondTo, &millstream::network::StopServer,
      &millstream::network::Connect,   &millstream::network::Disconnect,
      &millstream::network::StartCall, &millstream::network::CancelCall,
      &millstream::network::FreeCall,  &millstream::network::SetLog,
      &millstream::network::Help,      &millstream::network::KeepThread,
  };
  return &table;
}
