#include "framework/plugin/check/device_bytes.h"

#include "framework/plugin/check/check_host.h"

namespace millstream::plugin_check {

std::string TestBytes(uint64_t size, uint32_t seed) {
  std::string bytes(size, '\0');
  uint32_t state = seed * 2654435761u + 1;
  for (char& byte : bytes) {
    state = state * 1664525u + 1013904223u;
    byte = static_cast<char>(state >> 24);
  }
  return bytes;
}

MS_MemRef HostRef(std::string* bytes) {
  return {bytes->data(), 0, bytes->size(), MS_SPACE_HOST, 0};
}

MS_MemRef PartOf(const MS_MemRef& whole, uint64_t offset, uint64_t bytes) {
  MS_MemRef part = whole;
  part.offset += offset;
  part.bytes = bytes;
  return part;
}

StatusOr<std::unique_ptr<DeviceBytes>> DeviceBytes::Make(const CheckedDevice& device,
                                                         uint64_t bytes) {
  std::unique_ptr<DeviceBytes> made(new DeviceBytes(device));
  const bool is_host = (device.description().flags & MS_DEVICE_HOST_IS_DEVICE) != 0;
  MS_RETURN_IF_ERROR(Take(device.functions().mem_alloc(
      device.device(), is_host ? MS_SPACE_HOST : MS_SPACE_DEVICE, bytes, 64, &made->ref_)));
  // The copy functions go by it.
  made->ref_.bytes = bytes;
  return made;
}

DeviceBytes::~DeviceBytes() {
  if (ref_.base != nullptr) device_.functions().mem_free(device_.device(), &ref_);
}

Status DeviceBytes::Write(std::string bytes) const {
  const MS_MemRef from = HostRef(&bytes);
  MS_RETURN_IF_ERROR(
      Take(device_.functions().copy_async(device_.stream(), &ref_, &from, bytes.size())));
  return Take(device_.functions().stream_sync(device_.stream()));
}

StatusOr<std::string> DeviceBytes::Read() const {
  std::string bytes(ref_.bytes, '\0');
  const MS_MemRef to = HostRef(&bytes);
  MS_RETURN_IF_ERROR(
      Take(device_.functions().copy_async(device_.stream(), &to, &ref_, bytes.size())));
  MS_RETURN_IF_ERROR(Take(device_.functions().stream_sync(device_.stream())));
  return bytes;
}

}  // namespace millstream::plugin_check
