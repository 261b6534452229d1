#include "distributed_runtime/grpc/queue.h"

#include <thread>

namespace millstream::network {
namespace {

// They handle requests and take answers. A large tensor is copied by the thread that takes it.
// gRPC has one of them wait for connections, and wakes the next one for that whenever it gives the
// first something to do; further ones only add to it.
constexpr int kThreads = 2;

void Run(grpc_completion_queue* queue) {
  while (true) {
    const grpc_event event =
        grpc_completion_queue_next(queue, gpr_inf_future(GPR_CLOCK_MONOTONIC), nullptr);
    if (event.type == GRPC_QUEUE_SHUTDOWN) return;
    if (event.type != GRPC_OP_COMPLETE) continue;
    static_cast<Completion*>(event.tag)->Complete(event.success != 0);
  }
}

}  // namespace

grpc_completion_queue* Queue() {
  static grpc_completion_queue* const queue = [] {
    grpc_init();
    grpc_completion_queue* const made = grpc_completion_queue_create_for_next(nullptr);
    for (int i = 0; i < kThreads; ++i) std::thread([made] { Run(made); }).detach();
    return made;
  }();
  return queue;
}

}  // namespace millstream::network
