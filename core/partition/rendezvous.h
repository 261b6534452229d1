// The exchange of tensors between the parts of a step.
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

// Identifies one transferred tensor: the edge between two devices (its number in the partitioned
// graph), and the iteration of its frames (0 outside of loops).
struct RendezvousKey {
  int64_t edge = 0;
  uint64_t iteration = 0;
  // The Send or the Receive. Its attributes name the edge to other tasks (RendezvousName).
  // Comparisons ignore it. Null: the tensor stays within the task.
  const Node* transfer = nullptr;
  friend bool operator==(const RendezvousKey& a, const RendezvousKey& b) {
    return a.edge == b.edge && a.iteration == b.iteration;
  }
  template <typename H>
  friend H AbslHashValue(H h, const RendezvousKey& key) {
    return H::combine(std::move(h), key.edge, key.iteration);
  }
};

// A tensor, or the fact that it is dead.
struct Parcel {
  Tensor tensor;
  bool dead = false;  // the sender's branch was not taken; `tensor` is empty
  // For a tensor on a device: the event after which it has its value. Null: it has its value now.
  EventRef ready;
};

// For a Receive: "node 'a/_Recv_3' (op _Recv), made at train.py:12, on THIS DEVICE, waits for a:0
// from OTHER". For another node: "..., waits for " and `waits_for`, or "..., has not ended" if
// `waits_for` is empty.
std::string DescribeWait(const Node& node, absl::string_view device_name,
                         absl::string_view waits_for = "");

// Adds the tensor and both devices of a Send or a Receive to the error of a copy for it:
// "... [of the tensor a:0 from THIS DEVICE to OTHER]". OK stays OK.
Status WithTransfer(const Status& error, const Node& transfer);

// The rendezvous of one step. Each key is sent once and received once, in either order.
// Thread-safe.
class Rendezvous {
 public:
  // The callback for a tensor that was not yet sent.
  class Receiver {
   public:
    // Called once, on the thread that calls Send or Abort, without locks. It must not block.
    virtual void Receive(Status status, Parcel parcel) = 0;

   protected:
    ~Receiver() = default;
  };

  virtual ~Rendezvous() = default;
  // Sends a tensor. ALREADY_EXISTS if the key was sent before. Does nothing after Abort.
  virtual Status Send(const RendezvousKey& key, Parcel parcel) = 0;
  // Returns true and sets *parcel if the tensor was sent already; `receiver` is not called then.
  // Otherwise returns false, and `receiver` is called later, perhaps before this call returns.
  // INTERNAL if another receiver waits for the key.
  virtual StatusOr<bool> Receive(const RendezvousKey& key, Receiver* receiver, Parcel* parcel) = 0;
  // Passes `error` to all present and future receivers. Only the first call has an effect.
  // REQUIRES: !error.ok().
  virtual void Abort(const Status& error) = 0;
};

}  // namespace millstream

#endif  // MILLSTREAM_CORE_PARTITION_RENDEZVOUS_H_
