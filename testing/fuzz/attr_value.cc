// An AttrValue as the C API takes it: what is taken is given back, and taken again with the same
// bytes.
#include <cstdio>
#include <cstdlib>
#include <optional>
#include <string>

#include "core/c_api/c_api.h"
#include "framework/message.h"
#include "testing/fuzz/target.h"
#include "testing/fuzz/tensor_elements.h"

namespace {

// Whether it is success. Frees it.
bool IsOk(millstream_status* status) {
  const bool ok = status == nullptr;
  millstream_status_free(status);
  return ok;
}

// The attribute of a node that was made with these bytes; nothing when they are refused.
std::optional<std::string> GivenBack(const void* bytes, size_t size) {
  millstream_attrs* const attrs = millstream_attrs_new();
  millstream_graph* const graph = millstream_graph_new();
  millstream_bytes value = {nullptr, 0};
  int32_t node = -1;
  const bool ok = IsOk(millstream_attrs_set_proto(attrs, "_x", bytes, size)) &&
                  IsOk(millstream_graph_add_node(graph, "NoOp", "a", nullptr, nullptr, 0, nullptr,
                                                 0, attrs, "", "", &node)) &&
                  IsOk(millstream_node_attr(graph, node, "_x", &value));
  std::optional<std::string> result;
  if (ok) result.emplace(value.data, value.size);
  millstream_bytes_free(&value);
  millstream_graph_free(graph);
  millstream_attrs_free(attrs);
  return result;
}

// Also of what is no AttrValue.
bool IsSmall(absl::string_view bytes) {
  const auto message = millstream::ParseBinary("AttrValue", bytes);
  return !message.ok() || millstream::fuzz::ElementsOf(
                              static_cast<const millstream::proto::AttrValue&>(**message)) <=
                              millstream::fuzz::kMaxElements;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (!IsSmall({reinterpret_cast<const char*>(data), size})) return 0;
  const std::optional<std::string> written = GivenBack(data, size);
  if (!written.has_value()) return 0;
  if (GivenBack(written->data(), written->size()) == written) return 0;
  std::fputs("an attribute is not read as it was written\n", stderr);
  std::abort();
}
