#include "device_plugins/sim/device.h"

#include <algorithm>
#include <set>
#include <utility>

#include "device_plugins/sim/log.h"

namespace millstream::sim {
namespace {

constexpr uint64_t kMegabyte = 1 << 20;
constexpr uint64_t kBytesPerSecond = 1000 * 1000;  // of the switch copy_mb_per_s
// What the switch garbage_sizes gives: more is free than there is, and both are negative when taken
// for signed numbers.
constexpr uint64_t kGarbage = UINT64_MAX - 1;

// Guarded by StateMutex(). Lives for ever: devices may be there when the process ends.
std::set<const Device*>& AllDevices() {
  static auto* const devices = new std::set<const Device*>();
  return *devices;
}

Counted WhatCounts(const Item& item) {
  if (item.kind == Item::Kind::kWork) return Counted::kWork;
  return item.kind == Item::Kind::kCopy ? Counted::kCopies : Counted::kNothing;
}

}  // namespace

Device::Device(uint32_t ordinal, const Switches& switches)
    : ordinal_(ordinal), name_(ms::StrCat("SIM:", ordinal)), switches_(switches) {}

ms::Status Device::Create(uint32_t ordinal, const Switches& switches,
                          std::unique_ptr<Device>* out) {
  std::unique_ptr<Device> device(new Device(ordinal, switches));
  if (switches.fail_create != 0) {
    return ms::Internal(device->name_, " cannot be created: switch fail_create");
  }
  const Memory::Rules rules{switches.memory_mb * kMegabyte, switches.opaque != 0,
                            switches.pinned != 0, switches.poison != 0};
  MS_TRY(Memory::Create(device->name_, ordinal, rules, &device->memory_));
  {
    const std::lock_guard<std::mutex> lock(StateMutex());
    AllDevices().insert(device.get());
    if (switches.lost != 0) device->Lose("switch lost");
  }
  *out = std::move(device);
  return ms::Status();
}

Device::~Device() {
  {
    const std::lock_guard<std::mutex> lock(StateMutex());
    AllDevices().erase(this);
    if (!streams_.empty()) Lose("it was destroyed");
  }
  const std::vector<std::shared_ptr<Stream>> streams = Streams();
  if (!streams.empty())
    Warn(ms::StrCat(name_, " is destroyed before ", streams.size(), " streams"));
  for (const auto& stream : streams) stream->Close();
  if (num_graphs_ != 0) {
    Warn(
        ms::StrCat(name_, " is destroyed before ", num_graphs_.load(), " graphs of recorded work"));
  }
}

std::vector<Device*> Device::AllOf(uint32_t ordinal) {
  const std::lock_guard<std::mutex> lock(StateMutex());
  std::vector<Device*> all;
  for (const Device* device : AllDevices()) {
    if (device->ordinal_ == ordinal) all.push_back(const_cast<Device*>(device));
  }
  return all;
}

bool Device::Exists(const Device* device) {
  const std::lock_guard<std::mutex> lock(StateMutex());
  return AllDevices().count(device) != 0;
}

// ---- Memory -------------------------------------------------------------------------------------

ms::Status Device::Allocate(uint32_t space, uint64_t bytes, uint64_t alignment, MS_MemRef* out) {
  *out = MS_MemRef{nullptr, 0, bytes, space, ordinal_};
  {
    const std::lock_guard<std::mutex> lock(StateMutex());
    MS_TRY(LostStatus());
    const uint64_t number = ++Count(Counted::kAllocations);
    if (number == switches_.fail_alloc) {
      return Fault(MS_RESOURCE_EXHAUSTED, "allocation", number, "fail_alloc");
    }
  }
  return memory_->Allocate(space, bytes, alignment, out);
}

ms::Status Device::MemInfo(uint64_t* free_bytes, uint64_t* total_bytes) const {
  *free_bytes = memory_->FreeBytes();
  *total_bytes = memory_->limit();
  const std::lock_guard<std::mutex> lock(StateMutex());
  if (switches_.garbage_sizes != 0) {
    *free_bytes = kGarbage + 1;
    *total_bytes = kGarbage;
  }
  return LostStatus();
}

ms::Status Device::MemStats(MS_MemStats* stats) const {
  memory_->FillStats(stats);
  const std::lock_guard<std::mutex> lock(StateMutex());
  if (switches_.garbage_sizes != 0) {
    stats->valid_mask = kGarbage;
    stats->in_use = stats->reserved = kGarbage + 1;
    stats->peak = stats->peak_reserved = stats->limit = kGarbage;
    stats->num_allocs = stats->largest_alloc = stats->largest_free = kGarbage;
  }
  return LostStatus();
}

// ---- Streams ------------------------------------------------------------------------------------

ms::Status Device::CreateStream(uint32_t role, Stream** out) {
  if (role > MS_STREAM_D2D) return ms::Unimplemented(name_, " has no streams of role ", role);
  std::shared_ptr<Stream> stream;
  {
    const std::lock_guard<std::mutex> lock(StateMutex());
    MS_TRY(LostStatus());
    stream = std::make_shared<Stream>(this, num_streams_++, switches_.seed);
  }
  stream->Start(role);
  *out = stream.get();
  const std::lock_guard<std::mutex> lock(StateMutex());
  streams_.push_back(std::move(stream));
  return ms::Status();
}

void Device::DestroyStream(Stream* stream) {
  // Still in the list while it is closed: whoever loses the device wakes it up.
  stream->Close();
  std::shared_ptr<Stream> owned;
  const std::lock_guard<std::mutex> lock(StateMutex());
  const auto found = std::find_if(streams_.begin(), streams_.end(),
                                  [stream](const auto& other) { return other.get() == stream; });
  owned = std::move(*found);
  streams_.erase(found);
}

std::vector<std::shared_ptr<Stream>> Device::Streams() const {
  const std::lock_guard<std::mutex> lock(StateMutex());
  return streams_;
}

ms::Status Device::Sync() {
  ms::Status result = Error();
  for (const auto& stream : Streams()) {
    ms::Status status = stream->Sync();
    if (result.ok()) result = std::move(status);
  }
  return result;
}

ms::Status Device::Error() const {
  const std::lock_guard<std::mutex> lock(StateMutex());
  return LostStatus();
}

// ---- Faults -------------------------------------------------------------------------------------

ms::Status Device::Set(std::string_view name, std::string_view value) {
  const std::lock_guard<std::mutex> lock(StateMutex());
  Switches changed = switches_;
  MS_TRY(SetSwitch(name, value, &changed));
  const SwitchInfo& info = *FindSwitch(name);
  if (!info.is_live) {
    return ms::Status(MS_FAILED_PRECONDITION,
                      ms::StrCat(name_, " exists: ", name, " counts when it is created"));
  }
  uint64_t& number = changed.*info.value;
  if (info.counts != Counted::kNothing && number != 0) number += Count(info.counts);
  switches_ = changed;
  if (switches_.lost != 0) Lose("switch lost");
  for (const auto& stream : streams_) stream->WakeUp();
  return ms::Status();
}

uint64_t Device::CountHung() const {
  const std::lock_guard<std::mutex> lock(StateMutex());
  return static_cast<uint64_t>(std::count_if(streams_.begin(), streams_.end(),
                                             [](const auto& stream) { return stream->hung(); }));
}

bool Device::has_peers() const {
  const std::lock_guard<std::mutex> lock(StateMutex());
  return switches_.peer != 0;
}

// ---- Recorded work ------------------------------------------------------------------------------

ms::Status Device::AdmitCapture() const {
  const std::lock_guard<std::mutex> lock(StateMutex());
  if (switches_.capture != 0) return ms::Status();
  return ms::Unimplemented(name_, " records no work: switch capture");
}

ms::Status Device::AdmitMoves() const {
  const std::lock_guard<std::mutex> lock(StateMutex());
  if (switches_.follow != 0) return ms::Status();
  return ms::Unimplemented(name_, ": recorded work cannot follow memory: switch follow");
}

ms::Status Device::CountRecording() {
  const std::lock_guard<std::mutex> lock(StateMutex());
  const uint64_t number = ++Count(Counted::kRecordings);
  if (number != switches_.fail_capture) return ms::Status();
  return Fault(MS_INTERNAL, "recording", number, "fail_capture");
}

ms::Status Device::CountReplay() {
  const std::lock_guard<std::mutex> lock(StateMutex());
  const uint64_t number = ++Count(Counted::kReplays);
  if (number != switches_.fail_replay) return ms::Status();
  return Fault(MS_INTERNAL, "replay", number, "fail_replay");
}

uint64_t Device::num_replays() const {
  const std::lock_guard<std::mutex> lock(StateMutex());
  return Count(Counted::kReplays);
}

ms::Status Device::LostStatus() const {
  if (!lost_) return ms::Status();
  return ms::Status(MS_UNAVAILABLE, ms::StrCat(name_, " is lost: ", lost_reason_));
}

void Device::Lose(const std::string& reason) {
  if (lost_) return;
  lost_ = true;
  lost_reason_ = reason;
  for (const auto& stream : streams_) stream->WakeUp();
}

ms::Status Device::Admit(Item* item) {
  const Counted counted = WhatCounts(*item);
  if (counted == Counted::kNothing) return ms::Status();
  item->number = ++Count(counted);
  const bool is_work = counted == Counted::kWork;
  if (item->number != (is_work ? switches_.fail_work : switches_.fail_copy)) return ms::Status();
  return Fault(MS_INTERNAL, is_work ? "work" : "copy", item->number,
               is_work ? "fail_work" : "fail_copy");
}

ms::Status Device::AdmitAll(std::vector<Item>* items) {
  const auto counts = counts_;
  for (Item& item : *items) {
    ms::Status admitted = Admit(&item);
    if (admitted.ok()) continue;
    counts_ = counts;
    return admitted;
  }
  return ms::Status();
}

ms::Status Device::Fault(MS_Code code, const char* what, uint64_t number, const char* name) const {
  return ms::Status(code, ms::StrCat(name_, ": ", what, " ", number, " fails: switch ", name));
}

bool Device::HangsAt(const Item& item) const {
  return item.number ==
         (item.kind == Item::Kind::kWork ? switches_.hang_work : switches_.hang_copy);
}

bool Device::LosesAt(const Item& item) const {
  return item.number ==
         (item.kind == Item::Kind::kWork ? switches_.lose_work : switches_.lose_copy);
}

std::chrono::nanoseconds Device::ModelledTime(const Switches& switches, const Item& item,
                                              std::chrono::nanoseconds elapsed) {
  std::chrono::nanoseconds time = std::chrono::microseconds(switches.latency_us);
  if (item.kind == Item::Kind::kWork) {
    return time + elapsed * 100 / static_cast<int64_t>(switches.speed_percent);
  }
  if (switches.copy_mb_per_s != 0) {
    const double seconds = static_cast<double>(item.bytes) /
                           static_cast<double>(switches.copy_mb_per_s * kBytesPerSecond);
    time += std::chrono::nanoseconds(static_cast<int64_t>(seconds * 1e9));
  }
  return time;
}

}  // namespace millstream::sim
