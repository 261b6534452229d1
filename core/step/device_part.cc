#include "core/step/device_part.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"

namespace millstream {
namespace {

// Between two looks at a device that an earlier step has left at work.
constexpr absl::Duration kAbandonedInterval = absl::Milliseconds(1);

}  // namespace

DevicePart::~DevicePart() {
  LetGo();
  if (!is_drained_) memory_.NoteAbandoned();
}

void DevicePart::LetGo() {
  if (signal_ != nullptr) signal_->Abandon();
  if (outbox_ != nullptr) outbox_->Cut();
}

Status DevicePart::Begin() {
  while (!memory_.ForgetAbandoned()) {
    const Status interrupted = step_.CheckInterruption();
    if (!interrupted.ok()) {
      return Status(interrupted.code(),
                    absl::StrCat(interrupted.message(), " [it waited for what an earlier step has ",
                                 "left at work on ", memory_.name(), "]"));
    }
    absl::SleepFor(kAbandonedInterval);
  }
  num_errors_ = memory_.num_errors();
  return absl::OkStatus();
}

Status DevicePart::Send(const RendezvousKey& key, bool is_peer, Tensor tensor) {
  if (is_peer) {
    MS_ASSIGN_OR_RETURN(EventRef ready, memory_.MarkCompute());
    return step_.rendezvous->Send(key, Parcel{std::move(tensor), false, std::move(ready)});
  }
  if (outbox_ == nullptr) {
    outbox_ = std::make_shared<RendezvousLink>(step_.rendezvous, step_.scheduler, &part_);
  }
  outbox_->Expect();
  const auto send = [memory = &memory_, key, outbox = outbox_](Tensor copied) {
    const Status lost = memory->LostError();
    if (lost.ok()) {
      outbox->Send(key, Parcel{std::move(copied), false, nullptr});
    } else {
      outbox->Abort(key, lost);
    }
  };
  last_ = key.transfer;
  const Status begun = memory_.CopyToHost(tensor, send, NextCopy()).status();
  return WithTransfer(begun, *key.transfer);
}

StatusOr<Tensor> DevicePart::Unpack(const Node& receive, Parcel parcel, bool in_host) {
  if (in_host) return std::move(parcel.tensor);
  StatusOr<Tensor> copy = parcel.tensor.is_on_device()
                              ? memory_.CopyFromPeer(parcel.tensor, parcel.ready, NextCopy())
                              : memory_.CopyToDevice(parcel.tensor, NextCopy());
  if (!copy.ok()) return WithTransfer(copy.status(), receive);
  return copy;
}

// ---- What is enqueued, for messages and traces; it does without what cannot be enqueued ----

void DevicePart::StartWork() {
  if (trace_ == nullptr) return;
  span_ = std::make_shared<StreamSpan>(&StepTrace::Now);
  StartSpan(memory_.compute(), span_).IgnoreError();
}

void DevicePart::EndWork(const Node& first, const Node& last) {
  last_ = &last;
  EndSpan(memory_.compute(), span_).IgnoreError();
  if (step_.options().timeout_ms <= 0) return;
  StatusOr<EventRef> done = memory_.MarkCompute();
  if (done.ok()) work_.push_back(Enqueued{&first, &last, *std::move(done)});
}

SpanRef DevicePart::NextCopy() {
  if (trace_ != nullptr) span_ = std::make_shared<StreamSpan>(&StepTrace::Now);
  return span_;
}

void DevicePart::KeepSpan() {
  if (span_ != nullptr) traced_.push_back(Traced{trace_->nodes.size() - 1, std::move(span_)});
  span_ = nullptr;
}

void DevicePart::FillTrace() {
  for (const Traced& traced : traced_) {
    const StreamSpan& span = *traced.span;
    if (span.start.load() == 0 || span.end.load() == 0) continue;
    TracedNode& node = trace_->nodes[traced.node];
    node.start = span.start.load();
    node.end = span.end.load();
    node.stream = span.stream;
    node.lane = DeviceMemory::LaneOf(span.stream);
  }
}

std::string DevicePart::WaitsFor() const {
  for (const Enqueued& work : work_) {
    if (memory_.HasHappened(work.done)) continue;
    const std::string text =
        absl::StrCat("the device ", memory_.name(), " works at ", work.first->Describe());
    if (work.first == work.last) return text;
    return absl::StrCat(text, ", or at what follows it up to ", work.last->Describe());
  }
  return absl::StrCat("the device ", memory_.name(), " copies, or waits for another device");
}

Status DevicePart::AwaitCopies() {
  signal_ = DeviceSignal::Create(step_.scheduler, &part_);
  const Status asked = memory_.CallAfterCopies([signal = signal_] { signal->Fire(); });
  if (asked.ok()) return asked;
  signal_->Abandon();
  return WithLast(asked);
}

// A device that is lost says so at any time, of no node.
Status DevicePart::WithLast(const Status& error) const {
  if (last_ == nullptr || memory_.LostError().ok()) return error;
  return Status(error.code(), absl::StrCat(error.message(), "; the last that the step gave it was ",
                                           last_->Describe()));
}

bool DevicePart::Drain() {
  if (!is_draining_) {
    is_draining_ = true;
    signal_ = DeviceSignal::Create(step_.scheduler, &part_);
    const Status asked = memory_.CallWhenDone([signal = signal_] { signal->Fire(); });
    if (!asked.ok()) {
      LetGo();
      step_.Fail(WithLast(asked));
      return true;
    }
  }
  if (!signal_->has_fired()) return false;
  is_drained_ = true;
  FillTrace();
  const Status error = memory_.ErrorSince(num_errors_);
  if (!error.ok()) step_.Fail(WithLast(error));
  return true;
}

}  // namespace millstream
