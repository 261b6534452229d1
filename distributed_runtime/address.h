// The addresses of tasks.
#ifndef MILLSTREAM_DISTRIBUTED_RUNTIME_ADDRESS_H_
#define MILLSTREAM_DISTRIBUTED_RUNTIME_ADDRESS_H_

#include "absl/strings/string_view.h"
#include "framework/status.h"

namespace millstream {

// INVALID_ARGUMENT, with the address, if it has a number behind its last colon that is no port. The
// system would take the lower 16 bits of it: 99999 would be 34463. What is no number is left to
// whoever resolves names, and "unix:PATH" has no port.
Status CheckAddress(absl::string_view address);

}  // namespace millstream

#endif  // MILLSTREAM_DISTRIBUTED_RUNTIME_ADDRESS_H_
