// RunOptions as steps read it: a step under what can be read gives its result and a RunMetadata, or
// takes longer than it may.
#include <cstdio>
#include <cstdlib>

#include "core/c_api/c_api.h"
#include "testing/fuzz/target.h"

namespace {

constexpr int32_t kFloat = 1;
constexpr int32_t kDeadlineExceeded = 4;
constexpr char kCpuPlugin[] = "device_plugins/cpu/libmillstream_cpu.so";

[[noreturn]] void Die(const char* what) {
  std::fprintf(stderr, "%s\n", what);
  std::abort();
}

// The code of the status, which is freed.
int32_t CodeOf(millstream_status* status) {
  const int32_t code = status == nullptr ? 0 : millstream_status_code(status);
  millstream_status_free(status);
  return code;
}

bool IsMessage(const char* name, const void* bytes, size_t size) {
  millstream_bytes text = {nullptr, 0};
  const bool ok = CodeOf(millstream_message_print_text(name, bytes, size, &text)) == 0;
  millstream_bytes_free(&text);
  return ok;
}

// Steps that negate a number.
class Steps {
 public:
  Steps() {
    setenv("MILLSTREAM_PLUGIN_PATH", kCpuPlugin, /*overwrite=*/0);
    millstream_attrs* const attrs = millstream_attrs_new();
    millstream_attrs_set_type(attrs, "dtype", kFloat);
    const int32_t one = 1;
    const bool ok =
        CodeOf(millstream_graph_add_node(graph_, "Placeholder", "x", nullptr, nullptr, 0, nullptr,
                                         0, attrs, "", "", &input_.node)) == 0 &&
        CodeOf(millstream_graph_add_node(graph_, "Neg", "y", &input_, &one, 1, nullptr, 0, nullptr,
                                         "", "", &output_.node)) == 0 &&
        CodeOf(millstream_session_new(graph_, nullptr, 0, &session_)) == 0 &&
        CodeOf(millstream_tensor_new(kFloat, nullptr, 0, &fed_)) == 0;
    millstream_attrs_free(attrs);
    if (!ok) Die("there is no session");
    *static_cast<float*>(millstream_tensor_data(fed_)) = 1;
  }

  void Run(const uint8_t* bytes, size_t size) {
    millstream_bytes metadata = {nullptr, 0};
    millstream_run_options options = {};
    options.options = bytes;
    options.options_size = size;
    options.metadata = &metadata;
    millstream_tensor* fetched = nullptr;
    const int32_t code = CodeOf(millstream_session_run(session_, &input_, &fed_, 1, &output_, 1,
                                                       nullptr, 0, &options, &fetched));
    if (IsMessage("RunOptions", bytes, size) && code != 0 && code != kDeadlineExceeded) {
      Die("a step is refused for options that can be read");
    }
    if (code == 0 && *static_cast<const float*>(millstream_tensor_data(fetched)) != -1) {
      Die("a step gave another result");
    }
    if (!IsMessage("RunMetadata", metadata.data, metadata.size)) Die("there is no RunMetadata");
    millstream_tensor_free(fetched);
    millstream_bytes_free(&metadata);
  }

 private:
  millstream_graph* const graph_ = millstream_graph_new();
  millstream_session* session_ = nullptr;
  millstream_tensor* fed_ = nullptr;
  millstream_output input_ = {-1, 0};
  millstream_output output_ = {-1, 0};
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static auto* const steps = new Steps;
  steps->Run(data, size);
  return 0;
}
