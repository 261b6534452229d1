#include "core/device/device_memory.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "core/device/device_buffer.h"
#include "framework/allocation_faults_for_tests.h"
#include "framework/opaque_cell.h"
#include "framework/plugin/host_status.h"
#include "framework/plugin/host_tensor.h"
#include "framework/steady_time.h"

namespace millstream {
namespace {

// Numbers in StreamProgress. kHostStream stands for the host, which releases pinned memory after
// use.
constexpr uint32_t kComputeStream = 1;
constexpr uint32_t kToDeviceStream = 2;
constexpr uint32_t kToHostStream = 3;
constexpr uint32_t kFromPeerStream = 4;
constexpr uint32_t kHostStream = 5;

// The limit of pinned memory, which is scarcer than other memory.
constexpr size_t kMostPinnedBytes = size_t{1} << 30;

constexpr absl::Duration kPollInterval = absl::Microseconds(20);

// A device that takes longer hangs, or is to be told that it has too little memory.
constexpr absl::Duration kLongestWaitForMemory = absl::Seconds(10);

// Null if the device does not have the space.
const MS_SpaceDesc* FindSpace(const MS_DeviceDesc& description, uint32_t space) {
  for (uint64_t i = 0; i < description.n_spaces; ++i) {
    if (description.spaces[i]->space == space) return description.spaces[i];
  }
  return nullptr;
}

ArenaRules RulesOf(const MS_SpaceDesc& space, uint64_t device_flags) {
  ArenaRules rules;
  if (space.space == MS_SPACE_DEVICE) {
    rules.cuts_regions = (device_flags & MS_DEVICE_LINEAR_POINTERS) != 0;
  }
  rules.alignment = std::max<size_t>(rules.alignment, space.alignment);
  rules.granularity = std::max<size_t>(rules.alignment, space.granularity);
  if (space.max_alloc != 0) {
    rules.largest_region = space.max_alloc / rules.granularity * rules.granularity;
  }
  return rules;
}

}  // namespace

// ---- Buffers ----

// Work that used it is on the compute stream, or was waited for there.
class DeviceMemory::OwnedBuffer final : public DeviceBuffer {
 public:
  // `address` is the arena's.
  OwnedBuffer(DeviceMemory* memory, char* address, size_t size)
      : DeviceBuffer(memory, memory->regions_->PlaceOf(address, size), memory->is_opaque_, size,
                     /*writable=*/true),
        address_(address) {}

 private:
  ~OwnedBuffer() override { memory()->arena_->Release(address_, {memory()->compute_->Now()}); }
  char* const address_;
};

// Memory that the plugin pools. As above: the compute stream is the last that uses it.
class DeviceMemory::PooledBuffer final : public DeviceBuffer {
 public:
  PooledBuffer(DeviceMemory* memory, const MS_MemRef& block, size_t size)
      : DeviceBuffer(memory, memory->Own(block), memory->is_opaque_, size, /*writable=*/true),
        block_(block) {}

 private:
  ~PooledBuffer() override { memory()->FreePooled(block_); }
  const MS_MemRef block_;
};

class DeviceMemory::BorrowedBuffer final : public DeviceBuffer {
 public:
  BorrowedBuffer(DeviceMemory* memory, const MS_MemRef& place)
      : DeviceBuffer(memory, memory->Own(place), memory->is_opaque_, place.bytes,
                     /*writable=*/false) {}
};

class DeviceMemory::WrappedBuffer final : public DeviceBuffer {
 public:
  WrappedBuffer(DeviceMemory* memory, const MS_MemRef& place, std::function<void()> release)
      : DeviceBuffer(memory, memory->Own(place), memory->is_opaque_, place.bytes,
                     /*writable=*/false),
        release_(std::move(release)) {}

 private:
  ~WrappedBuffer() override { memory()->CallWhenUnused(release_); }
  const std::function<void()> release_;
};

// The caller that enqueues a copy from or to it keeps a reference until the copy is complete.
class DeviceMemory::PinnedBuffer final : public Buffer {
 public:
  PinnedBuffer(DeviceMemory* memory, void* address, size_t size)
      : Buffer(address, size, /*writable=*/true, MemorySpace::kPinned), memory_(memory) {}
  DeviceMemory* memory() const { return memory_; }

