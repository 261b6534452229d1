#include "device_plugins/sim/device_table.h"

#include "device_plugins/sim/copies.h"

namespace millstream::sim {
namespace {

using ms::Guarded;
using ms::Status;

// ---- Memory -------------------------------------------------------------------------------------

MS_Status* MemAlloc(MS_Device* device, uint32_t space, uint64_t bytes, uint64_t alignment,
                    MS_MemRef* out) noexcept {
  return Guarded([&] { return Unwrap(device)->Allocate(space, bytes, alignment, out); });
}

void MemFree(MS_Device* device, const MS_MemRef* ref) noexcept {
  Unwrap(device)->memory()->Free(*ref);
}

MS_Status* AllocOnStream(MS_Stream* stream, uint32_t space, uint64_t bytes, uint64_t alignment,
                         MS_MemRef* out) noexcept {
  return Guarded([&] { return Unwrap(stream)->device()->Allocate(space, bytes, alignment, out); });
}

// The memory is free again when the stream comes to it, or when the device is lost.
void FreeOnStream(MS_Stream* stream, const MS_MemRef* ref) noexcept {
  Item item{Item::Kind::kHostFunction};
  const std::shared_ptr<Memory> memory = Unwrap(stream)->device()->memory();
  item.run = [memory, ref = *ref] { memory->Free(ref); };
  MS_Status* const lost = Guarded([&] { return Unwrap(stream)->Enqueue(std::move(item)); });
  if (lost == nullptr) return;
  ms::host_tables.core->status_free(lost);
  memory->Free(*ref);
}

MS_Status* MemInfo(MS_Device* device, uint64_t* free_bytes, uint64_t* total_bytes) noexcept {
  return Guarded([&] { return Unwrap(device)->MemInfo(free_bytes, total_bytes); });
}

MS_Status* MemStats(MS_Device* device, MS_MemStats* stats) noexcept {
  return Guarded([&]() -> Status {
    if (!MS_COVERS(stats, largest_free)) {
      return ms::InvalidArgument("MS_MemStats has ", stats->head.size, " bytes, needed are ",
                                 sizeof(MS_MemStats));
    }
    return Unwrap(device)->MemStats(stats);
  });
}

// ---- Streams ------------------------------------------------------------------------------------

MS_Status* StreamCreate(MS_Device* device, uint32_t role, int32_t, MS_Stream** out) noexcept {
  return Guarded([&]() -> Status {
    Stream* stream = nullptr;
    MS_TRY(Unwrap(device)->CreateStream(role, &stream));
    *out = reinterpret_cast<MS_Stream*>(stream);
    return Status();
  });
}

void StreamDestroy(MS_Stream* stream) noexcept {
  Unwrap(stream)->device()->DestroyStream(Unwrap(stream));
}

void* StreamNative(MS_Stream* stream) noexcept { return stream; }

MS_Status* StreamQuery(MS_Stream* stream, uint8_t* idle) noexcept {
  return Guarded([&]() -> Status {
    bool is_idle = false;
    MS_TRY(Unwrap(stream)->Query(&is_idle));
    *idle = is_idle ? 1 : 0;
    return Status();
  });
}

MS_Status* StreamSync(MS_Stream* stream) noexcept {
  return Guarded([&] { return Unwrap(stream)->Sync(); });
}

MS_Status* StreamWaitEvent(MS_Stream* stream, MS_Event* event) noexcept {
  return Guarded([&] { return Unwrap(stream)->WaitEvent(*Unwrap(event)); });
}

MS_Status* StreamHostFn(MS_Stream* stream, void (*fn)(void*), void* user) noexcept {
  return Guarded([&] {
    Item item{Item::Kind::kHostFunction};
    item.run = [fn, user] { fn(user); };
    return Unwrap(stream)->Enqueue(std::move(item));
  });
}

// ---- Events -------------------------------------------------------------------------------------

MS_Status* EventCreate(MS_Device* device, uint32_t flags, MS_Event** out) noexcept {
  return Guarded([&]() -> Status {
    if (flags != 0) {
      return ms::Unimplemented(Unwrap(device)->name(), " knows no event flags, got ", flags);
    }
    MS_TRY(Unwrap(device)->Error());
    *out = reinterpret_cast<MS_Event*>(new Event(Unwrap(device)));
    return Status();
  });
}

void EventDestroy(MS_Event* event) noexcept { delete Unwrap(event); }

MS_Status* EventRecord(MS_Event* event, MS_Stream* stream) noexcept {
  return Guarded([&] { return Unwrap(stream)->RecordEvent(Unwrap(event)); });
}

MS_Status* EventQuery(MS_Event* event, uint8_t* done) noexcept {
  return Guarded([&]() -> Status {
    bool is_done = false;
    MS_TRY(Unwrap(event)->Query(&is_done));
    *done = is_done ? 1 : 0;
    return Status();
  });
}

MS_Status* EventSync(MS_Event* event) noexcept {
  return Guarded([&] { return Unwrap(event)->Sync(); });
}

// ---- Copies -------------------------------------------------------------------------------------

MS_Status* Copy(MS_Stream* stream, const MS_MemRef* to, const MS_MemRef* from,
                uint64_t bytes) noexcept {
  return Guarded([&] { return CopyAsync(Unwrap(stream), *to, *from, bytes); });
}

MS_Status* CopyPeer(MS_Stream* stream, const MS_MemRef* to, const MS_MemRef* from,
                    uint64_t bytes) noexcept {
  return Guarded([&] { return CopyPeerAsync(Unwrap(stream), *to, *from, bytes); });
}

MS_Status* PeerOk(MS_Device* from, MS_Device* to, uint8_t* ok) noexcept {
  return Guarded([&]() -> Status {
    MS_TRY(Unwrap(from)->Error());
    // `to` may be of another plugin.
    *ok = Unwrap(from)->has_peers() && Device::Exists(Unwrap(to)) && Unwrap(to)->has_peers();
    return Status();
  });
}

MS_Status* Fill(MS_Stream* stream, const MS_MemRef* ref, uint32_t pattern, uint32_t width,
                uint64_t bytes) noexcept {
  return Guarded([&] { return FillAsync(Unwrap(stream), *ref, pattern, width, bytes); });
}

// ---- The device ---------------------------------------------------------------------------------

MS_Status* DeviceSync(MS_Device* device) noexcept {
  return Guarded([&] { return Unwrap(device)->Sync(); });
}

MS_Status* DeviceError(MS_Device* device) noexcept {
  return Guarded([&] { return Unwrap(device)->Error(); });
}

MS_Status* HostRegister(MS_Device* device, void* address, uint64_t bytes) noexcept {
  return Guarded([&]() -> Status {
    MS_TRY(Unwrap(device)->Error());
    return Unwrap(device)->memory()->RegisterHost(address, bytes);
  });
}

void HostUnregister(MS_Device* device, void* address) noexcept {
  Unwrap(device)->memory()->UnregisterHost(address);
}

MS_DeviceApi MakeTable() {
  MS_DeviceApi api{};
  api.head = MS_Table{sizeof(MS_DeviceApi), 1, MS_ABI_MINOR, MS_DEVICE_API};
  api.mem_alloc = &MemAlloc;
  api.mem_free = &MemFree;
  api.alloc_on_stream = &AllocOnStream;
  api.free_on_stream = &FreeOnStream;
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
  api.copy_peer_async = &CopyPeer;
  api.peer_ok = &PeerOk;
  api.fill_async = &Fill;
  api.stream_host_fn = &StreamHostFn;
  api.device_sync = &DeviceSync;
  api.device_error = &DeviceError;
  api.host_register = &HostRegister;
  api.host_unregister = &HostUnregister;
  return api;
}

}  // namespace

const MS_DeviceApi* DeviceTable() {
  static const MS_DeviceApi table = MakeTable();
  return &table;
}

}  // namespace millstream::sim
