// A graph with a placeholder "x" of one string, which a fuzz target feeds, and nodes that parse it.
#ifndef MILLSTREAM_TESTING_FUZZ_FED_STRING_H_
#define MILLSTREAM_TESTING_FUZZ_FED_STRING_H_

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <utility>
#include <vector>

#include "core/c_api/c_api.h"

namespace millstream::fuzz {

[[noreturn]] inline void Fail(const char* what) {
  std::fprintf(stderr, "%s\n", what);
  std::abort();
}

// Not thread-safe. Lives as long as the process: a fuzz target keeps one.
class FedString {
 public:
  // `nodes` is the text of the nodes beside "x"; `parsers` are the names of those that Run may run.
  // Ends the process if they make no graph.
  FedString(const std::string& nodes, std::vector<const char*> parsers) {
    setenv("MILLSTREAM_PLUGIN_PATH", kCpuPlugin, /*overwrite=*/0);
    const std::string text = kPlaceholder + nodes;
    std::vector<const char*> wanted = std::move(parsers);
    wanted.insert(wanted.begin(), "x");
    outputs_.resize(wanted.size());
    millstream_bytes bytes = {nullptr, 0};
    Require(millstream_message_parse_text("GraphDef", text.data(), text.size(), &bytes));
    Require(millstream_graph_import(graph_, bytes.data, bytes.size, nullptr, 0, "", "", nullptr,
                                    nullptr, 0, wanted.data(), static_cast<int32_t>(wanted.size()),
                                    outputs_.data()));
    millstream_bytes_free(&bytes);
    Require(millstream_session_new(graph_, nullptr, 0, &session_));
  }
  FedString(const FedString&) = delete;
  FedString& operator=(const FedString&) = delete;

  // The first output of parser `i` for this string, which the caller frees; null for an error.
  millstream_tensor* Run(size_t i, const uint8_t* data, size_t size) {
    millstream_tensor* fed = nullptr;
    Require(millstream_tensor_new(kString, nullptr, 0, &fed));
    millstream_tensor_set_string(fed, 0, reinterpret_cast<const char*>(data), size);
    millstream_tensor* parsed = nullptr;
    millstream_status* const status = millstream_session_run(
        session_, outputs_.data(), &fed, 1, &outputs_[i + 1], 1, nullptr, 0, nullptr, &parsed);
    const bool failed = status != nullptr;
    millstream_status_free(status);
    millstream_tensor_free(fed);
    return failed ? nullptr : parsed;
  }

 private:
  static constexpr int32_t kString = 7;
  static constexpr char kCpuPlugin[] = "device_plugins/cpu/libmillstream_cpu.so";
  static constexpr char kPlaceholder[] =
      "node { name: 'x' op: 'Placeholder' attr { key: 'dtype' value { type: DT_STRING } } "
      "attr { key: 'shape' value { shape { } } } }";

  static void Require(millstream_status* status) {
    if (status == nullptr) return;
    Fail(millstream_status_message(status));
  }

  millstream_graph* const graph_ = millstream_graph_new();
  millstream_session* session_ = nullptr;
  std::vector<millstream_output> outputs_;  // the placeholder, then the parsers
};

}  // namespace millstream::fuzz

#endif  // MILLSTREAM_TESTING_FUZZ_FED_STRING_H_
