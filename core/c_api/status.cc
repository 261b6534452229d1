// Statuses, bytes and the version.
#include <cstdlib>

#include "core/c_api/c_api.h"
#include "core/c_api/handles.h"

void millstream_bytes_free(millstream_bytes* bytes) {
  if (bytes == nullptr) return;
  std::free(bytes->data);
  *bytes = {nullptr, 0};
}

const char* millstream_version(void) { return "0.1.0"; }

int32_t millstream_status_code(const millstream_status* status) {
  return status == nullptr ? 0 : status->code;
}

const char* millstream_status_message(const millstream_status* status) {
  return status == nullptr ? "" : status->message.c_str();
}

const char* millstream_status_node(const millstream_status* status) {
  return status == nullptr ? "" : status->node.c_str();
}

int32_t millstream_status_errno(const millstream_status* status) {
  return status == nullptr ? 0 : status->system_error;
}

void millstream_status_free(millstream_status* status) { delete status; }
