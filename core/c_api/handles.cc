#include "core/c_api/handles.h"

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <cstring>

#include "absl/strings/str_cat.h"
#include "absl/types/span.h"
#include "core/io/errno_status.h"

namespace millstream::c_api {

namespace {

bool IsInsideCharacter(absl::string_view text, size_t at) {
  return at < text.size() && (static_cast<uint8_t>(text[at]) & 0xC0) == 0x80;
}

// What a user can read of a message: names and values that it repeats may be megabytes long.
std::string Readable(absl::string_view message) {
  constexpr size_t kStart = 6000;
  constexpr size_t kEnd = 2000;
  if (message.size() <= kStart + kEnd) return std::string(message);
  size_t start = kStart;
  size_t end = message.size() - kEnd;
  while (start > 0 && IsInsideCharacter(message, start)) --start;
  while (IsInsideCharacter(message, end)) ++end;
  return absl::StrCat(message.substr(0, start), "... (", end - start, " bytes more) ...",
                      message.substr(end));
}

}  // namespace

millstream_status* Give(const Status& status) {
  if (status.ok()) return nullptr;
  return new millstream_status{static_cast<int32_t>(status.code()), Readable(status.message()),
                               StatusNode(status), ErrnoOf(status)};
}

millstream_bytes GiveBytes(absl::string_view bytes) {
  char* data = static_cast<char*>(std::malloc(bytes.size() + 1));
  if (data == nullptr) std::abort();  // no error could be told either
  if (!bytes.empty()) std::memcpy(data, bytes.data(), bytes.size());
  data[bytes.size()] = '\0';
  return {data, bytes.size()};
}

millstream_status* Give(const StatusOr<std::string>& bytes, millstream_bytes* out) {
  if (!bytes.ok()) return Give(bytes.status());
  *out = GiveBytes(*bytes);
  return nullptr;
}

StatusOr<PartialShape> MakePartialShape(const int64_t* dims, int32_t rank) {
  if (rank == -1) return PartialShape();
  if (rank < 0) return errors::InvalidArgument("expected a rank of -1 or more, got ", rank);
  PartialShape shape(absl::MakeConstSpan(dims, rank));
  for (int64_t dim : shape.dims()) {
    if (dim >= kUnknownDim) continue;
    return errors::InvalidArgument("expected dimensions of -1 or more, got ", shape.ToString());
  }
  return shape;
}

int32_t WriteShape(const PartialShape& shape, int64_t* dims, int32_t capacity) {
  const int32_t rank = shape.rank();
  if (rank > 0 && capacity > 0) std::copy_n(shape.dims().data(), std::min(rank, capacity), dims);
  return rank;
}

StatusOr<Tensor> WithOwnMemory(const Tensor& tensor) {
  if (tensor.buffer() && !tensor.buffer()->writable()) return tensor.DeepCopy();
  return tensor;
}

const Node* NodeOrNull(const millstream_graph* graph, int32_t node) {
  if (node < 0 || node >= graph->graph.num_nodes()) return nullptr;
  return graph->graph.node(node);
}

StatusOr<const Node*> FindNode(const millstream_graph* graph, int32_t node) {
  const Node* found = NodeOrNull(graph, node);
  if (found != nullptr) return found;
  return errors::InvalidArgument("the graph has no node number ", node, ": it has ",
                                 graph->graph.num_nodes(), " nodes");
}

Output OutputOrNone(const millstream_graph* graph, millstream_output output) {
  const Node* node = NodeOrNull(graph, output.node);
  if (node == nullptr || output.index < 0 || output.index >= node->num_outputs()) return Output();
  return node->output(output.index);
}

StatusOr<Output> FindOutput(const millstream_graph* graph, millstream_output output) {
  MS_ASSIGN_OR_RETURN(const Node* node, FindNode(graph, output.node));
  if (output.index >= 0 && output.index < node->num_outputs()) return node->output(output.index);
  return AnnotateWithNode(errors::InvalidArgument("no output ", output.index, ": the node has ",
                                                  node->num_outputs(), " outputs"),
                          *node);
}

StatusOr<std::vector<Output>> FindOutputs(const millstream_graph* graph,
                                          const millstream_output* outputs, int32_t n) {
  std::vector<Output> found;
  found.reserve(std::max(n, 0));
  for (int32_t i = 0; i < n; ++i) {
    MS_ASSIGN_OR_RETURN(const Output output, FindOutput(graph, outputs[i]));
    found.push_back(output);
  }
  return found;
}

StatusOr<std::vector<const Node*>> FindNodes(const millstream_graph* graph, const int32_t* nodes,
                                             int32_t n) {
  std::vector<const Node*> found;
  found.reserve(std::max(n, 0));
  for (int32_t i = 0; i < n; ++i) {
    MS_ASSIGN_OR_RETURN(const Node* node, FindNode(graph, nodes[i]));
    found.push_back(node);
  }
  return found;
}

millstream_output MakeOutput(const Output& output) {
  if (!output) return {-1, 0};
  return {output.node->id(), output.index};
}

}  // namespace millstream::c_api
