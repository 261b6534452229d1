// A device's own memory and the streams that work on it.
//
// There is one stream for kernels, one for copies to the device, one for those to the host and one
// for those from other devices, so that copies go on while kernels run. All functions enqueue and
// return; nobody waits on the host but where it is said. What is enqueued on the compute stream
// after CopyToDevice, CopyFromPeer or Duplicate finds what they copy.
#ifndef MILLSTREAM_CORE_DEVICE_DEVICE_MEMORY_H_
#define MILLSTREAM_CORE_DEVICE_DEVICE_MEMORY_H_

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "core/device/arena.h"
#include "core/device/device_regions.h"
#include "core/device/device_stream.h"
#include "core/device/stream_point.h"
#include "core/device/stream_span.h"
#include "framework/plugin/loader.h"
#include "framework/plugin/plugin.h"
#include "framework/status.h"
#include "framework/tensor.h"

namespace millstream {

// Thread-safe, but for Close. Outlives its tensors.
class DeviceMemory {
 public:
  // Null for a device whose memory is the host's. FAILED_PRECONDITION when core cannot work with
  // its memory: addresses must be linear.
  // `name`: of the logical device, for messages.
  static StatusOr<std::unique_ptr<DeviceMemory>> Create(const OpenDevice& device, std::string name,
                                                        const MS_DeviceDesc& description);
  ~DeviceMemory();
  DeviceMemory(const DeviceMemory&) = delete;
  DeviceMemory& operator=(const DeviceMemory&) = delete;

  // ---- Memory for what is enqueued on the compute stream; RESOURCE_EXHAUSTED ----
  StatusOr<BufferRef> AllocateBuffer(size_t bytes);
  StatusOr<Tensor> Allocate(DataType dtype, const Shape& shape);
  // A tensor over memory that somebody else keeps.
  Tensor Borrow(DataType dtype, const Shape& shape, void* address, size_t bytes);

  // ---- Copies; `span` is when they run ----
  // `host` may be changed once it returns.
  StatusOr<Tensor> CopyToDevice(const Tensor& host, const SpanRef& span = nullptr);
  // The result has its value when `done` is called, in a thread of the plugin's; or, `done` null,
  // when what CallWhenDone is given afterwards is called. `tensor` is kept so long.
  StatusOr<Tensor> CopyToHost(const Tensor& tensor, std::function<void(const Tensor&)> done,
                              const SpanRef& span = nullptr);
  // The same, and waits; `stopping` is asked now and then, and its error ends the wait.
  StatusOr<Tensor> ReadOnHost(const Tensor& tensor, const std::function<Status()>& stopping);
  // Whether CopyFromPeer can read what `other` has.
  bool CanCopyFrom(const DeviceMemory& other) const;
  // `ready`: an event of the other device, from which on the value is there.
  StatusOr<Tensor> CopyFromPeer(const Tensor& tensor, const EventRef& ready,
                                const SpanRef& span = nullptr);
  // On the compute stream, between tensors of this device of as many bytes.
  Status Copy(const Tensor& from, const Tensor& to);
  StatusOr<Tensor> Duplicate(const Tensor& tensor);

  // ---- Time ----
  // An event of the compute stream, from which on all has its value that was enqueued there.
  StatusOr<EventRef> MarkCompute() { return compute_->Mark(); }
  // Whether the event has happened, as far as the device tells.
  bool HasHappened(const EventRef& event) const;
  // "compute", "to device", "to host" or "from peer", by the stream's number.
  static const char* LaneOf(uint32_t stream);
  // Calls `call` once everything is done that was enqueued before, on all streams; see
  // DeviceStream::CallAfter.
  Status CallWhenDone(std::function<void()> call);
  // So many errors of enqueued work were found until now.
  int64_t num_errors() const ABSL_LOCKS_EXCLUDED(mutex_);
  // What went wrong in enqueued work since there were `num_errors`, or with the device. To be asked
  // when all is done. Whose work it was the device does not tell: of several steps at a time each
  // has to take it for its own.
  Status ErrorSince(int64_t num_errors) ABSL_LOCKS_EXCLUDED(mutex_);
  // UNAVAILABLE when the device is lost. Any thread, the plugin's as well.
  Status LostError() const;
  // A step ended without waiting for what it had enqueued. Until it is done, and its errors are
  // forgotten, no other step begins.
  void NoteAbandoned() { abandoned_.fetch_add(1); }
  // Called when memory is out, before it is an error: to give up what is only kept for later. Set
  // before the first step; may be called by any thread that allocates.
  void SetReclaimer(std::function<void()> reclaim) { reclaim_ = std::move(reclaim); }
  // True when nothing is left of steps that were abandoned before the call.
  bool ForgetAbandoned();
  bool HasAbandoned() const { return forgotten_.load() < abandoned_.load(); }
  // Waits until all is done, but for a device with abandoned work, whose streams are ended instead.
  // Nothing can be enqueued afterwards. Idempotent.
  void Close();

