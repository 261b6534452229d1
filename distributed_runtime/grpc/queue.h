// The threads on which gRPC reports what has happened.
#ifndef MILLSTREAM_DISTRIBUTED_RUNTIME_GRPC_QUEUE_H_
#define MILLSTREAM_DISTRIBUTED_RUNTIME_GRPC_QUEUE_H_

#include <grpc/grpc.h>

namespace millstream::network {

// What the queue is given as the tag of an operation.
class Completion {
 public:
  // The operation has ended, on a thread of the queue. It may destroy the object. It must not
  // block.
  virtual void Complete(bool ok) = 0;

 protected:
  ~Completion() = default;
};

// The only queue of the process, with its threads, for all channels and servers: the thread that
// reads from a connection then takes the message too, where one of another queue would be woken for
// that. Never destroyed. gRPC is initialized when it is first asked for.
grpc_completion_queue* Queue();

}  // namespace millstream::network

#endif  // MILLSTREAM_DISTRIBUTED_RUNTIME_GRPC_QUEUE_H_
