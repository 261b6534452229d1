// The one place where the system's error numbers become a Status.
#ifndef MILLSTREAM_CORE_IO_ERRNO_STATUS_H_
#define MILLSTREAM_CORE_IO_ERRNO_STATUS_H_

#include "absl/strings/string_view.h"
#include "framework/status.h"

namespace millstream {

// The error "path: No such file or directory", with the code that absl gives the number. The status
// carries the number. REQUIRES: `number` is not 0.
Status ErrnoStatus(int number, absl::string_view path);

// The number that `status`, or one that it was made of by WithContext, carries; 0 when it has none.
int ErrnoOf(const Status& status);

}  // namespace millstream

#endif  // MILLSTREAM_CORE_IO_ERRNO_STATUS_H_
