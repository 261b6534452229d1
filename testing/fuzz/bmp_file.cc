// BMP files, by the op that reads them.
#include <cstdio>
#include <cstdlib>

#include "core/c_api/c_api.h"
#include "testing/fuzz/target.h"

namespace {

constexpr int32_t kString = 7;
constexpr char kCpuPlugin[] = "device_plugins/cpu/libmillstream_cpu.so";
constexpr char kGraph[] = R"(
node { name: "x" op: "Placeholder" attr { key: "dtype" value { type: DT_STRING } } }
node { name: "y" op: "DecodeBmp" input: "x" })";

[[noreturn]] void Fail(const char* what) {
  std::fprintf(stderr, "%s\n", what);
  std::abort();
}

// Whether it is success. Frees it.
bool IsOk(millstream_status* status) {
  const bool ok = status == nullptr;
  millstream_status_free(status);
  return ok;
}

class Reader {
 public:
  Reader() {
    setenv("MILLSTREAM_PLUGIN_PATH", kCpuPlugin, /*overwrite=*/0);
    millstream_bytes bytes = {nullptr, 0};
    const char* const wanted[] = {"x", "y"};
    const bool made =
        IsOk(millstream_message_parse_text("GraphDef", kGraph, sizeof(kGraph) - 1, &bytes)) &&
        IsOk(millstream_graph_import(graph_, bytes.data, bytes.size, nullptr, 0, "", "", nullptr,
                                     nullptr, 0, wanted, 2, outputs_)) &&
        IsOk(millstream_session_new(graph_, nullptr, 0, &session_));
    millstream_bytes_free(&bytes);
    if (!made) Fail("there is no session");
  }

  void Run(const uint8_t* data, size_t size) {
    millstream_tensor* fed = nullptr;
    if (!IsOk(millstream_tensor_new(kString, nullptr, 0, &fed))) Fail("there is no tensor");
    millstream_tensor_set_string(fed, 0, reinterpret_cast<const char*>(data), size);
    millstream_tensor* image = nullptr;
    const bool ok = IsOk(millstream_session_run(session_, outputs_, &fed, 1, outputs_ + 1, 1,
                                                nullptr, 0, nullptr, &image));
    if (ok && millstream_tensor_dims(image)[0] < 1) Fail("an image without rows");
    millstream_tensor_free(image);
    millstream_tensor_free(fed);
  }

 private:
  millstream_graph* const graph_ = millstream_graph_new();
  millstream_session* session_ = nullptr;
  millstream_output outputs_[2] = {};  // the placeholder and the image
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static auto* const reader = new Reader;
  reader->Run(data, size);
  return 0;
}
