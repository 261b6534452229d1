// Copies between the host and a device, on a device, and between devices.
#include <algorithm>
#include <cstring>
#include <utility>

#include "absl/time/clock.h"
#include "core/device/device_buffer.h"
#include "core/device/device_memory.h"
#include "framework/opaque_cell.h"
#include "framework/plugin/host_status.h"
#include "framework/plugin/host_tensor.h"

namespace millstream {

Status DeviceMemory::EnqueueCopy(DeviceStream* stream, const char* what, const Tensor& to,
                                 const Tensor& from) {
  if (from.bytes() == 0) return absl::OkStatus();
  const MS_MemRef to_ref = OwnPlaceOf(to);
  const MS_MemRef from_ref = OwnPlaceOf(from);
  return Describe(
      TakeAbiStatus(device_.functions->copy_async(stream->raw(), &to_ref, &from_ref, from.bytes())),
      what);
}

// In memory that the device copies from while the caller goes on.
StatusOr<Tensor> DeviceMemory::Stage(const Tensor& host) {
  if (host.space() == MemorySpace::kPinned) return host;
  MS_ASSIGN_OR_RETURN(Tensor staged, AllocatePinned(host.dtype(), host.shape()));
  if (host.bytes() > 0) std::memcpy(staged.raw(), host.raw(), host.bytes());
  return staged;
}

// What is enqueued on `later` from now on comes after what `earlier` has.
Status DeviceMemory::Follow(DeviceStream* later, DeviceStream* earlier) {
  MS_ASSIGN_OR_RETURN(const EventRef done, earlier->Mark());
  return later->Wait(done);
}

// Called after a copy of the tensors `copied` was enqueued. If `followed` is an error, the end of
// the copy will not be reported, so the tensors are kept until the streams are destroyed.
Status DeviceMemory::KeepUnless(const Status& followed, std::vector<Tensor> copied) {
  if (followed.ok()) return followed;
  absl::MutexLock lock(&mutex_);
  for (Tensor& tensor : copied) kept_.push_back(std::move(tensor));
  return Describe(followed, "copy");
}

StatusOr<Tensor> DeviceMemory::CopyToDevice(const Tensor& host, const SpanRef& span) {
  MS_ASSIGN_OR_RETURN(Tensor tensor, AllocateTensor(to_device_.get(), host.dtype(), host.shape()));
  if (host.bytes() == 0) return tensor;
  MS_ASSIGN_OR_RETURN(const Tensor staged, Stage(host));
  StartSpan(to_device_.get(), span).IgnoreError();
  MS_RETURN_IF_ERROR(EnqueueCopy(to_device_.get(), "copy to the device", tensor, staged));
  EndSpan(to_device_.get(), span).IgnoreError();
  Status followed = Follow(compute_.get(), to_device_.get());
  if (followed.ok()) followed = to_device_->CallAfter([staged] {});  // it is kept until it was read
  MS_RETURN_IF_ERROR(KeepUnless(followed, {tensor, staged}));
  return tensor;
}

StatusOr<Tensor> DeviceMemory::CopyToHost(const Tensor& tensor, std::function<void(Tensor)> done,
                                          const SpanRef& span) {
  MS_ASSIGN_OR_RETURN(Tensor host, AllocatePinned(tensor.dtype(), tensor.shape()));
  MS_RETURN_IF_ERROR(Describe(Follow(to_host_.get(), compute_.get()), "copy to the host"));
  StartSpan(to_host_.get(), span).IgnoreError();
  MS_RETURN_IF_ERROR(EnqueueCopy(to_host_.get(), "copy to the host", host, tensor));
  EndSpan(to_host_.get(), span).IgnoreError();
  // Who gets the copy may be the only one who holds it.
  const Status followed =
      to_host_->CallAfter([tensor, copied = host, done = std::move(done)]() mutable {
        if (done) done(std::move(copied));
      });
  MS_RETURN_IF_ERROR(KeepUnless(followed, {tensor, host}));
  return host;
}

StatusOr<Tensor> DeviceMemory::ReadOnHost(const Tensor& tensor,
                                          const std::function<Status()>& stopping) {
  auto copied = std::make_shared<std::atomic<bool>>(false);
  MS_ASSIGN_OR_RETURN(Tensor host, CopyToHost(tensor, [copied](const Tensor&) {
                        copied->store(true, std::memory_order_release);
                      }));
  while (!copied->load(std::memory_order_acquire)) {
    const Status stopped = stopping();
    if (!stopped.ok()) {
      NoteAbandoned();  // the copy is still to come, or never will
      return stopped;
    }
    absl::SleepFor(kPollInterval);
  }
  MS_RETURN_IF_ERROR(LostError());
  return host;
}

bool DeviceMemory::CanCopyFrom(const DeviceMemory& other) const {
  const MS_DeviceApi& functions = *device_.functions;
  if (other.device_.plugin != device_.plugin) return false;
  if (functions.copy_peer_async == nullptr || functions.peer_ok == nullptr) return false;
  uint8_t ok = 0;
  const Status asked = TakeAbiStatus(functions.peer_ok(other.device_.device, device_.device, &ok));
  return asked.ok() && ok != 0;
}

StatusOr<Tensor> DeviceMemory::CopyFromPeer(const Tensor& tensor, const EventRef& ready,
                                            const SpanRef& span) {
  MS_ASSIGN_OR_RETURN(Tensor copy,
                      AllocateTensor(from_peer_.get(), tensor.dtype(), tensor.shape()));
  if (tensor.bytes() == 0) return copy;
  MS_RETURN_IF_ERROR(Describe(from_peer_->Wait(ready), "copy from another device"));
  StartSpan(from_peer_.get(), span).IgnoreError();
  const MS_MemRef to = PlaceOf(copy);
  const MS_MemRef from = PlaceOf(tensor);
  MS_RETURN_IF_ERROR(Describe(TakeAbiStatus(device_.functions->copy_peer_async(
                                  from_peer_->raw(), &to, &from, tensor.bytes())),
                              "copy from another device"));
  EndSpan(from_peer_.get(), span).IgnoreError();
  Status followed = Follow(compute_.get(), from_peer_.get());
  if (followed.ok()) followed = from_peer_->CallAfter([tensor, ready] {});
  MS_RETURN_IF_ERROR(KeepUnless(followed, {tensor, copy}));
  return copy;
}

Status DeviceMemory::Copy(const Tensor& from, const Tensor& to) {
  return EnqueueCopy(compute_.get(), "copy on the device", to, from);
}

StatusOr<Tensor> DeviceMemory::Duplicate(const Tensor& tensor) {
  MS_ASSIGN_OR_RETURN(Tensor copy, Allocate(tensor.dtype(), tensor.shape()));
  MS_RETURN_IF_ERROR(Copy(tensor, copy));
  return copy;
}

DeviceMemory* MemoryOf(const Tensor& tensor) {
  return static_cast<DeviceBuffer*>(tensor.buffer().get())->memory();
}

StatusOr<Tensor> CopyOf(const Tensor& tensor) {
  return tensor.is_on_device() ? MemoryOf(tensor)->Duplicate(tensor) : tensor.DeepCopy();
}

Status CopyElements(const Tensor& from, const Tensor& to) {
  if (to.is_on_device()) return MemoryOf(to)->Copy(from, to);
  if (from.dtype() == DataType::kString) {
    for (int64_t i = 0; i < from.num_elements(); ++i) {
      to.data<std::string>()[i] = from.data<std::string>()[i];
    }
  } else if (!IsPlainData(from.dtype())) {
    std::copy_n(from.data<OpaqueCell>(), from.num_elements(), to.data<OpaqueCell>());
  } else if (from.bytes() > 0) {
    std::memcpy(to.raw(), from.raw(), from.bytes());
  }
  return absl::OkStatus();
}

}  // namespace millstream
