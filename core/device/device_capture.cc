#include "core/device/device_capture.h"

#include <utility>

#include "framework/plugin/host_status.h"

namespace millstream {

Status WorkGraph::Update(absl::Span<const MS_MemChange> changes) {
  return TakeAbiStatus(functions_.update(graph_, changes.data(), changes.size()));
}

Status WorkGraph::Replay(MS_Stream* stream) {
  return TakeAbiStatus(functions_.replay(graph_, stream));
}

Status DeviceCapture::OpenStream() {
  if (is_closed_) return errors::FailedPrecondition("the device is closed");
  if (stream_ != nullptr) return absl::OkStatus();
  return TakeAbiStatus(
      device_functions_.stream_create(device_, MS_STREAM_COMPUTE, /*priority=*/0, &stream_));
}

StatusOr<std::unique_ptr<WorkGraph>> DeviceCapture::Record(
    const std::function<Status(const Target&)>& enqueue) {
  absl::MutexLock lock(&mutex_);
  MS_RETURN_IF_ERROR(OpenStream());
  MS_RETURN_IF_ERROR(TakeAbiStatus(functions_.begin(stream_)));
  const Status enqueued = enqueue(Target{stream_, device_functions_.stream_native(stream_)});
  MS_Graph* graph = nullptr;
  const Status ended = TakeAbiStatus(functions_.end(stream_, &graph));
  std::unique_ptr<WorkGraph> recorded;
  if (ended.ok() && graph != nullptr) recorded = std::make_unique<WorkGraph>(&functions_, graph);
  MS_RETURN_IF_ERROR(enqueued);
  MS_RETURN_IF_ERROR(ended);
  if (recorded == nullptr) return errors::Internal("ms.capture/1.end gave no graph");
  return recorded;
}

void DeviceCapture::Close() {
  absl::MutexLock lock(&mutex_);
  is_closed_ = true;
  if (stream_ != nullptr) device_functions_.stream_destroy(std::exchange(stream_, nullptr));
}

}  // namespace millstream
