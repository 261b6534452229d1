// Records work of a device once, to enqueue it as a whole later ("ms.capture/1").
#ifndef MILLSTREAM_CORE_DEVICE_DEVICE_CAPTURE_H_
#define MILLSTREAM_CORE_DEVICE_DEVICE_CAPTURE_H_

#include <functional>
#include <memory>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "absl/types/span.h"
#include "framework/plugin/plugin.h"
#include "framework/status.h"

namespace millstream {

// Recorded work. One thread at a time uses it. Must be destroyed before the device, and before the
// kernels that it recorded.
class WorkGraph {
 public:
  WorkGraph(const MS_CaptureApi* functions, MS_Graph* graph)
      : functions_(*functions), graph_(graph) {}
  ~WorkGraph() { functions_.destroy(graph_); }
  WorkGraph(const WorkGraph&) = delete;
  WorkGraph& operator=(const WorkGraph&) = delete;

  // Sets where later replays find the memory that has moved since the work was recorded.
  // UNIMPLEMENTED if the device cannot follow.
  Status Update(absl::Span<const MS_MemChange> changes);
  // Enqueues the work on a stream of the device. After an error nothing was enqueued.
  Status Replay(MS_Stream* stream);

 private:
  const MS_CaptureApi& functions_;
  MS_Graph* const graph_;
};

// Thread-safe, except for Close.
class DeviceCapture {
 public:
  DeviceCapture(const MS_CaptureApi* functions, const MS_DeviceApi* device_functions,
                MS_Device* device)
      : functions_(*functions), device_functions_(*device_functions), device_(device) {}
  ~DeviceCapture() { Close(); }
  DeviceCapture(const DeviceCapture&) = delete;
  DeviceCapture& operator=(const DeviceCapture&) = delete;

  // The stream that records, for frames.
  struct Target {
    MS_Stream* stream;
    void* native;
  };
  // Records what `enqueue` enqueues on the target, without doing it. One recording at a time:
  // others wait. Returns the first error of the plugin or of `enqueue`.
  StatusOr<std::unique_ptr<WorkGraph>> Record(const std::function<Status(const Target&)>& enqueue)
      ABSL_LOCKS_EXCLUDED(mutex_);
  // Destroys the stream. Nothing can be recorded afterwards.
  void Close() ABSL_LOCKS_EXCLUDED(mutex_);

 private:
  Status OpenStream() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  const MS_CaptureApi& functions_;
  const MS_DeviceApi& device_functions_;
  MS_Device* const device_;
  absl::Mutex mutex_;
  // Created by the first recording. Only this class enqueues on it, so that no other step's work is
  // recorded.
  MS_Stream* stream_ ABSL_GUARDED_BY(mutex_) = nullptr;
  bool is_closed_ ABSL_GUARDED_BY(mutex_) = false;
};

}  // namespace millstream

#endif  // MILLSTREAM_CORE_DEVICE_DEVICE_CAPTURE_H_