  // Sets what a kernel needs of the device.
  void FillFrame(MS_Frame* frame) const;
  DeviceStream* compute() { return compute_.get(); }
  DeviceStream* to_device() { return to_device_.get(); }
  DeviceStream* to_host() { return to_host_.get(); }
  DeviceStream* from_peer() { return from_peer_.get(); }
  const std::string& name() const { return name_; }
  const std::string& plugin() const { return device_.plugin->name; }
  ArenaStats stats() const { return arena_->stats(); }
  // Gives unused memory back to the device; how many bytes.
  size_t Trim();

 private:
  class OwnedBuffer;
  class BorrowedBuffer;
  class PinnedBuffer;
  DeviceMemory(const OpenDevice& device, std::string name, uint32_t ordinal);
  Status Open(const MS_DeviceDesc& description);
  void UpdateProgress();
  bool AwaitIdle();
  StatusOr<BufferRef> AllocateFor(DeviceStream* stream, size_t bytes);
  StatusOr<Tensor> AllocateTensor(DeviceStream* stream, DataType dtype, const Shape& shape);
  StatusOr<Tensor> AllocatePinned(DataType dtype, const Shape& shape);
  StatusOr<Tensor> Stage(const Tensor& host);
  DeviceStream* StreamOf(const StreamPoint& point);
  Status EnqueueCopy(DeviceStream* stream, const char* what, const Tensor& to, const Tensor& from);
  Status HandOver(DeviceStream* stream);
  Status KeepUnless(const Status& followed, std::vector<Tensor> copied) ABSL_LOCKS_EXCLUDED(mutex_);
  bool LookForErrors() ABSL_LOCKS_EXCLUDED(mutex_);
  Status Describe(const Status& status, const char* stage) const;

  const OpenDevice device_;
  const std::string name_;
  const uint32_t ordinal_;
  StreamProgress progress_;
  EventPool events_;
  EventPoller poller_;
  std::unique_ptr<DeviceRegions> regions_;
  std::unique_ptr<DeviceRegions> pinned_regions_;
  std::unique_ptr<Arena> arena_;
  std::unique_ptr<Arena> pinned_arena_;  // null: the device has no pinned memory
  std::unique_ptr<DeviceStream> compute_;
  std::unique_ptr<DeviceStream> to_device_;
  std::unique_ptr<DeviceStream> to_host_;
  std::unique_ptr<DeviceStream> from_peer_;
  std::function<void()> reclaim_;
  std::atomic<uint64_t> abandoned_{0};  // steps, ever
  std::atomic<uint64_t> forgotten_{0};  // of them, the first ones: nothing is left of those
  bool closed_ = false;
  mutable absl::Mutex mutex_;
  std::vector<Tensor> kept_ ABSL_GUARDED_BY(mutex_);  // see KeepUnless
  int num_looking_ ABSL_GUARDED_BY(mutex_) = 0;       // threads in LookForErrors
  int64_t num_errors_ ABSL_GUARDED_BY(mutex_) = 0;
  Status last_error_ ABSL_GUARDED_BY(mutex_);
};

// The memory that a tensor on a device is in.
DeviceMemory* MemoryOf(const Tensor& tensor);
// A copy with memory of its own, wherever the tensor is; of one on a device it is enqueued there.
StatusOr<Tensor> CopyOf(const Tensor& tensor);
// Copies the elements between tensors of one shape and dtype that are in the same memory.
Status CopyElements(const Tensor& from, const Tensor& to);

}  // namespace millstream

#endif  // MILLSTREAM_CORE_DEVICE_DEVICE_MEMORY_H_
