// A device's own memory and the streams that work on it.
//
// There is one stream for kernels, one for copies to the device, one for copies to the host and one
// for copies from other devices, so that copies run at the same time as kernels. All functions
// enqueue and return; they wait on the host only if their comment says so. Work that is enqueued on
// the compute stream after CopyToDevice, CopyFromPeer or Duplicate runs after the copy.
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
#include "absl/time/time.h"
#include "core/device/arena.h"
#include "core/device/device_capture.h"
#include "core/device/device_regions.h"
#include "core/device/device_stream.h"
#include "core/device/stream_point.h"
#include "core/device/stream_span.h"
#include "framework/plugin/loader.h"
#include "framework/plugin/plugin.h"
#include "framework/status.h"
#include "framework/tensor.h"

namespace millstream {

// Thread-safe, except for Close. Must outlive its tensors.
class DeviceMemory {
 public:
  // Creates the memory; null for a device that works in host memory. `name` is that of the logical
  // device, for messages.
  static StatusOr<std::unique_ptr<DeviceMemory>> Create(const OpenDevice& device, std::string name,
                                                        const MS_DeviceDesc& description);
  ~DeviceMemory();
  DeviceMemory(const DeviceMemory&) = delete;
  DeviceMemory& operator=(const DeviceMemory&) = delete;

  // ---- Memory for what is enqueued on the compute stream; RESOURCE_EXHAUSTED ----
  StatusOr<BufferRef> AllocateBuffer(size_t bytes);
  StatusOr<Tensor> Allocate(DataType dtype, const Shape& shape);
  // A tensor on device memory that the caller owns and keeps.
  Tensor Borrow(DataType dtype, const Shape& shape, const MS_MemRef& place);
  // The same, of memory of a plugin: `release` is called once, on any thread, after the work is
  // complete that the streams have when the tensor's buffer is released.
  Tensor Wrap(DataType dtype, const Shape& shape, const MS_MemRef& place,
              std::function<void()> release);
  // Whether the device has pinned host memory.
  bool has_pinned() const { return pinned_arena_ != nullptr; }
  // A tensor in pinned host memory, or in other host memory if there is no pinned memory left.
  StatusOr<Tensor> AllocatePinned(DataType dtype, const Shape& shape);

  // ---- Copies; `span` gets their time ----
  // The caller may change `host` after the call.
  StatusOr<Tensor> CopyToDevice(const Tensor& host, const SpanRef& span = nullptr);
  // The result has its value when `done` is called with it, on a thread of the plugin; or if `done`
  // is null, when a function that is passed to CallWhenDone afterwards is called. `tensor` is kept
  // until then.
  StatusOr<Tensor> CopyToHost(const Tensor& tensor, std::function<void(Tensor)> done,
                              const SpanRef& span = nullptr);
  // The same, and waits. Calls `stopping` regularly; its error ends the wait.
  StatusOr<Tensor> ReadOnHost(const Tensor& tensor, const std::function<Status()>& stopping);
  // True if CopyFromPeer can read memory of `other`.
  bool CanCopyFrom(const DeviceMemory& other) const;
  // `ready` is an event of the other device after which the tensor has its value.
  StatusOr<Tensor> CopyFromPeer(const Tensor& tensor, const EventRef& ready,
                                const SpanRef& span = nullptr);
  // Copies on the compute stream, between tensors of this device of equal size.
  Status Copy(const Tensor& from, const Tensor& to);
  StatusOr<Tensor> Duplicate(const Tensor& tensor);

  // ---- Time ----
  // An event of the compute stream after the work that was enqueued so far.
  StatusOr<EventRef> MarkCompute();
  // Waits until the work is complete that was enqueued before on the compute stream.
  Status AwaitCompute();
  // True if the device reports that the event has happened.
  bool HasHappened(const EventRef& event) const;
  // The name of a stream by its number: "compute", "to device", "to host" or "from peer".
  static const char* LaneOf(uint32_t stream);
  // Calls `call` after all work that was enqueued before, on all streams, is complete. See
  // DeviceStream::CallAfter.
  Status CallWhenDone(std::function<void()> call);
  // Calls `call` after all copies to the host that were enqueued before are complete.
  Status CallAfterCopies(std::function<void()> call);
  // As CallWhenDone, but if the device is lost or closed, which ends all work, it calls `call` at
  // once.
  void CallWhenUnused(const std::function<void()>& call);
  // The number of errors of enqueued work so far.
  int64_t num_errors() const ABSL_LOCKS_EXCLUDED(mutex_);
  // The error of enqueued work since the number of errors was `num_errors`, or the loss of the
  // device. Call it after the work is complete. The device does not report which work failed, so
  // each of several steps that run at the same time gets the error.
  Status ErrorSince(int64_t num_errors) ABSL_LOCKS_EXCLUDED(mutex_);
  // UNAVAILABLE if the device is lost. Any thread may call it, also threads of the plugin.
  Status LostError() const;
  // Called when a step ends without waiting for its enqueued work. No other step begins before that
  // work is complete and its errors are discarded.
  void NoteAbandoned() { abandoned_.fetch_add(1); }
  // Sets a function that releases cached memory. A thread that allocates calls it when memory is
  // exhausted, before it returns an error. REQUIRES: no step has run.
  void SetReclaimer(std::function<void()> reclaim) { reclaim_ = std::move(reclaim); }
  // Returns true if the work of all steps that were abandoned before the call is complete.
  bool ForgetAbandoned();
  // The same, but waits if the device is lost: what runs there ends soon.
  bool ForgetAbandonedOrLost();
  bool HasAbandoned() const { return forgotten_.load() < abandoned_.load(); }
  // Waits until all work is complete. If there is abandoned work, destroys the streams instead.
  // Nothing can be enqueued afterwards. Idempotent.
  void Close();

