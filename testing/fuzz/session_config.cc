// ConfigProto as sessions and imports read it.
#include "core/c_api/session_options.h"
#include "testing/fuzz/target.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const absl::string_view config(reinterpret_cast<const char*>(data), size);
  millstream::ImportOptions options;
  static_cast<void>(millstream::c_api::MakeSessionOptions(config));
  static_cast<void>(millstream::c_api::SetImportOptions(config, &options));
  return 0;
}
