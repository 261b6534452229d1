// Devices of a plugin's own: the function tables of "ms.devices/1", "ms.device/1" and
// "ms.capture/1" over classes.
//
//   struct Stream {                                 // MS_Stream
//     void* native();
//     ms::Status Query(bool* idle);
//     ms::Status Sync();
//     ms::Status Wait(Event& event);
//     ms::Status Copy(const MS_MemRef& to, const MS_MemRef& from, uint64_t bytes);
//     ms::Status Fill(const MS_MemRef& to, uint32_t pattern, uint32_t width, uint64_t bytes);  // *
//     ms::Status CallHost(void (*function)(void*), void* user);                                // *
//     ms::Status BeginCapture();                                                              // **
//     ms::Status EndCapture(std::unique_ptr<Graph>* out);                                     // **
//   };
//   struct Graph {                                  // MS_Graph **
//     ms::Status Update(const MS_MemChange* changes, uint64_t n);
//     ms::Status Replay(Stream& stream);
//   };
//   struct Event {                                  // MS_Event
//     ms::Status Record(Stream& stream);
//     ms::Status Query(bool* done);
//     ms::Status Sync();
//   };
//   struct Device {                                 // MS_Device
//     using Stream = ...; using Event = ...; using Graph = ...;
//     ms::Status Allocate(uint32_t space, uint64_t bytes, uint64_t alignment, MS_MemRef* out);
//     void Free(const MS_MemRef& block);
//     ms::Status MemoryInfo(uint64_t* free_bytes, uint64_t* total_bytes);
//     void FillStats(MS_MemStats* stats);                                                      // *
//     ms::Status CreateStream(uint32_t role, int32_t priority, std::unique_ptr<Stream>* out);
//     ms::Status CreateEvent(uint32_t flags, std::unique_ptr<Event>* out);
//     ms::Status Sync();
//     ms::Status Error();
//     ms::Status RegisterHost(void* address, uint64_t bytes);                                  // *
//     void UnregisterHost(void* address);                                                      // *
//   };
//   struct Devices {
//     using Device = ...;
//     // Returns all devices. If there are none, sets *reason. Called once.
//     static std::vector<ms::DeviceDescription> Find(std::string* reason);
//     static ms::Status Create(uint32_t ordinal, const ms::PluginOptions& options,
//                              std::unique_ptr<Device>* out);
//   };
//   ... GetInterface(id): return ms::DeviceTables<Devices>::GetInterface(id);
//
// Functions marked * are optional: if one is missing, its slot is null. Those marked ** come
// together: if Device has no Graph, there is no "ms.capture/1". MS_DeviceApi and MS_CaptureApi have
// the contracts of the functions. Exceptions become INTERNAL statuses. Streams, events and graphs
// are destroyed by their destructors, on any thread.
#ifndef MILLSTREAM_FRAMEWORK_PLUGIN_PLUGIN_DEVICE_HPP_
#define MILLSTREAM_FRAMEWORK_PLUGIN_PLUGIN_DEVICE_HPP_

#include <algorithm>
#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "framework/plugin/plugin_entry.hpp"

