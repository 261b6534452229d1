#include "core/io/errno_status.h"

#include <cerrno>
#include <cstring>
#include <string>

#include "absl/strings/cord.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/types/optional.h"

namespace millstream {
namespace {

constexpr absl::string_view kPayload = "millstream/errno";

absl::StatusCode CodeOf(int number) {
  // A file at its size limit is a lack of space, as a full disk is.
  if (number == EFBIG) return absl::StatusCode::kResourceExhausted;
  return absl::ErrnoToStatusCode(number);
}

// As strerror, for several threads.
std::string TextOf(int number) {
  char buffer[128];
  return strerror_r(number, buffer, sizeof(buffer));
}

}  // namespace

Status ErrnoStatus(int number, absl::string_view path) {
  Status status(CodeOf(number), absl::StrCat(path, ": ", TextOf(number)));
  status.SetPayload(kPayload, absl::Cord(absl::StrCat(number)));
  return status;
}

int ErrnoOf(const Status& status) {
  const absl::optional<absl::Cord> payload = status.GetPayload(kPayload);
  int number = 0;
  return payload && absl::SimpleAtoi(std::string(*payload), &number) ? number : 0;
}

}  // namespace millstream
