#include "device_plugins/sim/copies.h"

#include <cstring>
#include <memory>
#include <utility>

namespace millstream::sim {
namespace {

// What a piece of work reaches of memory. It shares the memory, so that the address stays mapped.
struct Place {
  std::shared_ptr<Memory> memory;
  char* address = nullptr;
};

ms::Status FindPlace(const std::shared_ptr<Memory>& memory, const MS_MemRef& ref, uint64_t bytes,
                     Place* out) {
  out->memory = memory;
  return memory->Resolve(ref, bytes, &out->address);
}

// A block of any simulated device.
ms::Status FindPeerPlace(const Stream& stream, const MS_MemRef& ref, uint64_t bytes, Place* out) {
  const std::shared_ptr<Memory> memory = Memory::OfBase(ref.base);
  if (ref.space != MS_SPACE_DEVICE || memory == nullptr) {
    return ms::InvalidArgument(stream.device()->name(), ": ", ref.base, ", space ", ref.space,
                               ", is memory of no simulated device");
  }
  return FindPlace(memory, ref, bytes, out);
}

Item CopyItem(Place to, Place from, uint64_t bytes) {
  Item item{Item::Kind::kCopy};
  item.bytes = bytes;
  item.run_half = [to, from, bytes] { std::memmove(to.address, from.address, bytes / 2); };
  item.run = [to = std::move(to), from = std::move(from), bytes] {
    std::memmove(to.address, from.address, bytes);
  };
  return item;
}

}  // namespace

ms::Status CopyAsync(Stream* stream, const MS_MemRef& to, const MS_MemRef& from, uint64_t bytes) {
  if (bytes == 0) return stream->device()->Error();
  if (to.space != MS_SPACE_DEVICE || from.space != MS_SPACE_DEVICE) {
    MS_TRY(stream->RefuseWhileRecording("a copy from or to the host"));
  }
  return stream->Submit([=, memory = stream->device()->memory()](const Relocation& relocation,
                                                                 Stream*, Item* out) -> ms::Status {
    Place to_place;
    Place from_place;
    MS_TRY(FindPlace(memory, relocation(to), bytes, &to_place));
    MS_TRY(FindPlace(memory, relocation(from), bytes, &from_place));
    *out = CopyItem(std::move(to_place), std::move(from_place), bytes);
    return ms::Status();
  });
}

ms::Status CopyPeerAsync(Stream* stream, const MS_MemRef& to, const MS_MemRef& from,
                         uint64_t bytes) {
  if (!stream->device()->has_peers()) {
    return ms::Unimplemented(stream->device()->name(), " has no peers: switch peer");
  }
  if (bytes == 0) return stream->device()->Error();
  Place to_place;
  Place from_place;
  MS_TRY(FindPeerPlace(*stream, to, bytes, &to_place));
  MS_TRY(FindPeerPlace(*stream, from, bytes, &from_place));
  return stream->Enqueue(CopyItem(std::move(to_place), std::move(from_place), bytes));
}

ms::Status FillAsync(Stream* stream, const MS_MemRef& to, uint32_t pattern, uint32_t width,
                     uint64_t bytes) {
  if (width != 1 && width != 2 && width != 4) {
    return ms::InvalidArgument("a fill pattern has 1, 2 or 4 bytes, not ", width);
  }
  if (bytes % width != 0) {
    return ms::InvalidArgument("fill of ", bytes, " bytes, ", width, " at a time");
  }
  if (bytes == 0) return stream->device()->Error();
  return stream->Submit([=, memory = stream->device()->memory()](const Relocation& relocation,
                                                                 Stream*, Item* out) -> ms::Status {
    Place place;
    MS_TRY(FindPlace(memory, relocation(to), bytes, &place));
    out->run = [place = std::move(place), pattern, width, bytes] {
      for (uint64_t at = 0; at < bytes; at += width) {
        std::memcpy(place.address + at, &pattern, width);
      }
    };
    return ms::Status();
  });
}

}  // namespace millstream::sim
