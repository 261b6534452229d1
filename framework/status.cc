#include "framework/status.h"

namespace millstream {

Status WithContext(const Status& status, absl::string_view context) {
  if (status.ok()) return status;
  Status result(status.code(), absl::StrCat(context, ": ", status.message()));
  status.ForEachPayload([&result](absl::string_view url, const absl::Cord& payload) {
    result.SetPayload(url, payload);
  });
  return result;
}

}  // namespace millstream
