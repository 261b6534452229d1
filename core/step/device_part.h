// What a part of a step does with a device that has its own memory, whichever executor runs it.
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

// Made for one step. Used by the thread that advances the part. Destroyed before the device is
// done, it lets go of it: what was enqueued touches nothing of the step any more.
class DevicePart {
 public:
  // `memory`, `step` and `part` must outlive it; the step has a scheduler.
  DevicePart(DeviceMemory* memory, StepContext* step, StepPart* part)
      : memory_(*memory), step_(*step), part_(*part) {}
  ~DevicePart();
  DevicePart(const DevicePart&) = delete;
  DevicePart& operator=(const DevicePart&) = delete;

  // What is enqueued from now on is traced into `trace`.
  void StartTrace(TracedPart* trace) { trace_ = trace; }

  // Before anything is enqueued: waits for what steps that failed have left on the device.
  Status Begin();

  // Sends a tensor of the device: to a peer at once, with the event from which on it may be read;
  // to others when it has been copied to the host.
  Status Send(const RendezvousKey& key, bool is_peer, Tensor tensor);
  // ---- Around a call that enqueues `node`'s work on the compute stream ----
  void StartWork();
  void EndWork(const Node& node);
  // The copy that is enqueued next, for the functions of DeviceMemory; null: nobody traces.
  SpanRef NextCopy();
  // The node that was traced last is what was started, or copied, last.
  void KeepSpan();

  // What was received, in host memory as it is, or in the device's.
  StatusOr<Tensor> Unpack(Parcel parcel, bool in_host);

  // The part is to be woken once the copies to the host that were enqueued before are done.
  Status AwaitCopies();
  // True until the last wait has ended.
  bool IsWaiting() const { return signal_ != nullptr && !signal_->has_fired(); }
  // True when the device has done all that was enqueued; else the part will be woken. An error of
  // the device fails the step.
  bool Drain();
  // What of the work the device has not done, for the message about a step that takes too long.
  std::string WaitsFor() const;
  // The part ends without that: the device is not waited for. Idempotent.
  void LetGo();

 private:
  struct Enqueued {
    const Node* node;
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
  std::shared_ptr<DeviceSignal> signal_;    // the last one that was awaited
  std::shared_ptr<RendezvousLink> outbox_;  // null: nothing was sent from the device
  std::vector<Enqueued> work_;  // of a step that has a deadline: what a message may have to name
  TracedPart* trace_ = nullptr;
  SpanRef span_;  // of what was started, or copied, last
  std::vector<Traced> traced_;
  int64_t num_errors_ = 0;      // of the device, before the step
  const Node* last_ = nullptr;  // whose work was enqueued last
  bool is_draining_ = false;
  bool is_drained_ = false;
};

}  // namespace millstream

#endif  // MILLSTREAM_CORE_STEP_DEVICE_PART_H_
