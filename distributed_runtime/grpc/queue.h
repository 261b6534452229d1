// The threads on which gRPC reports what has happened.
#ifndef MILLSTREAM_DISTRIBUTED_RUNTIME_GRPC_QUEUE_H_
#define MILLSTREAM_DISTRIBUTED_RUNTIME_GRPC_QUEUE_H_

#include <grpc/grpc.h>

#include "distributed_runtime/network_table.h"

namespace millstream::network {

// What the queue is given as the tag of an operation.
class Completion {
 public:
  // The operation has ended. On a background thread of the queue, or on one in Help. It may destroy
  // the object. It must not block. No other thread takes events meanwhile, for a short time; see
  // LetOthersRead.
  virtual void Complete(bool ok) = 0;

 protected:
  ~Completion() = default;
};

// The only queue of the process, with its threads, for all channels and servers: the thread that
// reads from a connection then takes the message too, where one of another queue would be woken for
// that. Never destroyed. gRPC is initialized when it is first asked for.
grpc_completion_queue* Queue();

// The completion on this thread goes on with what takes long. Another thread takes events from now
// on. Does nothing on other threads.
void LetOthersRead();

// The functions of the table.
void Help(millstream_is_done is_done, void* user);
void KeepThread();

}  // namespace millstream::network

#endif  // MILLSTREAM_DISTRIBUTED_RUNTIME_GRPC_QUEUE_H_
