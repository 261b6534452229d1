#include "framework/plugin/host_status.h"

#include <memory>

#include "framework/plugin/plugin_text.h"

namespace millstream {

// MS_Code is numbered as absl::StatusCode.
static_assert(MS_CANCELLED == static_cast<int>(absl::StatusCode::kCancelled));
static_assert(MS_INVALID_ARGUMENT == static_cast<int>(absl::StatusCode::kInvalidArgument));
static_assert(MS_RESOURCE_EXHAUSTED == static_cast<int>(absl::StatusCode::kResourceExhausted));
static_assert(MS_FAILED_PRECONDITION == static_cast<int>(absl::StatusCode::kFailedPrecondition));
static_assert(MS_OUT_OF_RANGE == static_cast<int>(absl::StatusCode::kOutOfRange));
static_assert(MS_UNIMPLEMENTED == static_cast<int>(absl::StatusCode::kUnimplemented));
static_assert(MS_DATA_LOSS == static_cast<int>(absl::StatusCode::kDataLoss));

MS_Status* ToAbiStatus(const Status& status) {
  return status.ok() ? nullptr : new MS_Status{status};
}

MS_Status* MakeAbiStatus(MS_Code code, absl::string_view message) {
  if (code == MS_OK) return nullptr;
  if (code < MS_OK || code > MS_DATA_LOSS) {
    return new MS_Status{absl::UnknownError(
        absl::StrCat("status code ", code, " of a plugin: ", Printable(message)))};
  }
  return new MS_Status{Status(static_cast<absl::StatusCode>(code), Printable(message))};
}

Status TakeAbiStatus(MS_Status* status) {
  if (status == nullptr) return absl::OkStatus();
  const std::unique_ptr<MS_Status> owned(status);
  return std::move(owned->status);
}

}  // namespace millstream
