// A device that works in host memory and whose streams run all work synchronously on the caller's
// thread. It has the parts of "ms.devices/1" and "ms.device/1" that a CPU plugin needs, and is a
// starting point for simulated devices. Header only; compiled into the plugin.
//
//   struct MyDevices {
//     static ms::HostDeviceText Text() { return {"CPU", "Host CPU", "", "x86-64", flags}; }
//   };
//   ... GetInterface(id): return ms::HostDevices<MyDevices>::GetInterface(id);
#ifndef MILLSTREAM_FRAMEWORK_PLUGIN_HOST_DEVICE_HPP_
#define MILLSTREAM_FRAMEWORK_PLUGIN_HOST_DEVICE_HPP_

#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <string_view>

#include "framework/plugin/plugin.hpp"

namespace ms {
inline namespace v1 {

// The description of a device. Strings must be static.
struct HostDeviceText {
  const char* device_type;
  const char* name;
  const char* vendor;
  const char* arch;
  uint64_t flags;  // MS_DEVICE_*
};

// The alignment of every allocation, in bytes: a cache line and the widest vector.
inline constexpr uint64_t kHostAlignment = 64;

// One logical device: the MS_Device of these tables. Thread-safe.
class HostDevice {
 public:
  explicit HostDevice(uint32_t ordinal) : ordinal_(ordinal) {}

  uint32_t ordinal() const { return ordinal_; }

  // RESOURCE_EXHAUSTED if memory is exhausted. `alignment` is a power of two or 0.
  Status Allocate(uint32_t space, uint64_t bytes, uint64_t alignment, MS_MemRef* out) {
    if (space > MS_SPACE_HOST) return Unimplemented("memory space ", space, " is unknown");
    if ((alignment & (alignment - 1)) != 0) {
      return InvalidArgument("alignment ", alignment, " is not a power of two");
    }
    *out = MS_MemRef{nullptr, 0, bytes, space, ordinal_};
    if (bytes == 0) return Status();
    const uint64_t granule = std::max(alignment, kHostAlignment);
    const uint64_t total = TotalMemory();
    if (bytes <= total) {
      out->base = std::aligned_alloc(granule, (bytes + granule - 1) / granule * granule);
    }
    if (out->base == nullptr) {
      return Status(MS_RESOURCE_EXHAUSTED,
                    StrCat("no ", bytes, " bytes of host memory: the machine has ", total,
                           ", this device uses ", in_use_.load(std::memory_order_relaxed)));
    }
    Count(bytes);
    return Status();
  }

  void Free(const MS_MemRef& ref) {
    if (ref.base == nullptr) return;
    std::free(ref.base);
    in_use_.fetch_sub(ref.bytes, std::memory_order_relaxed);
  }

  void FillStats(MS_MemStats* stats) const {
    stats->in_use = in_use_.load(std::memory_order_relaxed);
    stats->peak = peak_.load(std::memory_order_relaxed);
    stats->limit = TotalMemory();
    stats->num_allocs = num_allocs_.load(std::memory_order_relaxed);
    stats->largest_alloc = largest_.load(std::memory_order_relaxed);
    // in_use, peak, limit, num_allocs, largest_alloc
    stats->valid_mask = 1u | 2u | 16u | 32u | 64u;
  }

  static uint64_t TotalMemory() { return Pages(_SC_PHYS_PAGES); }
  static uint64_t FreeMemory() { return Pages(_SC_AVPHYS_PAGES); }

 private:
  static uint64_t Pages(int name) {
    const long pages = sysconf(name);         // NOLINT: the type that POSIX gives
    const long size = sysconf(_SC_PAGESIZE);  // NOLINT
    return pages < 0 || size < 0 ? 0 : static_cast<uint64_t>(pages) * static_cast<uint64_t>(size);
  }
  static void RaiseTo(std::atomic<uint64_t>* maximum, uint64_t value) {
    uint64_t seen = maximum->load(std::memory_order_relaxed);
    while (seen < value && !maximum->compare_exchange_weak(seen, value)) {
    }
  }
  void Count(uint64_t bytes) {
    num_allocs_.fetch_add(1, std::memory_order_relaxed);
    RaiseTo(&peak_, in_use_.fetch_add(bytes, std::memory_order_relaxed) + bytes);
    RaiseTo(&largest_, bytes);
  }

  const uint32_t ordinal_;
  std::atomic<uint64_t> in_use_{0};
  std::atomic<uint64_t> peak_{0};
  std::atomic<uint64_t> num_allocs_{0};
  std::atomic<uint64_t> largest_{0};
};

// A stream without pending work.
struct HostStream {
  HostDevice* device;
};

// An event that is done as soon as it is recorded.
struct HostEvent {
  std::atomic<int64_t> recorded_ns{0};
};

// The functions of "ms.device/1".
struct HostDeviceFunctions {
  static HostDevice* Unwrap(MS_Device* device) { return reinterpret_cast<HostDevice*>(device); }
  static HostStream* Unwrap(MS_Stream* stream) { return reinterpret_cast<HostStream*>(stream); }
  static HostEvent* Unwrap(MS_Event* event) { return reinterpret_cast<HostEvent*>(event); }
  static char* Start(const MS_MemRef* ref) { return static_cast<char*>(ref->base) + ref->offset; }

  static MS_Status* MemAlloc(MS_Device* device, uint32_t space, uint64_t bytes, uint64_t alignment,
                             MS_MemRef* out) noexcept {
    return Guarded([&] { return Unwrap(device)->Allocate(space, bytes, alignment, out); });
  }
  static void MemFree(MS_Device* device, const MS_MemRef* ref) noexcept {
    Unwrap(device)->Free(*ref);
  }
  static MS_Status* MemInfo(MS_Device*, uint64_t* free_bytes, uint64_t* total_bytes) noexcept {
    *free_bytes = HostDevice::FreeMemory();
    *total_bytes = HostDevice::TotalMemory();
    return nullptr;
  }
  static MS_Status* MemStats(MS_Device* device, MS_MemStats* stats) noexcept {
    return Guarded([&]() -> Status {
      if (!MS_COVERS(stats, largest_free)) {
        return InvalidArgument("MS_MemStats has ", stats->head.size, " bytes, needed are ",
                               sizeof(MS_MemStats));
      }
      Unwrap(device)->FillStats(stats);
      return Status();
    });
  }

  static MS_Status* StreamCreate(MS_Device* device, uint32_t, int32_t, MS_Stream** out) noexcept {
    return Guarded([&]() -> Status {
      *out = reinterpret_cast<MS_Stream*>(new HostStream{Unwrap(device)});
      return Status();
    });
  }
  static void StreamDestroy(MS_Stream* stream) noexcept { delete Unwrap(stream); }
  static void* StreamNative(MS_Stream*) noexcept { return nullptr; }
  static MS_Status* StreamQuery(MS_Stream*, uint8_t* idle) noexcept {
    *idle = 1;
    return nullptr;
  }
  static MS_Status* StreamSync(MS_Stream*) noexcept { return nullptr; }
  static MS_Status* StreamWaitEvent(MS_Stream*, MS_Event*) noexcept { return nullptr; }
  static MS_Status* StreamHostFn(MS_Stream*, void (*fn)(void*), void* user) noexcept {
    fn(user);
    return nullptr;
  }

  static MS_Status* EventCreate(MS_Device*, uint32_t, MS_Event** out) noexcept {
    return Guarded([&]() -> Status {
      *out = reinterpret_cast<MS_Event*>(new HostEvent);
      return Status();
    });
  }
  static void EventDestroy(MS_Event* event) noexcept { delete Unwrap(event); }
  static MS_Status* EventRecord(MS_Event* event, MS_Stream*) noexcept {
    const auto now = std::chrono::steady_clock::now().time_since_epoch();
    Unwrap(event)->recorded_ns = std::chrono::nanoseconds(now).count();
    return nullptr;
  }
  static MS_Status* EventQuery(MS_Event*, uint8_t* done) noexcept {
    *done = 1;
    return nullptr;
  }
  static MS_Status* EventSync(MS_Event*) noexcept { return nullptr; }
  static MS_Status* Copy(MS_Stream*, const MS_MemRef* destination, const MS_MemRef* source,
                         uint64_t bytes) noexcept {
    return Guarded([&]() -> Status {
      if (bytes > destination->bytes || bytes > source->bytes) {
        return InvalidArgument("copy of ", bytes, " bytes from a block of ", source->bytes,
                               " to one of ", destination->bytes);
      }
      if (bytes != 0) std::memmove(Start(destination), Start(source), bytes);
      return Status();
    });
  }
  // Fills memory with the low `width` bytes of `pattern`, repeated.
  static MS_Status* Fill(MS_Stream*, const MS_MemRef* ref, uint32_t pattern, uint32_t width,
                         uint64_t bytes) noexcept {
    return Guarded([&]() -> Status {
      if (width != 1 && width != 2 && width != 4) {
        return InvalidArgument("a fill pattern has 1, 2 or 4 bytes, not ", width);
      }
      if (bytes > ref->bytes || bytes % width != 0) {
        return InvalidArgument("fill of ", bytes, " bytes, ", width, " at a time, in a block of ",
                               ref->bytes);
      }
      for (uint64_t at = 0; at < bytes; at += width) std::memcpy(Start(ref) + at, &pattern, width);
      return Status();
    });
  }
  static MS_Status* DeviceSync(MS_Device*) noexcept { return nullptr; }
  static MS_Status* DeviceError(MS_Device*) noexcept { return nullptr; }

  static const MS_DeviceApi* Table() {
    static const MS_DeviceApi table = [] {
      MS_DeviceApi api{};
      api.head = MS_Table{sizeof(MS_DeviceApi), 1, MS_ABI_MINOR, MS_DEVICE_API};
      api.mem_alloc = &MemAlloc;
      api.mem_free = &MemFree;
      api.mem_info = &MemInfo;
      api.mem_stats = &MemStats;
      api.stream_create = &StreamCreate;
      api.stream_destroy = &StreamDestroy;
      api.stream_native = &StreamNative;
      api.stream_query = &StreamQuery;
      api.stream_sync = &StreamSync;
      api.event_create = &EventCreate;
      api.event_destroy = &EventDestroy;
      api.event_record = &EventRecord;
      api.event_query = &EventQuery;
      api.event_sync = &EventSync;
      api.stream_wait_event = &StreamWaitEvent;
      api.copy_async = &Copy;
      api.fill_async = &Fill;
      api.stream_host_fn = &StreamHostFn;
      api.device_sync = &DeviceSync;
      api.device_error = &DeviceError;
      return api;
    }();
    return &table;
  }
};

// The functions of "ms.devices/1" for a plugin with one device. Any number of logical devices may
// be created for it. `Description::Text()` describes it.
template <typename Description>
struct HostDevices {
  static const MS_DeviceDesc* Describe() {
    static const MS_SpaceDesc space = {
        {sizeof(MS_SpaceDesc), 0, nullptr},
        MS_SPACE_HOST,
        MS_SPACE_HOST_VISIBLE | MS_SPACE_DEVICE_VISIBLE | MS_SPACE_COHERENT | MS_SPACE_LINEAR,
        kHostAlignment,
        kHostAlignment,
        HostDevice::TotalMemory(),
        MS_ALLOC_RAW,
        0};
    static const MS_SpaceDesc* const spaces[] = {&space};
    static const MS_DeviceDesc description = [] {
      const HostDeviceText text = Description::Text();
      MS_DeviceDesc desc{};
      desc.head.size = sizeof(desc);
      desc.device_type = ToAbi(text.device_type);
      desc.name = ToAbi(text.name);
      desc.vendor = ToAbi(text.vendor);
      desc.arch = ToAbi(text.arch);
      desc.numa = -1;
      desc.mem_total = HostDevice::TotalMemory();
      desc.flags = text.flags;
      desc.spaces = spaces;
      desc.n_spaces = 1;
      return desc;
    }();
    return &description;
  }

  static MS_Status* Enumerate(const MS_Plugin*, const MS_DeviceDesc** out, uint64_t* n,
                              MS_Str*) noexcept {
    if (*n > 0) out[0] = Describe();
    *n = 1;
    return nullptr;
  }
  static MS_Status* Create(const MS_Plugin*, uint32_t ordinal, const MS_KV* options,
                           uint64_t n_options, MS_Device** out) noexcept {
    return Guarded([&]() -> Status {
      if (ordinal != 0) return InvalidArgument("there is one device, asked was ordinal ", ordinal);
      if (n_options != 0) {
        return InvalidArgument("unknown device option \"", ToView(options[0].key), "\"");
      }
      *out = reinterpret_cast<MS_Device*>(new HostDevice(ordinal));
      return Status();
    });
  }
  static void Destroy(MS_Device* device) noexcept { delete HostDeviceFunctions::Unwrap(device); }
  static const MS_DeviceApi* Functions(MS_Device*) noexcept { return HostDeviceFunctions::Table(); }

  // For a plugin's GetInterface: the two device tables, null for any other id.
  static const MS_Table* GetInterface(std::string_view id) {
    static const MS_DevicesApi devices = {{sizeof(MS_DevicesApi), 1, MS_ABI_MINOR, MS_DEVICES_API},
                                          &Enumerate,
                                          &Create,
                                          &Destroy,
                                          &Functions};
    if (id == MS_DEVICES_API) return &devices.head;
    if (id == MS_DEVICE_API) return &HostDeviceFunctions::Table()->head;
    return nullptr;
  }
};

}  // namespace v1
}  // namespace ms

#endif  // MILLSTREAM_FRAMEWORK_PLUGIN_HOST_DEVICE_HPP_
