// The transport through a network: a library that is opened when it is first needed.
#ifndef MILLSTREAM_DISTRIBUTED_RUNTIME_NETWORK_H_
#define MILLSTREAM_DISTRIBUTED_RUNTIME_NETWORK_H_

#include <memory>
#include <string>

#include "distributed_runtime/network_table.h"
#include "distributed_runtime/transport.h"
#include "framework/status.h"

namespace millstream {

// Opens the library at `path`, which has a table of functions (network_table.h). UNIMPLEMENTED if
// there is none at that path; FAILED_PRECONDITION if it cannot be opened, or has another table.
StatusOr<std::unique_ptr<Transport>> OpenNetwork(const std::string& path);
// The transport of the table that the library at `path` gives. FAILED_PRECONDITION, with both
// versions, if it is of another one, or null. REQUIRES: the table is never freed.
StatusOr<std::unique_ptr<Transport>> NetworkOf(const millstream_network_table* table,
                                               const std::string& path);

}  // namespace millstream

#endif  // MILLSTREAM_DISTRIBUTED_RUNTIME_NETWORK_H_