  // The device for its kernels.
  const MS_DeviceContext& context() const { return context_; }
  DeviceStream* compute() { return compute_.get(); }
  DeviceStream* to_device() { return to_device_.get(); }
  // Records work of kernels; null if the device cannot.
  DeviceCapture* capture() const { return capture_.get(); }
  const std::string& name() const { return name_; }
  uint32_t ordinal() const { return ordinal_; }
  // True if the memory is known by handles and has no addresses.
  bool is_opaque() const { return is_opaque_; }
  // See Buffer::dlpack_device_type.
  int32_t dlpack_device_type() const { return dlpack_device_type_; }
  const std::string& plugin() const { return device_.plugin->name; }
  // Of memory that the plugin pools: what it reports; 0 for what it does not report.
  ArenaStats stats() const { return is_pooled_ ? PooledStats() : arena_->stats(); }
  // Frees unused memory of the device; returns the number of bytes.
  size_t Trim();

 private:
  // Numbers in StreamProgress. kHostStream stands for the host, which releases pinned memory after
  // use.
  static constexpr uint32_t kComputeStream = 1;
  static constexpr uint32_t kToDeviceStream = 2;
  static constexpr uint32_t kToHostStream = 3;
  static constexpr uint32_t kFromPeerStream = 4;
  static constexpr uint32_t kHostStream = 5;

  static constexpr absl::Duration kPollInterval = absl::Microseconds(20);

  class OwnedBuffer;
  class PooledBuffer;
  class BorrowedBuffer;
  class WrappedBuffer;
  class PinnedBuffer;
  DeviceMemory(const OpenDevice& device, std::string name, uint32_t ordinal);
  Status Open(const MS_DeviceDesc& description);
  void OpenMemory(const MS_DeviceDesc& description, uint64_t total_bytes);
  Status OpenStreams();
  void UpdateProgress();
  bool AwaitIdle();
  StatusOr<BufferRef> AllocateFor(DeviceStream* stream, size_t bytes);
  StatusOr<BufferRef> AllocatePooled(DeviceStream* stream, size_t bytes);
  void FreePooled(const MS_MemRef& block);
  ArenaStats PooledStats() const;
  StatusOr<Tensor> AllocateTensor(DeviceStream* stream, DataType dtype, const Shape& shape);
  StatusOr<Tensor> Stage(const Tensor& host);
  DeviceStream* StreamOf(const StreamPoint& point);
  Status EnqueueCopy(DeviceStream* stream, const char* what, const Tensor& to, const Tensor& from);
  static Status Follow(DeviceStream* later, DeviceStream* earlier);
  Status KeepUnless(const Status& followed, std::vector<Tensor> copied) ABSL_LOCKS_EXCLUDED(mutex_);
  bool LookForErrors() ABSL_LOCKS_EXCLUDED(mutex_);
  Status Describe(const Status& status, const char* stage) const;
  MS_MemRef Own(MS_MemRef place) const;
  MS_MemRef OwnPlaceOf(const Tensor& tensor) const;

  const OpenDevice device_;
  const std::string name_;
  const uint32_t ordinal_;
  ArenaRules rules_;  // of the device's memory
  bool is_opaque_ = false;
  bool is_pooled_ = false;  // the plugin pools the device's memory (MS_ALLOC_POOLED)
  int32_t dlpack_device_type_ = 0;
  MS_DeviceContext context_ = {};
  StreamProgress progress_;
  EventPool events_;
  EventPoller poller_;
  std::unique_ptr<DeviceRegions> regions_;
  std::unique_ptr<ArenaSource> pinned_regions_;
  std::unique_ptr<Arena> arena_;
  std::unique_ptr<Arena> pinned_arena_;  // null: the device has no pinned memory
  std::unique_ptr<DeviceStream> compute_;
  std::unique_ptr<DeviceStream> to_device_;
  std::unique_ptr<DeviceStream> to_host_;
  std::unique_ptr<DeviceStream> from_peer_;
  std::unique_ptr<DeviceCapture> capture_;
  std::function<void()> reclaim_;
  std::atomic<uint64_t> abandoned_{0};  // number of abandoned steps so far
  std::atomic<uint64_t> forgotten_{0};  // of these, the number of the first ones that are complete
  bool closed_ = false;
  mutable absl::Mutex mutex_;
  std::vector<Tensor> kept_ ABSL_GUARDED_BY(mutex_);  // see KeepUnless
  int num_looking_ ABSL_GUARDED_BY(mutex_) = 0;       // threads in LookForErrors
  int64_t num_errors_ ABSL_GUARDED_BY(mutex_) = 0;
  Status last_error_ ABSL_GUARDED_BY(mutex_);
};

// The memory of a tensor on a device.
DeviceMemory* MemoryOf(const Tensor& tensor);
// A copy in the same memory, host or device. On a device the copy is enqueued.
StatusOr<Tensor> CopyOf(const Tensor& tensor);
// Copies the elements between tensors of one shape and dtype that are in the same memory.
Status CopyElements(const Tensor& from, const Tensor& to);

}  // namespace millstream

#endif  // MILLSTREAM_CORE_DEVICE_DEVICE_MEMORY_H_
