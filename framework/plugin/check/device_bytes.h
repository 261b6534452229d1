// A block of a device's or of the host's memory as the suites about copies and streams use it.
#ifndef MILLSTREAM_FRAMEWORK_PLUGIN_CHECK_DEVICE_BYTES_H_
#define MILLSTREAM_FRAMEWORK_PLUGIN_CHECK_DEVICE_BYTES_H_

#include <string>

#include "framework/plugin/check/checked_plugin.h"

namespace millstream::plugin_check {

// Bytes that differ from their neighbours, and from those of another seed.
std::string TestBytes(uint64_t size, uint32_t seed);

// A reference to bytes of the host's. Borrows.
MS_MemRef HostRef(std::string* bytes);
// `bytes` of `whole` from `offset` on.
MS_MemRef PartOf(const MS_MemRef& whole, uint64_t offset, uint64_t bytes);

// A block of a device's memory; freed when it goes.
class DeviceBytes {
 public:
  static StatusOr<std::unique_ptr<DeviceBytes>> Make(const CheckedDevice& device, uint64_t bytes);
  DeviceBytes(const DeviceBytes&) = delete;
  DeviceBytes& operator=(const DeviceBytes&) = delete;
  ~DeviceBytes();

  const MS_MemRef& ref() const { return ref_; }
  // Both wait for the device's compute stream.
  Status Write(std::string bytes) const;
  StatusOr<std::string> Read() const;

 private:
  explicit DeviceBytes(const CheckedDevice& device) : device_(device) {}

  const CheckedDevice& device_;
  MS_MemRef ref_ = {};
};

}  // namespace millstream::plugin_check

#endif  // MILLSTREAM_FRAMEWORK_PLUGIN_CHECK_DEVICE_BYTES_H_
