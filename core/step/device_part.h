// The work of a part of a step with a device that has its own memory. Both executors use it.
#ifndef MILLSTREAM_CORE_STEP_DEVICE_PART_H_
#define MILLSTREAM_CORE_STEP_DEVICE_PART_H_

#include <memory>
#include <string>
#include <vector>

#include "core/device/device_memory.h"
#include "core/graph/graph.h"
#include "core/partition/rendezvous.h"
#include "core/step/device_signal.h"
#include "core/step/rendezvous_link.h"
#include "core/step/step_context.h"
#include "core/step/step_scheduler.h"
#include "core/step/step_trace.h"
#include "framework/status.h"
#include "framework/tensor.h"

namespace millstream {

// Lives for one step. The thread that advances the part uses it. If it is destroyed before the
// device has completed the work, the enqueued work does not access the step any more.
class DevicePart {
 public:
  // REQUIRES: `memory`, `step` and `part` outlive this object, and the step has a scheduler.
  DevicePart(DeviceMemory* memory, StepContext* step, StepPart* part)
      : memory_(*memory), step_(*step), part_(*part) {}
  ~DevicePart();
  DevicePart(const DevicePart&) = delete;
  DevicePart& operator=(const DevicePart&) = delete;

  // Records the work that is enqueued later in `trace`.
  void StartTrace(TracedPart* trace) { trace_ = trace; }

  // Waits for the work that failed steps left on the device. Returns the error of this step if it
  // must stop meanwhile. REQUIRES: nothing was enqueued.
  Status Begin();

  // Sends a tensor of the device. A peer gets it at once, with the event after which it may be
  // read. Others get it after a copy to the host.
  Status Send(const RendezvousKey& key, bool is_peer, Tensor tensor);
  // ---- Around what enqueues the work of a node, or of a row of nodes, on the compute stream ----
  void StartWork();
  void EndWork(const Node& first, const Node& last);
  // The span for the next copy, an argument of functions of DeviceMemory; null without a trace.
  SpanRef NextCopy();
  // Assigns the last span to the node that was traced last.
  void KeepSpan();

  // Returns the tensor that the node `receive` has received, in host memory or copied to device
  // memory.
  StatusOr<Tensor> Unpack(const Node& receive, Parcel parcel, bool in_host);

  // Wakes the part when all copies to the host that were enqueued before are complete.
  Status AwaitCopies();
  // True while the last wait has not ended.
  bool IsWaiting() const { return signal_ != nullptr && !signal_->has_fired(); }
  // Returns true if the device has completed all enqueued work. Otherwise the part is woken later.
  // An error of the device fails the step.
  bool Drain();
  // Describes the work that the device has not completed, for the message of a time limit.
  std::string WaitsFor() const;
  // Ends without waiting for the device. Idempotent.
  void LetGo();

 private:
  struct Enqueued {
    const Node* first;
    const Node* last;
    EventRef done;
  };
  struct Traced {
    size_t node;  // of trace_
    SpanRef span;
  };
  void FillTrace();
  Status WithLast(const Status& error) const;

  DeviceMemory& memory_;
  StepContext& step_;
  StepPart& part_;
  std::shared_ptr<DeviceSignal> signal_;    // of the last wait
  std::shared_ptr<RendezvousLink> outbox_;  // null: nothing was sent from the device
  std::vector<Enqueued> work_;              // for messages; empty unless the step has a deadline
  TracedPart* trace_ = nullptr;
  SpanRef span_;  // of the last work or copy
  std::vector<Traced> traced_;
  int64_t num_errors_ = 0;      // errors of the device before the step
  const Node* last_ = nullptr;  // the node whose work or copy to the host was enqueued last
  bool is_draining_ = false;
  bool is_drained_ = false;
};

}  // namespace millstream

#endif  // MILLSTREAM_CORE_STEP_DEVICE_PART_H_