namespace ms {
inline namespace v1 {

// The description of a device. Strings must be static, as literals are.
class DeviceDescription {
 public:
  DeviceDescription(std::string_view type, std::string_view name) {
    description_.head.size = sizeof(description_);
    description_.device_type = ToAbi(type);
    description_.name = ToAbi(name);
    description_.numa = -1;
  }
  DeviceDescription& Vendor(std::string_view text) { return Set(&description_.vendor, text); }
  DeviceDescription& Arch(std::string_view text) { return Set(&description_.arch, text); }
  DeviceDescription& PciId(std::string_view text) { return Set(&description_.pci_id, text); }
  DeviceDescription& Numa(int32_t node) {
    description_.numa = node;
    return *this;
  }
  // DLPack's DLDeviceType of the device's memory.
  DeviceDescription& DLPackType(uint32_t type) {
    description_.dlpack_device_type = type;
    return *this;
  }
  // MS_DEVICE_*
  DeviceDescription& Flags(uint64_t flags) {
    description_.flags |= flags;
    return *this;
  }
  // Adds a memory space of Allocate; `flags` are MS_SPACE_HOST_VISIBLE and others.
  DeviceDescription& Space(uint32_t space, uint32_t flags, uint64_t alignment, uint64_t bytes) {
    MS_SpaceDesc desc{};
    desc.head.size = sizeof(desc);
    desc.space = space;
    desc.flags = flags;
    desc.alignment = alignment;
    desc.granularity = alignment;
    desc.max_alloc = bytes;
    desc.mode = MS_ALLOC_RAW;
    spaces_.push_back(desc);
    if (space == MS_SPACE_DEVICE) description_.mem_total = bytes;
    return *this;
  }

 private:
  template <typename Devices>
  friend struct DeviceTables;
  DeviceDescription& Set(MS_Str* field, std::string_view text) {
    *field = ToAbi(text);
    return *this;
  }
  // Completes the description. REQUIRES: the object does not move afterwards.
  const MS_DeviceDesc* Finish(uint32_t ordinal) {
    for (const MS_SpaceDesc& space : spaces_) pointers_.push_back(&space);
    description_.ordinal = ordinal;
    description_.spaces = pointers_.data();
    description_.n_spaces = pointers_.size();
    return &description_;
  }

  MS_DeviceDesc description_{};
  std::vector<MS_SpaceDesc> spaces_;
  std::vector<const MS_SpaceDesc*> pointers_;
};

template <typename Device, typename = void>
struct HasFillStats : std::false_type {};
template <typename Device>
struct HasFillStats<Device, std::void_t<decltype(&Device::FillStats)>> : std::true_type {};
template <typename Stream, typename = void>
struct HasFill : std::false_type {};
template <typename Stream>
struct HasFill<Stream, std::void_t<decltype(&Stream::Fill)>> : std::true_type {};
template <typename Stream, typename = void>
struct HasCallHost : std::false_type {};
template <typename Stream>
struct HasCallHost<Stream, std::void_t<decltype(&Stream::CallHost)>> : std::true_type {};
template <typename Device, typename = void>
struct HasRegisterHost : std::false_type {};
template <typename Device>
struct HasRegisterHost<Device, std::void_t<decltype(&Device::RegisterHost)>> : std::true_type {};
template <typename Device, typename = void>
struct HasGraph : std::false_type {};
template <typename Device>
struct HasGraph<Device, std::void_t<typename Device::Graph>> : std::true_type {};

// The C functions of a device class.
template <typename Device>
struct DeviceFunctions {
  using Stream = typename Device::Stream;
  using Event = typename Device::Event;

  static Device* Unwrap(MS_Device* device) { return reinterpret_cast<Device*>(device); }
  static Stream* Unwrap(MS_Stream* stream) { return reinterpret_cast<Stream*>(stream); }
  static Event* Unwrap(MS_Event* event) { return reinterpret_cast<Event*>(event); }

  static MS_Status* MemAlloc(MS_Device* device, uint32_t space, uint64_t bytes, uint64_t alignment,
                             MS_MemRef* out) noexcept {
    return Guarded([&] { return Unwrap(device)->Allocate(space, bytes, alignment, out); });
  }
  static void MemFree(MS_Device* device, const MS_MemRef* block) noexcept {
    Unwrap(device)->Free(*block);
  }
  static MS_Status* MemInfo(MS_Device* device, uint64_t* free_bytes,
                            uint64_t* total_bytes) noexcept {
    return Guarded([&] { return Unwrap(device)->MemoryInfo(free_bytes, total_bytes); });
  }
  static MS_Status* MemStats(MS_Device* device, MS_MemStats* stats) noexcept {
    return Guarded([&]() -> Status {
      if (!MS_COVERS(stats, largest_free)) {
        return InvalidArgument("MS_MemStats has ", stats->head.size, " bytes, needed are ",
                               sizeof(MS_MemStats));
      }
      if constexpr (HasFillStats<Device>::value) Unwrap(device)->FillStats(stats);
      return Status();
    });
  }

  static MS_Status* StreamCreate(MS_Device* device, uint32_t role, int32_t priority,
                                 MS_Stream** out) noexcept {
    return Guarded([&]() -> Status {
      std::unique_ptr<Stream> stream;
      MS_TRY(Unwrap(device)->CreateStream(role, priority, &stream));
      *out = reinterpret_cast<MS_Stream*>(stream.release());
      return Status();
    });
  }
  static void StreamDestroy(MS_Stream* stream) noexcept { delete Unwrap(stream); }
  static void* StreamNative(MS_Stream* stream) noexcept { return Unwrap(stream)->native(); }
  static MS_Status* StreamQuery(MS_Stream* stream, uint8_t* idle) noexcept {
    return Guarded([&] { return Ask(Unwrap(stream), idle); });
  }
  static MS_Status* StreamSync(MS_Stream* stream) noexcept {
    return Guarded([&] { return Unwrap(stream)->Sync(); });
  }
  static MS_Status* StreamWaitEvent(MS_Stream* stream, MS_Event* event) noexcept {
    return Guarded([&] { return Unwrap(stream)->Wait(*Unwrap(event)); });
  }
  static MS_Status* CopyAsync(MS_Stream* stream, const MS_MemRef* to, const MS_MemRef* from,
                              uint64_t bytes) noexcept {
    return Guarded([&]() -> Status {
      if (bytes > to->bytes || bytes > from->bytes) {
        return InvalidArgument("copy of ", bytes, " bytes from a block of ", from->bytes,
                               " to one of ", to->bytes);
      }
      return Unwrap(stream)->Copy(*to, *from, bytes);
    });
  }
  static MS_Status* FillAsync(MS_Stream* stream, const MS_MemRef* to, uint32_t pattern,
                              uint32_t width, uint64_t bytes) noexcept {
    return Guarded([&]() -> Status {
      if constexpr (HasFill<Stream>::value) {
        return Unwrap(stream)->Fill(*to, pattern, width, bytes);
      }
      return Status();
    });
  }
  static MS_Status* StreamHostFn(MS_Stream* stream, void (*function)(void*), void* user) noexcept {
    return Guarded([&]() -> Status {
      if constexpr (HasCallHost<Stream>::value) return Unwrap(stream)->CallHost(function, user);
      return Status();
    });
  }

  static MS_Status* EventCreate(MS_Device* device, uint32_t flags, MS_Event** out) noexcept {
    return Guarded([&]() -> Status {
      std::unique_ptr<Event> event;
      MS_TRY(Unwrap(device)->CreateEvent(flags, &event));
      *out = reinterpret_cast<MS_Event*>(event.release());
      return Status();
    });
  }
  static void EventDestroy(MS_Event* event) noexcept { delete Unwrap(event); }
  static MS_Status* EventRecord(MS_Event* event, MS_Stream* stream) noexcept {
    return Guarded([&] { return Unwrap(event)->Record(*Unwrap(stream)); });
  }
  static MS_Status* EventQuery(MS_Event* event, uint8_t* done) noexcept {
    return Guarded([&] { return Ask(Unwrap(event), done); });
  }
  static MS_Status* EventSync(MS_Event* event) noexcept {
    return Guarded([&] { return Unwrap(event)->Sync(); });
  }

  static MS_Status* DeviceSync(MS_Device* device) noexcept {
    return Guarded([&] { return Unwrap(device)->Sync(); });
  }
  static MS_Status* DeviceError(MS_Device* device) noexcept {
    return Guarded([&] { return Unwrap(device)->Error(); });
  }

  static MS_Status* HostRegister(MS_Device* device, void* address, uint64_t bytes) noexcept {
    return Guarded([&]() -> Status {
      if constexpr (HasRegisterHost<Device>::value) {
        return Unwrap(device)->RegisterHost(address, bytes);
      }
      return Status();
    });
  }
  static void HostUnregister(MS_Device* device, void* address) noexcept {
    if constexpr (HasRegisterHost<Device>::value) Unwrap(device)->UnregisterHost(address);
  }

  static MS_DeviceApi MakeTable() {
    MS_DeviceApi api{};
    api.head = MS_Table{sizeof(MS_DeviceApi), 1, MS_ABI_MINOR, MS_DEVICE_API};
    api.mem_alloc = &MemAlloc;
    api.mem_free = &MemFree;
    api.mem_info = &MemInfo;
    if (HasFillStats<Device>::value) api.mem_stats = &MemStats;
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
    api.copy_async = &CopyAsync;
    if (HasFill<Stream>::value) api.fill_async = &FillAsync;
    if (HasCallHost<Stream>::value) api.stream_host_fn = &StreamHostFn;
    api.device_sync = &DeviceSync;
    api.device_error = &DeviceError;
    if (HasRegisterHost<Device>::value) {
      api.host_register = &HostRegister;
      api.host_unregister = &HostUnregister;
    }
    return api;
  }
  static const MS_DeviceApi* Table() {
    static const MS_DeviceApi table = MakeTable();
    return &table;
  }

 private:
  // Queries whether a stream is idle, or an event is done.
  template <typename T>
  static Status Ask(T* object, uint8_t* out) {
    bool answer = false;
    MS_TRY(object->Query(&answer));
    *out = answer ? 1 : 0;
    return Status();
  }
};

// The functions of "ms.capture/1" for a device class that has graphs.
template <typename Device>
struct CaptureFunctions {
  using Stream = typename Device::Stream;
  using Graph = typename Device::Graph;

  static Stream* Unwrap(MS_Stream* stream) { return reinterpret_cast<Stream*>(stream); }
  static Graph* Unwrap(MS_Graph* graph) { return reinterpret_cast<Graph*>(graph); }

  static MS_Status* Begin(MS_Stream* stream) noexcept {
    return Guarded([&] { return Unwrap(stream)->BeginCapture(); });
  }
  static MS_Status* End(MS_Stream* stream, MS_Graph** out) noexcept {
    return Guarded([&]() -> Status {
      std::unique_ptr<Graph> graph;
      MS_TRY(Unwrap(stream)->EndCapture(&graph));
      *out = reinterpret_cast<MS_Graph*>(graph.release());
      return Status();
    });
  }
  static MS_Status* Update(MS_Graph* graph, const MS_MemChange* changes, uint64_t n) noexcept {
    return Guarded([&] { return Unwrap(graph)->Update(changes, n); });
  }
  static MS_Status* Replay(MS_Graph* graph, MS_Stream* stream) noexcept {
    return Guarded([&] { return Unwrap(graph)->Replay(*Unwrap(stream)); });
  }
  static void Destroy(MS_Graph* graph) noexcept { delete Unwrap(graph); }

  static const MS_CaptureApi* Table() {
    static const MS_CaptureApi table = {{sizeof(MS_CaptureApi), 1, MS_ABI_MINOR, MS_CAPTURE_API},
                                        &Begin,
                                        &End,
                                        &Update,
                                        &Replay,
                                        &Destroy};
    return &table;
  }
};

// The functions of "ms.devices/1" for a class that lists and creates devices.
template <typename Devices>
struct DeviceTables {
  using Device = typename Devices::Device;

  // For a plugin's GetInterface: the tables of the devices, null for any other id.
  static const MS_Table* GetInterface(std::string_view id) {
    static const MS_DevicesApi devices = {{sizeof(MS_DevicesApi), 1, MS_ABI_MINOR, MS_DEVICES_API},
                                          &Enumerate,
                                          &Create,
                                          &Destroy,
                                          &Functions};
    if (id == MS_DEVICES_API) return &devices.head;
    if (id == MS_DEVICE_API) return &DeviceFunctions<Device>::Table()->head;
    if constexpr (HasGraph<Device>::value) {
      if (id == MS_CAPTURE_API) return &CaptureFunctions<Device>::Table()->head;
    }
    return nullptr;
  }

 private:
  // The result of Find; never destroyed.
  struct Found {
    std::string reason;
    std::deque<DeviceDescription> descriptions;
    std::vector<const MS_DeviceDesc*> devices;

    Found() {
      for (DeviceDescription& description : Devices::Find(&reason)) {
        descriptions.push_back(std::move(description));
        devices.push_back(
            descriptions.back().Finish(static_cast<uint32_t>(descriptions.size() - 1)));
      }
    }
  };

  static MS_Status* Enumerate(const MS_Plugin*, const MS_DeviceDesc** out, uint64_t* n,
                              MS_Str* reason) noexcept {
    return Guarded([&] {
      static const Found* const found = new Found();
      std::copy_n(found->devices.begin(), std::min<uint64_t>(*n, found->devices.size()), out);
      *n = found->devices.size();
      if (found->devices.empty()) *reason = ToAbi(std::string_view(found->reason));
      return Status();
    });
  }
  static MS_Status* Create(const MS_Plugin*, uint32_t ordinal, const MS_KV* options,
                           uint64_t n_options, MS_Device** out) noexcept {
    return Guarded([&]() -> Status {
      PluginOptions pairs;
      for (uint64_t i = 0; i < n_options; ++i) {
        pairs.emplace_back(ToView(options[i].key), ToView(options[i].value));
      }
      std::unique_ptr<Device> device;
      MS_TRY(Devices::Create(ordinal, pairs, &device));
      *out = reinterpret_cast<MS_Device*>(device.release());
      return Status();
    });
  }
  static void Destroy(MS_Device* device) noexcept { delete reinterpret_cast<Device*>(device); }
  static const MS_DeviceApi* Functions(MS_Device*) noexcept {
    return DeviceFunctions<Device>::Table();
  }
};

}  // namespace v1
}  // namespace ms

#endif  // MILLSTREAM_FRAMEWORK_PLUGIN_PLUGIN_DEVICE_HPP_
