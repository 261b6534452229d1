// Helpers around absl::Status that the whole runtime uses.
//
// Codes: INVALID_ARGUMENT, an error of the caller; NOT_FOUND, a name does not exist;
// FAILED_PRECONDITION, a valid call at the wrong time (an uninitialized variable); UNIMPLEMENTED,
// no kernel, or an unknown constant; RESOURCE_EXHAUSTED, memory; OUT_OF_RANGE, the end of a
// sequence; CANCELLED, ABORTED and UNAVAILABLE as in gRPC; INTERNAL, an error of the runtime.
#ifndef MILLSTREAM_FRAMEWORK_STATUS_H_
#define MILLSTREAM_FRAMEWORK_STATUS_H_

#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"

namespace millstream {

using absl::Status;
using absl::StatusOr;

// Each makes an error of the code that it is named for. The message is the parts, which
// absl::StrCat joins, and says what was expected, what came, and where. Thread-safe.
namespace errors {

template <typename... Parts>
Status InvalidArgument(const Parts&... parts) {
  return absl::InvalidArgumentError(absl::StrCat(parts...));
}
template <typename... Parts>
Status NotFound(const Parts&... parts) {
  return absl::NotFoundError(absl::StrCat(parts...));
}
template <typename... Parts>
Status AlreadyExists(const Parts&... parts) {
  return absl::AlreadyExistsError(absl::StrCat(parts...));
}
template <typename... Parts>
Status FailedPrecondition(const Parts&... parts) {
  return absl::FailedPreconditionError(absl::StrCat(parts...));
}
template <typename... Parts>
Status Unimplemented(const Parts&... parts) {
  return absl::UnimplementedError(absl::StrCat(parts...));
}
template <typename... Parts>
Status ResourceExhausted(const Parts&... parts) {
  return absl::ResourceExhaustedError(absl::StrCat(parts...));
}
template <typename... Parts>
Status Internal(const Parts&... parts) {
  return absl::InternalError(absl::StrCat(parts...));
}
template <typename... Parts>
Status OutOfRange(const Parts&... parts) {
  return absl::OutOfRangeError(absl::StrCat(parts...));
}
template <typename... Parts>
Status Cancelled(const Parts&... parts) {
  return absl::CancelledError(absl::StrCat(parts...));
}

}  // namespace errors

// Puts "context: " before the message of `status`. The code and the payloads are kept, and OK stays
// as it is.
Status WithContext(const Status& status, absl::string_view context);

}  // namespace millstream

// Returns the status of the expression from the function if it is an error. REQUIRES: the function
// returns a Status or a StatusOr.
#define MS_RETURN_IF_ERROR(expression)       \
  do {                                       \
    ::absl::Status ms_status = (expression); \
    if (!ms_status.ok()) return ms_status;   \
  } while (false)

#define MS_CONCAT_INNER(a, b) a##b
#define MS_CONCAT(a, b) MS_CONCAT_INNER(a, b)
// Returns the status of the expression, a StatusOr, from the function if it is an error; else moves
// its value to `target`, which may be a declaration. Several statements: not for an `if` without
// braces. At most one on a line.
#define MS_ASSIGN_OR_RETURN(target, expression) \
  MS_ASSIGN_OR_RETURN_IMPL(MS_CONCAT(ms_statusor_, __LINE__), target, expression)
#define MS_ASSIGN_OR_RETURN_IMPL(statusor, target, expression) \
  auto statusor = (expression);                                \
  if (!statusor.ok()) return statusor.status();                \
  target = std::move(statusor).value()

#endif  // MILLSTREAM_FRAMEWORK_STATUS_H_
