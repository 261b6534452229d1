// What tasks of a cluster read: messages, tensors, graphs, devices, frames. See any_message.h.
#include "distributed_runtime/testing/any_message.h"
#include "testing/fuzz/target.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  millstream::ReadAnyMessage(data, size);
  return 0;
}