 private:
  ~PinnedBuffer() override { memory_->pinned_arena_->Release(static_cast<char*>(data()), {}); }
  DeviceMemory* const memory_;
};

void DeviceMemory::FreePooled(const MS_MemRef& block) {
  if (compute_->raw() != nullptr) {
    device_.functions->free_on_stream(compute_->raw(), &block);
    return;
  }
  // The streams are gone, and what was enqueued on them with them. A device that is lost gives no
  // other stream; it is about to go, with its memory.
  MS_Stream* last = nullptr;
  const Status created =
      TakeAbiStatus(device_.functions->stream_create(device_.device, MS_STREAM_COMPUTE, 0, &last));
  if (!created.ok() || last == nullptr) return;
  device_.functions->free_on_stream(last, &block);
  device_.functions->stream_destroy(last);
}

StatusOr<BufferRef> DeviceMemory::AllocatePooled(DeviceStream* stream, size_t bytes) {
  const size_t wanted = rules_.RegionSize(std::max<size_t>(bytes, 1));
  if (wanted > rules_.largest_region || AllocationFaults::FailsNext()) {
    return errors::ResourceExhausted("no memory for ", bytes, " bytes: the device gives at most ",
                                     rules_.largest_region, " at once");
  }
  MS_MemRef block = {};
  const auto allocate = [&] {
    return Describe(TakeAbiStatus(device_.functions->alloc_on_stream(
                        stream->raw(), MS_SPACE_DEVICE, wanted, rules_.alignment, &block)),
                    "alloc_on_stream");
  };
  Status allocated = allocate();
  if (absl::IsResourceExhausted(allocated) && reclaim_) {
    reclaim_();
    allocated = allocate();
  }
  // What was freed on streams is free once they come to it.
  if (absl::IsResourceExhausted(allocated) && AwaitIdle()) allocated = allocate();
  MS_RETURN_IF_ERROR(allocated);
  const auto address = reinterpret_cast<uintptr_t>(block.base) + block.offset;
  const bool is_aligned = is_opaque_ || address % rules_.alignment == 0;
  if (block.base == nullptr || block.bytes < wanted || !is_aligned) {
    if (block.base != nullptr) FreePooled(block);
    return errors::Internal("plugin ", device_.plugin->name, ", device ", name_,
                            ", alloc_on_stream: asked were ", wanted, " bytes aligned to ",
                            rules_.alignment, ", given were ", block.bytes, " at 0x",
                            absl::Hex(address));
  }
  return BufferRef::Adopt(new PooledBuffer(this, block, bytes));
}

ArenaStats DeviceMemory::PooledStats() const {
  ArenaStats stats;
  stats.limit = arena_->stats().limit;
  MS_MemStats given = {};
  given.head.size = sizeof(given);
  if (!MS_HAS(device_.functions, mem_stats) ||
      !TakeAbiStatus(device_.functions->mem_stats(device_.device, &given)).ok()) {
    return stats;
  }
  const auto valid = [&given](int field, uint64_t value) {
    return (given.valid_mask >> field & 1) != 0 ? value : 0;
  };
  stats.in_use = valid(0, given.in_use);
  stats.peak_in_use = valid(1, given.peak);
  stats.reserved = std::max(stats.in_use, valid(2, given.reserved));
  stats.peak_reserved = std::max(stats.peak_in_use, valid(3, given.peak_reserved));
  stats.largest_free = valid(7, given.largest_free);
  stats.allocations = static_cast<int64_t>(valid(5, given.num_allocs));
  return stats;
}

StatusOr<BufferRef> DeviceMemory::AllocateFor(DeviceStream* stream, size_t bytes) {
  if (is_pooled_) return AllocatePooled(stream, bytes);
  // Empty tensors have an address, too, by which planned memory is known.
  const size_t wanted = std::max<size_t>(bytes, 1);
  StatusOr<Arena::Allocation> allocation = arena_->Allocate(wanted, stream->number());
  if (absl::IsResourceExhausted(allocation.status()) && reclaim_) {
    reclaim_();
    allocation = arena_->Allocate(wanted, stream->number());
  }
  MS_RETURN_IF_ERROR(allocation.status());
  BufferRef buffer = BufferRef::Adopt(new OwnedBuffer(this, allocation->address, bytes));
  for (const StreamPoint& point : allocation->waits) {
    MS_ASSIGN_OR_RETURN(const EventRef event, StreamOf(point)->EventAt(point));
    MS_RETURN_IF_ERROR(stream->Wait(event));
  }
  return buffer;
}

StatusOr<BufferRef> DeviceMemory::AllocateBuffer(size_t bytes) {
  return AllocateFor(compute_.get(), bytes);
}

StatusOr<Tensor> DeviceMemory::AllocateTensor(DeviceStream* stream, DataType dtype,
                                              const Shape& shape) {
  MS_RETURN_IF_ERROR(ValidateShape(shape));
  const int64_t count = shape.num_elements();
  size_t bytes = 0;
  if (!IsPlainData(dtype) || __builtin_mul_overflow(count, DataTypeSize(dtype), &bytes)) {
    return errors::InvalidArgument("a device has no memory for ", DataTypeName(dtype),
                                   shape.ToString());
  }
  StatusOr<BufferRef> buffer = AllocateFor(stream, bytes);
  if (!buffer.ok()) {
    return Status(buffer.status().code(),
                  absl::StrCat(buffer.status().message(), ", for ", DataTypeName(dtype),
                               shape.ToString(), " on ", name_));
  }
  return Tensor(dtype, shape, *std::move(buffer));
}

StatusOr<Tensor> DeviceMemory::Allocate(DataType dtype, const Shape& shape) {
  return AllocateTensor(compute_.get(), dtype, shape);
}

// The place, as of this device.
MS_MemRef DeviceMemory::Own(MS_MemRef place) const {
  place.device_index = ordinal_;
  return place;
}

Tensor DeviceMemory::Borrow(DataType dtype, const Shape& shape, const MS_MemRef& place) {
  return Tensor(dtype, shape, BufferRef::Adopt(new BorrowedBuffer(this, place)));
}

Tensor DeviceMemory::Wrap(DataType dtype, const Shape& shape, const MS_MemRef& place,
                          std::function<void()> release) {
  return Tensor(dtype, shape, BufferRef::Adopt(new WrappedBuffer(this, place, std::move(release))));
}

// Of a device without pinned memory: the host's.
StatusOr<Tensor> DeviceMemory::AllocatePinned(DataType dtype, const Shape& shape) {
  if (pinned_arena_ == nullptr) return Tensor::Create(dtype, shape);
  const size_t bytes = shape.num_elements() * DataTypeSize(dtype);
  StatusOr<Arena::Allocation> allocation =
      pinned_arena_->Allocate(std::max<size_t>(bytes, 1), kHostStream);
  if (!allocation.ok()) return Tensor::Create(dtype, shape);  // slower, and no reason to fail
  return Tensor(dtype, shape, BufferRef::Adopt(new PinnedBuffer(this, allocation->address, bytes)));
}

// ---- Copies ----

Status DeviceMemory::Describe(const Status& status, const char* stage) const {
  if (status.ok()) return status;
  return Status(status.code(), absl::StrCat("plugin ", device_.plugin->name, ", device ", name_,
                                            ", ", stage, ": ", status.message()));
}

// Memory that another device has pinned is host memory like any other for this one.
MS_MemRef DeviceMemory::OwnPlaceOf(const Tensor& tensor) const {
  MS_MemRef place = Own(PlaceOf(tensor));
  if (tensor.space() != MemorySpace::kPinned) return place;
  const auto& pinned = static_cast<const PinnedBuffer&>(*tensor.buffer().get());
  if (pinned.memory() != this) place.space = MS_SPACE_HOST;
  return place;
}

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

// What is enqueued on the compute stream from now on comes after what `stream` has.
Status DeviceMemory::HandOver(DeviceStream* stream) {
  MS_ASSIGN_OR_RETURN(const EventRef done, stream->Mark());
  return compute_->Wait(done);
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
  Status followed = HandOver(to_device_.get());
  if (followed.ok()) followed = to_device_->CallAfter([staged] {});  // it is kept until it was read
  MS_RETURN_IF_ERROR(KeepUnless(followed, {tensor, staged}));
  return tensor;
}

StatusOr<Tensor> DeviceMemory::CopyToHost(const Tensor& tensor,
                                          std::function<void(const Tensor&)> done,
                                          const SpanRef& span) {
  MS_ASSIGN_OR_RETURN(Tensor host, AllocatePinned(tensor.dtype(), tensor.shape()));
  MS_ASSIGN_OR_RETURN(const EventRef computed, compute_->Mark());
  MS_RETURN_IF_ERROR(to_host_->Wait(computed));
  StartSpan(to_host_.get(), span).IgnoreError();
  MS_RETURN_IF_ERROR(EnqueueCopy(to_host_.get(), "copy to the host", host, tensor));
  EndSpan(to_host_.get(), span).IgnoreError();
  const Status followed = to_host_->CallAfter([tensor, host, done = std::move(done)] {
    if (done) done(host);
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
  MS_RETURN_IF_ERROR(from_peer_->Wait(ready));
  StartSpan(from_peer_.get(), span).IgnoreError();
  const MS_MemRef to = PlaceOf(copy);
  const MS_MemRef from = PlaceOf(tensor);
  MS_RETURN_IF_ERROR(Describe(TakeAbiStatus(device_.functions->copy_peer_async(
                                  from_peer_->raw(), &to, &from, tensor.bytes())),
                              "copy from another device"));
  EndSpan(from_peer_.get(), span).IgnoreError();
  Status followed = HandOver(from_peer_.get());
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

// ---- Time ----

DeviceStream* DeviceMemory::StreamOf(const StreamPoint& point) {
  switch (point.stream) {
    case kToDeviceStream: return to_device_.get();
    case kToHostStream: return to_host_.get();
    case kFromPeerStream: return from_peer_.get();
    default: return compute_.get();
  }
}

void DeviceMemory::UpdateProgress() {
  for (DeviceStream* stream :
       {compute_.get(), to_device_.get(), to_host_.get(), from_peer_.get()}) {
    if (stream != nullptr) stream->Poll();
  }
}

Status DeviceMemory::AwaitCompute() {
  MS_ASSIGN_OR_RETURN(const EventRef computed, compute_->Mark());
  return Describe(TakeAbiStatus(device_.functions->event_sync(computed.get())),
                  "work on the device");
}

bool DeviceMemory::HasHappened(const EventRef& event) const {
  uint8_t done = 0;
  const Status asked = TakeAbiStatus(device_.functions->event_query(event.get(), &done));
  return asked.ok() && done != 0;
}

const char* DeviceMemory::LaneOf(uint32_t stream) {
  switch (stream) {
    case kToDeviceStream: return "to device";
    case kToHostStream: return "to host";
    case kFromPeerStream: return "from peer";
    default: return "compute";
  }
}

// In the order in which work goes from stream to stream.
bool DeviceMemory::AwaitIdle() {
  const absl::Time deadline = SteadyNow() + kLongestWaitForMemory;
  for (DeviceStream* stream :
       {to_device_.get(), from_peer_.get(), compute_.get(), to_host_.get()}) {
    const StatusOr<EventRef> end = stream->Mark();
    uint8_t done = 0;
    while (end.ok() && done == 0 && SteadyNow() < deadline) {
      if (!TakeAbiStatus(device_.functions->event_query(end->get(), &done)).ok()) return false;
      if (done == 0) absl::SleepFor(kPollInterval);
    }
    if (done == 0) return false;
  }
  return true;
}

// What goes to the device, or comes from another one, the compute stream has waited for.
Status DeviceMemory::CallWhenDone(std::function<void()> call) {
  MS_ASSIGN_OR_RETURN(const EventRef computed, compute_->Mark());
  MS_RETURN_IF_ERROR(to_host_->Wait(computed));
  return Describe(to_host_->CallAfter(std::move(call)), "end of the step");
}

void DeviceMemory::CallWhenUnused(const std::function<void()>& call) {
  if (!CallWhenDone(call).ok()) call();
}

Status DeviceMemory::LostError() const {
  return Describe(TakeAbiStatus(device_.functions->device_error(device_.device)),
                  "work on the device");
}

// Whether nothing is enqueued. An error, of which the plugin tells once, is kept for all who ask.
bool DeviceMemory::LookForErrors() {
  {
    absl::MutexLock lock(&mutex_);
    ++num_looking_;
  }
  bool all_idle = true;
  for (DeviceStream* stream :
       {to_device_.get(), from_peer_.get(), compute_.get(), to_host_.get()}) {
    bool idle = true;
    const Status asked = Describe(stream->Query(&idle), "work on the device");
    if (!asked.ok()) {
      stream->Query(&idle).IgnoreError();  // which the error did not say
      absl::MutexLock lock(&mutex_);
      ++num_errors_;
      last_error_ = asked;
    }
    all_idle = all_idle && idle;
  }
  absl::MutexLock lock(&mutex_);
  --num_looking_;
  return all_idle;
}

int64_t DeviceMemory::num_errors() const {
  absl::MutexLock lock(&mutex_);
  return num_errors_;
}

Status DeviceMemory::ErrorSince(int64_t num_errors) {
  UpdateProgress();
  MS_RETURN_IF_ERROR(LostError());
  LookForErrors();
  absl::MutexLock lock(&mutex_);
  // Another thread may have been told of an error and not have noted it yet.
  mutex_.Await(absl::Condition(
      +[](int* num_looking) { return *num_looking == 0; }, &num_looking_));
  return num_errors_ > num_errors ? last_error_ : absl::OkStatus();
}

bool DeviceMemory::ForgetAbandoned() {
  // Further ones may come meanwhile, with work that the look did not see.
  const uint64_t abandoned = abandoned_.load();
  uint64_t forgotten = forgotten_.load();
  if (forgotten >= abandoned) return true;
  if (!LookForErrors()) return false;
  while (forgotten < abandoned && !forgotten_.compare_exchange_weak(forgotten, abandoned)) {
  }
  return true;
}

void DeviceMemory::Close() {
  if (std::exchange(closed_, true)) return;
  DeviceStream* const streams[] = {to_device_.get(), from_peer_.get(), compute_.get(),
                                   to_host_.get()};
  for (DeviceStream* stream : streams) {
    if (!HasAbandoned()) stream->Sync().IgnoreError();
  }
  UpdateProgress();
  if (capture_ != nullptr) capture_->Close();
  for (DeviceStream* stream : streams) stream->Destroy();
  // What the calls hold may be memory of this device.
  poller_.End();
  std::vector<Tensor> kept;
  absl::MutexLock lock(&mutex_);
  kept.swap(kept_);
}

// ---- The whole ----

DeviceMemory::DeviceMemory(const OpenDevice& device, std::string name, uint32_t ordinal)
    : device_(device),
      name_(std::move(name)),
      ordinal_(ordinal),
      events_(device.functions, device.device),
      poller_(device.functions) {}

Status DeviceMemory::Open(const MS_DeviceDesc& description) {
  uint64_t free_bytes = 0;
  uint64_t total_bytes = 0;
  MS_RETURN_IF_ERROR(
      TakeAbiStatus(device_.functions->mem_info(device_.device, &free_bytes, &total_bytes)));
  if (free_bytes > total_bytes || total_bytes > (uint64_t{1} << 62)) {
    return errors::Internal("plugin ", device_.plugin->name, ", device ", name_,
                            ": ms.device/1.mem_info reports ", free_bytes, " free bytes of ",
                            total_bytes);
  }
  OpenMemory(description, total_bytes);
  if (is_pooled_ &&
      (!MS_HAS(device_.functions, alloc_on_stream) || !MS_HAS(device_.functions, free_on_stream))) {
    return errors::Unimplemented("plugin ", device_.plugin->name, ", device ", name_,
                                 ": its memory is MS_ALLOC_POOLED, and it has no alloc_on_stream");
  }
  return OpenStreams();
}

void DeviceMemory::OpenMemory(const MS_DeviceDesc& description, uint64_t total_bytes) {
  const auto update = [this] { UpdateProgress(); };
  const MS_SpaceDesc& own = *FindSpace(description, MS_SPACE_DEVICE);
  rules_ = RulesOf(own, description.flags);
  is_opaque_ = (own.flags & MS_SPACE_LINEAR) == 0;
  is_pooled_ = own.mode == MS_ALLOC_POOLED;
  dlpack_device_type_ = is_opaque_ ? 0 : static_cast<int32_t>(description.dlpack_device_type);
  regions_ = std::make_unique<DeviceRegions>(
      device_, name_, MS_SPACE_DEVICE, is_opaque_, ordinal_, rules_.alignment,
      [this] {
        compute_->MarkAsked();  // where memory was released
        UpdateProgress();
      },
      [this] { return AwaitIdle(); });
  arena_ = std::make_unique<Arena>(regions_.get(), &progress_, total_bytes, rules_);
  ArenaRules pinned_rules;
  if (const MS_SpaceDesc* const pinned = FindSpace(description, MS_SPACE_HOST_PINNED)) {
    pinned_rules = RulesOf(*pinned, description.flags);
    pinned_regions_ = std::make_unique<DeviceRegions>(
        device_, name_, MS_SPACE_HOST_PINNED, /*is_opaque=*/false, /*ordinal=*/0,
        pinned_rules.alignment, update, [] { return false; });
  } else if (MS_HAS(device_.functions, host_register) &&
             MS_HAS(device_.functions, host_unregister)) {
    pinned_regions_ = std::make_unique<RegisteredRegions>(device_, update);
  }
  if (pinned_regions_ == nullptr) return;
  pinned_arena_ =
      std::make_unique<Arena>(pinned_regions_.get(), &progress_, kMostPinnedBytes, pinned_rules);
}

Status DeviceMemory::OpenStreams() {
  const DeviceStream::Shared shared{device_.functions, device_.device, &events_, &poller_,
                                    &progress_};
  MS_ASSIGN_OR_RETURN(compute_, DeviceStream::Create(shared, MS_STREAM_COMPUTE, kComputeStream));
  context_ = {{sizeof(context_), 0, nullptr},
              device_.device,
              compute_->raw(),
              device_.functions->stream_native(compute_->raw()),
              ordinal_,
              0};
  MS_ASSIGN_OR_RETURN(to_device_, DeviceStream::Create(shared, MS_STREAM_H2D, kToDeviceStream));
  MS_ASSIGN_OR_RETURN(to_host_, DeviceStream::Create(shared, MS_STREAM_D2H, kToHostStream));
  MS_ASSIGN_OR_RETURN(from_peer_, DeviceStream::Create(shared, MS_STREAM_D2D, kFromPeerStream));
  if (device_.plugin->capture != nullptr) {
    capture_ =
        std::make_unique<DeviceCapture>(device_.plugin->capture, device_.functions, device_.device);
  }
  return absl::OkStatus();
}

StatusOr<std::unique_ptr<DeviceMemory>> DeviceMemory::Create(const OpenDevice& device,
                                                             std::string name,
                                                             const MS_DeviceDesc& description) {
  std::unique_ptr<DeviceMemory> memory;
  if (description.flags & MS_DEVICE_HOST_IS_DEVICE) return memory;
  if (FindSpace(description, MS_SPACE_DEVICE) == nullptr) return memory;
  memory.reset(new DeviceMemory(device, std::move(name), description.ordinal));
  const Status opened = memory->Open(description);
  if (!opened.ok()) return memory->Describe(opened, "creation of streams");
  return memory;
}

DeviceMemory::~DeviceMemory() {
  const bool opened = from_peer_ != nullptr;
  if (opened) Close();
}

size_t DeviceMemory::Trim() {
  UpdateProgress();
  return arena_->Trim() + (pinned_arena_ == nullptr ? 0 : pinned_arena_->Trim());
}

int32_t DeviceBuffer::dlpack_device_type() const { return memory_->dlpack_device_type(); }

Status DeviceBuffer::AwaitWritten() const { return memory_->AwaitCompute(); }

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
