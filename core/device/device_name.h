// Device names: "/job:worker/replica:0/task:1/device:CPU:0", in full or in part.
#ifndef MILLSTREAM_CORE_DEVICE_DEVICE_NAME_H_
#define MILLSTREAM_CORE_DEVICE_DEVICE_NAME_H_

#include <optional>
#include <string>

#include "absl/strings/string_view.h"
#include "framework/status.h"

namespace millstream {

// A device name. Parts may be missing; a missing part matches every device.
struct DeviceName {
  std::optional<std::string> job;
  std::optional<int> replica;
  std::optional<int> task;
  std::optional<std::string> type;  // upper case
  std::optional<int> index;

  // Accepts "/device:CPU:0", "/cpu:0", "/gpu:*" and every combination. "" matches every device.
  // INVALID_ARGUMENT with the part that cannot be parsed.
  static StatusOr<DeviceName> Parse(absl::string_view text);
  // True if every present part equals that of `device`.
  bool Fits(const DeviceName& device) const;
  std::string ToString() const;
};

}  // namespace millstream

#endif  // MILLSTREAM_CORE_DEVICE_DEVICE_NAME_H_
