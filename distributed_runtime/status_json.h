// What tasks say of themselves, as JSON for front ends.
#ifndef MILLSTREAM_DISTRIBUTED_RUNTIME_STATUS_JSON_H_
#define MILLSTREAM_DISTRIBUTED_RUNTIME_STATUS_JSON_H_

#include <string>

#include "millstream/distributed_runtime/protos/status_messages.pb.h"

namespace millstream {

// An object with the fields of the message. Handles and incarnations are texts of 16 hexadecimal
// digits, times are seconds, and traffic is by peer. An accumulator that sessions share has the
// session "".
std::string StatusJson(const proto::TaskStatusRecord& status);

// {"asked": TASK, "tasks": [{"task", "address", "error": TEXT, "status": OBJECT}]}: "error" is ""
// and "status" is null where there is none.
std::string StatusJson(const proto::ClusterStatusRecord& status);

}  // namespace millstream

#endif  // MILLSTREAM_DISTRIBUTED_RUNTIME_STATUS_JSON_H_
