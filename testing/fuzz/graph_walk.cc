#include "testing/fuzz/graph_walk.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>

#include "core/c_api/c_api.h"

namespace millstream::fuzz {
namespace {

struct FreeGraph {
  void operator()(millstream_graph* graph) const { millstream_graph_free(graph); }
};
using Graph = std::unique_ptr<millstream_graph, FreeGraph>;

// The message of the error, which is freed; empty for success.
std::string Text(millstream_status* status) {
  std::string text;
  if (status != nullptr) text = millstream_status_message(status);
  if (status != nullptr && text.empty()) text = "an error without a message";
  millstream_status_free(status);
  return text;
}

// A ConfigProto with max_import_expansion: -1.
constexpr absl::string_view kAnyExpansion("\xd0\x3e\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01");

std::string Import(millstream_graph* graph, absl::string_view bytes,
                   absl::string_view config = absl::string_view()) {
  return Text(millstream_graph_import(graph, bytes.data(), bytes.size(), config.data(),
                                      config.size(), "", "", nullptr, nullptr, 0, nullptr, 0,
                                      nullptr));
}

std::string Export(const millstream_graph* graph) {
  millstream_bytes bytes = {nullptr, 0};
  if (!Text(millstream_graph_export(graph, /*with_shapes=*/1, &bytes)).empty()) return "";
  std::string text(bytes.data, bytes.size);
  millstream_bytes_free(&bytes);
  return text;
}

void LookAt(const millstream_graph* graph, int32_t node) {
  int64_t dims[8];
  for (int32_t i = 0; i < std::min(millstream_node_num_outputs(graph, node), 8); ++i) {
    millstream_output_shape(graph, {node, i}, dims, 8);
    int32_t dtype = 0;
    millstream_output_handle_shape(graph, {node, i}, &dtype, dims, 8);
    millstream_tensor* constant = nullptr;
    Text(millstream_output_constant(graph, {node, i}, &constant));
    millstream_tensor_free(constant);
  }
  millstream_bytes device = {nullptr, 0};
  millstream_node_device(graph, node, &device);
  millstream_bytes_free(&device);
}

// By the first output of the graph, of the last one.
void AskForGradients(millstream_graph* graph, int32_t num_nodes) {
  constexpr int32_t kMaxNodes = 100;  // what takes long is not the point here
  if (num_nodes > kMaxNodes || millstream_node_num_outputs(graph, num_nodes - 1) == 0 ||
      millstream_node_num_outputs(graph, 0) == 0) {
    return;
  }
  const millstream_output y = {num_nodes - 1, 0};
  const millstream_output x = {0, 0};
  millstream_gradient gradient;
  Text(millstream_graph_gradients(graph, &y, 1, &x, 1, nullptr, nullptr, 0, /*colocate=*/1,
                                  "gradients", "", nullptr, &gradient, nullptr));
}

}  // namespace

void ImportAndWalk(absl::string_view graph_def) {
  const Graph graph(millstream_graph_new());
  if (!Import(graph.get(), graph_def).empty()) {
    if (millstream_graph_num_nodes(graph.get()) == 0) return;
    std::fputs("a graph that was refused left nodes behind\n", stderr);
    std::abort();
  }
  const int32_t num_nodes = millstream_graph_num_nodes(graph.get());
  for (int32_t node = 0; node < num_nodes; ++node) LookAt(graph.get(), node);
  const std::string exported = Export(graph.get());
  if (exported.empty()) return;
  const Graph again(millstream_graph_new());
  // Constants of one value may be written in fewer bytes than they came in.
  const std::string error = Import(again.get(), exported, kAnyExpansion);
  if (!error.empty()) {
    std::fprintf(stderr, "a graph that was taken is not taken again: %s\n", error.c_str());
    std::abort();
  }
  if (num_nodes > 0) AskForGradients(graph.get(), num_nodes);
}

}  // namespace millstream::fuzz
