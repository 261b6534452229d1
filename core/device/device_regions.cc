#include "core/device/device_regions.h"

#include <unistd.h>

#include <cstdlib>
#include <iterator>

#include "absl/strings/str_cat.h"
#include "framework/plugin/host_status.h"

namespace millstream {
namespace {

// Regions of host memory consist of whole pages.
size_t PageBytes() {
  static const auto bytes = static_cast<size_t>(sysconf(_SC_PAGESIZE));
  return bytes;
}

uintptr_t AddressOf(const MS_MemRef& ref) {
  return reinterpret_cast<uintptr_t>(ref.base) + static_cast<uintptr_t>(ref.offset);
}

}  // namespace

// ---- DeviceRegions ----

// Whether the arena can have it at all.
Status DeviceRegions::CheckPiece(const MS_MemRef& ref, size_t bytes) const {
  const uintptr_t address = AddressOf(ref);
  const bool is_aligned = is_opaque_ || (address % alignment_ == 0 && address + bytes >= address);
  if (ref.base != nullptr && ref.bytes >= bytes && is_aligned) return absl::OkStatus();
  return errors::Internal("plugin ", device_.plugin->name, ", device ", name_,
                          ": ms.device/1.mem_alloc of ", bytes, " bytes, aligned to ", alignment_,
                          ", gave ", ref.bytes, " bytes at 0x", absl::Hex(address));
}

// Never given twice. Between the numbers of two regions there is room, so that no block's end is
// the next one's begin.
uintptr_t DeviceRegions::NewNumber(size_t bytes) {
  const uintptr_t number = next_number_;
  next_number_ += (bytes + alignment_) / alignment_ * alignment_;
  return number;
}

// A piece that shares a byte with `ref`; null if there is none.
const DeviceRegions::Region* DeviceRegions::FindOverlap(const MS_MemRef& ref, size_t bytes) const {
  if (is_opaque_) {
    for (const auto& [number, region] : regions_) {
      const bool is_apart = region.ref.base != ref.base ||
                            ref.offset + bytes <= region.ref.offset ||
                            region.ref.offset + region.bytes <= ref.offset;
      if (!is_apart) return &region;
    }
    return nullptr;
  }
  const uintptr_t address = AddressOf(ref);
  const auto next = regions_.lower_bound(address);
  if (next != regions_.begin()) {
    const auto before = std::prev(next);
    if (address - before->first < before->second.bytes) return &before->second;
  }
  const bool reaches_next = next != regions_.end() && next->first - address < bytes;
  return reaches_next ? &next->second : nullptr;
}

// From now on no other piece may be where this one is. Returns its address for the arena.
StatusOr<char*> DeviceRegions::Keep(const MS_MemRef& ref, size_t bytes) {
  absl::MutexLock lock(&mutex_);
  if (const Region* const other = FindOverlap(ref, bytes)) {
    return errors::Internal("plugin ", device_.plugin->name, ", device ", name_,
                            ": ms.device/1.mem_alloc gave ", bytes, " bytes at 0x",
                            absl::Hex(AddressOf(ref)), ", which overlap the ", other->bytes,
                            " bytes at 0x", absl::Hex(AddressOf(other->ref)),
                            " that it gave before and did not get back");
  }
  const uintptr_t address = is_opaque_ ? NewNumber(bytes) : AddressOf(ref);
  regions_.emplace(address, Region{ref, bytes});
  return reinterpret_cast<char*>(address);
}

StatusOr<char*> DeviceRegions::AllocateRegion(size_t bytes) {
  MS_MemRef ref = {};
  const Status allocated =
      TakeAbiStatus(device_.functions->mem_alloc(device_.device, space_, bytes, alignment_, &ref));
  if (!allocated.ok()) {
    return Status(allocated.code(), absl::StrCat("plugin ", device_.plugin->name, ", device ",
                                                 name_, ", mem_alloc: ", allocated.message()));
  }
  const Status usable = CheckPiece(ref, bytes);
  if (!usable.ok()) {
    if (ref.base != nullptr) device_.functions->mem_free(device_.device, &ref);
    return usable;
  }
  // One that overlaps is not given back: that might free the other.
  return Keep(ref, bytes);
}

void DeviceRegions::FreeRegion(char* region, size_t) {
  MS_MemRef ref = {};
  {
    absl::MutexLock lock(&mutex_);
    const auto found = regions_.find(reinterpret_cast<uintptr_t>(region));
    ref = found->second.ref;
    regions_.erase(found);
  }
  device_.functions->mem_free(device_.device, &ref);
}

MS_MemRef DeviceRegions::PlaceOf(char* address, size_t bytes) const {
  if (!is_opaque_) return MS_MemRef{address, 0, bytes, space_, ordinal_};
  const auto number = reinterpret_cast<uintptr_t>(address);
  absl::MutexLock lock(&mutex_);
  const auto& [first, region] = *std::prev(regions_.upper_bound(number));
  return MS_MemRef{region.ref.base, region.ref.offset + (number - first), bytes, space_, ordinal_};
}

// ---- RegisteredRegions ----

StatusOr<char*> RegisteredRegions::AllocateRegion(size_t bytes) {
  const size_t page = PageBytes();
  const size_t pages = (bytes + page - 1) / page * page;
  void* const region = std::aligned_alloc(page, pages);
  if (region == nullptr) return errors::ResourceExhausted("no ", bytes, " bytes of host memory");
  const Status registered =
      TakeAbiStatus(device_.functions->host_register(device_.device, region, pages));
  if (registered.ok()) return static_cast<char*>(region);
  std::free(region);
  return registered;
}

void RegisteredRegions::FreeRegion(char* region, size_t) {
  device_.functions->host_unregister(device_.device, region);
  std::free(region);
}

}  // namespace millstream
