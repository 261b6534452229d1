// A GraphDef as text.
#include "core/c_api/c_api.h"
#include "testing/fuzz/graph_walk.h"
#include "testing/fuzz/target.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  millstream_bytes bytes = {nullptr, 0};
  millstream_status* const status =
      millstream_message_parse_text("GraphDef", reinterpret_cast<const char*>(data), size, &bytes);
  if (status == nullptr) millstream::fuzz::ImportAndWalk({bytes.data, bytes.size});
  millstream_status_free(status);
  millstream_bytes_free(&bytes);
  return 0;
}
