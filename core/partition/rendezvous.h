// Where the parts of a step hand tensors to each other.
#ifndef MILLSTREAM_CORE_PARTITION_RENDEZVOUS_H_
#define MILLSTREAM_CORE_PARTITION_RENDEZVOUS_H_

#include <cstdint>
#include <string>
#include <utility>

#include "absl/strings/string_view.h"
#include "core/device/device_stream.h"
#include "core/graph/graph.h"
#include "framework/status.h"
#include "framework/tensor.h"

namespace millstream {

// One tensor on its way: which edge between two devices (numbered within the partitioned graph),
// and in which iteration of which frames (0 outside of loops).
struct RendezvousKey {
  int64_t edge = 0;
  uint64_t iteration = 0;
  // The Send or the Receive, whose attributes name the edge to other tasks (RendezvousName). Keys
  // are compared without it. Null: the tensor stays within the task.
  const Node* transfer = nullptr;
  friend bool operator==(const RendezvousKey& a, const RendezvousKey& b) {
    return a.edge == b.edge && a.iteration == b.iteration;
  }
  template <typename H>
  friend H AbslHashValue(H h, const RendezvousKey& key) {
    return H::combine(std::move(h), key.edge, key.iteration);
  }
};

// What is sent.
struct Parcel {
  Tensor tensor;
  bool dead = false;  // the sender's branch was not taken; `tensor` is empty
  // Of a tensor on a device: when it has its value. Null: it has it.
  EventRef ready;
};

// "node 'a/_Recv_3' (op _Recv), made at train.py:12, on THIS DEVICE, waits for a:0 from OTHER"; of
// a node that receives nothing: "..., waits for " and `waits_for`, or "..., has not ended" when
// that is empty.
std::string DescribeWait(const Node& node, absl::string_view device_name,
                         absl::string_view waits_for = "");

// For one step. Thread-safe. Each key is sent once and received once, in either order.
class Rendezvous {
 public:
  // Gets a tensor that was awaited.
  class Receiver {
   public:
    // Called once, by the sender's thread or by Abort's, with no lock held; must not block.
    virtual void Receive(Status status, Parcel parcel) = 0;

   protected:
    ~Receiver() = default;
  };

  virtual ~Rendezvous() = default;
  // ALREADY_EXISTS when the key was sent before. After Abort: does nothing.
  virtual Status Send(const RendezvousKey& key, Parcel parcel) = 0;
  // True when the tensor is there already (then *parcel is set and `receiver` is not called); false
  // when `receiver` will be called, or was meanwhile. INTERNAL when the key is awaited already.
  virtual StatusOr<bool> Receive(const RendezvousKey& key, Receiver* receiver, Parcel* parcel) = 0;
  // Every receiver that waits, or comes later, gets `error`. Of several calls the first counts.
  // REQUIRES: !error.ok().
  virtual void Abort(const Status& error) = 0;
};

}  // namespace millstream

#endif  // MILLSTREAM_CORE_PARTITION_RENDEZVOUS_H_
