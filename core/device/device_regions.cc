#include "core/device/device_regions.h"

#include <iterator>

#include "absl/strings/str_cat.h"
#include "framework/plugin/host_status.h"

namespace millstream {
namespace {

uintptr_t AddressOf(const MS_MemRef& ref) {
  return reinterpret_cast<uintptr_t>(ref.base) + static_cast<uintptr_t>(ref.offset);
}

}  // namespace

// Whether the arena can have it at all.
Status DeviceRegions::CheckPiece(const MS_MemRef& ref, size_t bytes) const {
  const uintptr_t address = AddressOf(ref);
  const bool fits = ref.base != nullptr && ref.bytes >= bytes && address % alignment_ == 0 &&
                    address + bytes >= address;
  if (fits) return absl::OkStatus();
  return errors::Internal("plugin ", device_.plugin->name, ", device ", name_,
                          ": ms.device/1.mem_alloc of ", bytes, " bytes, aligned to ", alignment_,
                          ", gave ", ref.bytes, " bytes at 0x", absl::Hex(address));
}

// From now on no other piece may be where this one is.
Status DeviceRegions::Keep(const MS_MemRef& ref, size_t bytes) {
  const uintptr_t address = AddressOf(ref);
  absl::MutexLock lock(&mutex_);
  const auto next = regions_.lower_bound(address);
  auto other = regions_.end();
  if (next != regions_.end() && next->first - address < bytes) other = next;
  if (next != regions_.begin()) {
    const auto before = std::prev(next);
    if (address - before->first < before->second.bytes) other = before;
  }
  if (other == regions_.end()) {
    regions_.emplace(address, Region{ref, bytes});
    return absl::OkStatus();
  }
  return errors::Internal(
      "plugin ", device_.plugin->name, ", device ", name_, ": ms.device/1.mem_alloc gave ", bytes,
      " bytes at 0x", absl::Hex(address), ", which overlap the ", other->second.bytes,
      " bytes at 0x", absl::Hex(other->first), " that it gave before and did not get back");
}

StatusOr<char*> DeviceRegions::AllocateRegion(size_t bytes) {
  MS_MemRef ref = {};
  MS_RETURN_IF_ERROR(
      TakeAbiStatus(device_.functions->mem_alloc(device_.device, space_, bytes, alignment_, &ref)));
  const Status usable = CheckPiece(ref, bytes);
  if (!usable.ok()) {
    if (ref.base != nullptr) device_.functions->mem_free(device_.device, &ref);
    return usable;
  }
  // One that overlaps is not given back: that might free the other.
  MS_RETURN_IF_ERROR(Keep(ref, bytes));
  return static_cast<char*>(ref.base) + ref.offset;
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

}  // namespace millstream
