// Converts the system's error numbers to a Status. No other file does so.
#ifndef MILLSTREAM_CORE_IO_ERRNO_STATUS_H_
#define MILLSTREAM_CORE_IO_ERRNO_STATUS_H_

#include "absl/strings/string_view.h"
#include "framework/status.h"

namespace millstream {

// The error "path: No such file or directory", with absl's code for the number. The status contains
// the number. REQUIRES: `number` is not 0.
Status ErrnoStatus(int number, absl::string_view path);

// The number in `status`, also after WithContext; 0 if there is none.
int ErrnoOf(const Status& status);

}  // namespace millstream

#endif  // MILLSTREAM_CORE_IO_ERRNO_STATUS_H_
