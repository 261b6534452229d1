#include "framework/plugin/device_check.h"

#include <algorithm>
#include <string>

#include "absl/strings/str_cat.h"
#include "framework/plugin/host_status.h"
#include "framework/plugin/plugin_limits.h"
#include "framework/plugin/plugin_text.h"
#include "framework/plugin/registrar.h"

namespace millstream {
namespace {

// What the first release of MS_DeviceDesc had.
constexpr uint32_t kDeviceDescSize = offsetof(MS_DeviceDesc, pad) + sizeof(MS_DeviceDesc::pad);
constexpr uint32_t kSpaceDescSize = offsetof(MS_SpaceDesc, pad) + sizeof(MS_SpaceDesc::pad);
// The host asks for no less, see Arena::kAlignment.
constexpr uint64_t kLeastAllocation = 256;
constexpr uint64_t kKnownDeviceFlags =
    MS_DEVICE_OPEN | MS_DEVICE_HOST_IS_DEVICE | MS_DEVICE_LINEAR_POINTERS;
constexpr uint32_t kKnownSpaceFlags =
    MS_SPACE_HOST_VISIBLE | MS_SPACE_DEVICE_VISIBLE | MS_SPACE_COHERENT | MS_SPACE_LINEAR;

// The bits of `flags` that are not known; UNIMPLEMENTED if there are any.
Status CheckBits(uint64_t flags, uint64_t known, absl::string_view what) {
  if ((flags & ~known) == 0) return absl::OkStatus();
  return errors::Unimplemented(what, ": flags ", absl::Hex(flags & ~known), " (bits) are unknown");
}

Status CheckSpace(const MS_SpaceDesc& space) {
  MS_RETURN_IF_ERROR(CheckHead(space.head, kSpaceDescSize, "MS_SpaceDesc"));
  if (space.space > MS_SPACE_HOST) {
    return errors::Unimplemented("MS_SpaceDesc.space ", space.space, " is unknown");
  }
  if (space.mode > MS_ALLOC_POOLED) {
    return errors::Unimplemented("MS_SpaceDesc.mode ", space.mode, " is unknown");
  }
  if (space.mode == MS_ALLOC_POOLED && space.space != MS_SPACE_DEVICE) {
    return errors::Unimplemented("MS_ALLOC_POOLED is for MS_SPACE_DEVICE, and not for space ",
                                 space.space);
  }
  for (const uint64_t size : {space.alignment, space.granularity}) {
    if ((size & (size - 1)) == 0) continue;
    return errors::InvalidArgument("MS_SpaceDesc: alignment ", space.alignment, " and granularity ",
                                   space.granularity, " must be powers of two, or 0");
  }
  const uint64_t least = std::max({space.alignment, space.granularity, kLeastAllocation});
  if (space.max_alloc != 0 && space.max_alloc < least) {
    return errors::InvalidArgument("MS_SpaceDesc.max_alloc ", space.max_alloc,
                                   " is less than one block of ", least, " bytes");
  }
  return CheckBits(space.flags, kKnownSpaceFlags, "MS_SpaceDesc.flags");
}

Status CheckSpaces(const MS_DeviceDesc& device) {
  MS_RETURN_IF_ERROR(
      CheckArray(device.spaces, device.n_spaces, kMostSpaces, "MS_DeviceDesc.spaces"));
  for (uint64_t i = 0; i < device.n_spaces; ++i) {
    const MS_SpaceDesc* const space = device.spaces[i];
    const std::string what = absl::StrCat("MS_DeviceDesc.spaces[", i, "]");
    if (space == nullptr) return errors::InvalidArgument(what, " is null");
    MS_RETURN_IF_ERROR(WithContext(CheckSpace(*space), what));
  }
  return absl::OkStatus();
}

}  // namespace

Status CheckDeviceDescription(const MS_DeviceDesc* device) {
  if (device == nullptr) return errors::InvalidArgument("its MS_DeviceDesc is null");
  MS_RETURN_IF_ERROR(CheckHead(device->head, kDeviceDescSize, "MS_DeviceDesc"));
  MS_RETURN_IF_ERROR(CheckBits(device->flags, kKnownDeviceFlags, "MS_DeviceDesc.flags"));
  MS_RETURN_IF_ERROR(CheckName(device->device_type, "MS_DeviceDesc.device_type"));
  if (!IsDeviceType(FromAbi(device->device_type))) {
    return errors::InvalidArgument("device type \"", FromAbi(device->device_type),
                                   "\" must be of letters, digits and underscores, and begin with ",
                                   "a letter");
  }
  MS_RETURN_IF_ERROR(CheckName(device->name, "MS_DeviceDesc.name"));
  MS_RETURN_IF_ERROR(CheckName(device->vendor, "MS_DeviceDesc.vendor"));
  MS_RETURN_IF_ERROR(CheckName(device->arch, "MS_DeviceDesc.arch"));
  MS_RETURN_IF_ERROR(CheckName(device->pci_id, "MS_DeviceDesc.pci_id"));
  return CheckSpaces(*device);
}

}  // namespace millstream
