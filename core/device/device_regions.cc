#include "core/device/device_regions.h"

#include "absl/strings/str_cat.h"
#include "framework/plugin/host_status.h"

namespace millstream {

StatusOr<char*> DeviceRegions::AllocateRegion(size_t bytes) {
  MS_MemRef ref = {};
  MS_RETURN_IF_ERROR(TakeAbiStatus(
      device_.functions->mem_alloc(device_.device, space_, bytes, Arena::kAlignment, &ref)));
  char* const region = static_cast<char*>(ref.base) + ref.offset;
  const bool fits = ref.base != nullptr && ref.bytes >= bytes &&
                    reinterpret_cast<uintptr_t>(region) % Arena::kAlignment == 0;
  if (!fits) {
    if (ref.base != nullptr) device_.functions->mem_free(device_.device, &ref);
    return errors::Internal("plugin ", device_.plugin->name, ": ms.device/1.mem_alloc of ", bytes,
                            " bytes, aligned to ", Arena::kAlignment, ", gave ", ref.bytes,
                            " bytes at ", absl::Hex(reinterpret_cast<uintptr_t>(region)));
  }
  absl::MutexLock lock(&mutex_);
  regions_[region] = ref;
  return region;
}

void DeviceRegions::FreeRegion(char* region, size_t) {
  MS_MemRef ref = {};
  {
    absl::MutexLock lock(&mutex_);
    auto found = regions_.find(region);
    ref = found->second;
    regions_.erase(found);
  }
  device_.functions->mem_free(device_.device, &ref);
}

}  // namespace millstream
