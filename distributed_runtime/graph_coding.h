// Copies of a graph in other tasks. Nodes have the same numbers in all copies.
#ifndef MILLSTREAM_DISTRIBUTED_RUNTIME_GRAPH_CODING_H_
#define MILLSTREAM_DISTRIBUTED_RUNTIME_GRAPH_CODING_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/types/span.h"
#include "core/graph/graph.h"
#include "core/graph/step_signature.h"
#include "core/partition/partition.h"
#include "framework/status.h"
#include "millstream/distributed_runtime/protos/session_messages.pb.h"

namespace millstream {

// What one receiver knows of a graph. Not thread-safe.
class GraphSender {
 public:
  // Writes what the receiver does not know as yet. It counts as known from now on, so the chunks
  // must reach the receiver, in this order.
  Status AddChanges(const Graph& graph, proto::GraphChunk* chunk);

 private:
  struct Sent {
    std::string device;
    size_t num_controls = 0;
    bool misses_input = false;  // a back edge
  };
  std::vector<Sent> sent_;  // by node
  std::string library_;
};

// Adds a chunk to a copy. INVALID_ARGUMENT if it does not follow the nodes of the copy, and for
// wrong nodes, as Graph::AddNode.
Status AddChunk(const proto::GraphChunk& chunk, Graph* graph);

void EncodeSignature(const StepSignature& signature, proto::SignatureRecord* record);
// INVALID_ARGUMENT for nodes that the graph does not have.
StatusOr<StepSignature> DecodeSignature(const Graph& graph, const proto::SignatureRecord& record);

// A number for the parts of a step, the tensors that cross between them, and the rounds of a
// StepExchange. Tasks that have cut the same step get the same number.
uint64_t Fingerprint(const PartitionedGraph& graph, absl::Span<const int> rounds);

}  // namespace millstream

#endif  // MILLSTREAM_DISTRIBUTED_RUNTIME_GRAPH_CODING_H_
