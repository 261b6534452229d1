// ConfigProto as sessions and imports read it; what can be read opens a session, or says why not.
#include <cstdio>
#include <cstdlib>

#include "core/c_api/c_api.h"
#include "core/c_api/session_options.h"
#include "testing/fuzz/target.h"

namespace {

constexpr char kCpuPlugin[] = "device_plugins/cpu/libmillstream_cpu.so";

// Opens a session and closes it again; whether that worked.
bool Opens(millstream_graph* graph, const uint8_t* config, size_t size) {
  millstream_session* session = nullptr;
  millstream_status* const status = millstream_session_new(graph, config, size, &session);
  const bool ok = status == nullptr;
  millstream_status_free(status);
  if (ok) millstream_session_free(session);
  return ok;
}

millstream_graph* EmptyGraph() {
  setenv("MILLSTREAM_PLUGIN_PATH", kCpuPlugin, /*overwrite=*/0);
  millstream_graph* const graph = millstream_graph_new();
  if (Opens(graph, nullptr, 0)) return graph;
  std::fputs("there is no session\n", stderr);
  std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static auto* const graph = EmptyGraph();
  const absl::string_view config(reinterpret_cast<const char*>(data), size);
  millstream::ImportOptions options;
  static_cast<void>(millstream::c_api::SetImportOptions(config, &options));
  if (!Opens(graph, data, size) || millstream::c_api::MakeSessionOptions(config).ok()) return 0;
  std::fputs("a session is opened with options that cannot be read\n", stderr);
  std::abort();
}
