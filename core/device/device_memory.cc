#include "core/device/device_memory.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "core/device/device_buffer.h"
#include "framework/plugin/host_status.h"
#include "framework/steady_time.h"

namespace millstream {
namespace {

// The limit of pinned memory, which is scarcer than other memory.
constexpr size_t kMostPinnedBytes = size_t{1} << 30;

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

// ---- Streams, and the work on them ----

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

StatusOr<EventRef> DeviceMemory::MarkCompute() {
  StatusOr<EventRef> computed = compute_->Mark();
  if (!computed.ok()) return Describe(computed.status(), "work on the device");
  return computed;
}

Status DeviceMemory::AwaitCompute() {
  MS_ASSIGN_OR_RETURN(const EventRef computed, MarkCompute());
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
  Status asked = Follow(to_host_.get(), compute_.get());
  if (asked.ok()) asked = to_host_->CallAfter(std::move(call));
  return Describe(asked, "end of the step");
}

Status DeviceMemory::CallAfterCopies(std::function<void()> call) {
  return Describe(to_host_->CallAfter(std::move(call)), "copies to the host");
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

bool DeviceMemory::ForgetAbandonedOrLost() {
  if (LostError().ok()) return ForgetAbandoned();
  for (DeviceStream* stream :
       {to_device_.get(), from_peer_.get(), compute_.get(), to_host_.get()}) {
    stream->Sync().IgnoreError();
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

// ---- Opening and closing ----

Status DeviceMemory::Describe(const Status& status, const char* stage) const {
  if (status.ok()) return status;
  return Status(status.code(), absl::StrCat("plugin ", device_.plugin->name, ", device ", name_,
                                            ", ", stage, ": ", status.message()));
}

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

}  // namespace millstream
