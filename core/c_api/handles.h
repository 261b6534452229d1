// The structs behind the opaque handles of c_api.h, and conversions that its files share.
#ifndef MILLSTREAM_CORE_C_API_HANDLES_H_
#define MILLSTREAM_CORE_C_API_HANDLES_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "core/c_api/c_api.h"
#include "core/graph/graph.h"
#include "core/session/session.h"
#include "framework/attr_value.h"
#include "framework/shape.h"
#include "framework/status.h"
#include "framework/tensor.h"

struct millstream_status {
  int32_t code = 0;
  std::string message;
  std::string node;
  int32_t system_error = 0;  // errno; 0: none
};

struct millstream_tensor {
  millstream::Tensor tensor;
};

struct millstream_attrs {
  millstream::AttrMap attrs;
  // The error of the first invalid value. The setters have no status, so adding the node returns
  // it.
  millstream::Status status;
};

struct millstream_graph {
  millstream::Graph graph;
};

struct millstream_session {
  millstream_graph* graph = nullptr;
  std::unique_ptr<millstream::Session> session;
};

struct millstream_callable {
  std::unique_ptr<millstream::Callable> callable;
  int32_t n_feeds = 0;
  int32_t n_fetches = 0;
};

struct millstream_cancellation {
  millstream::Cancellation cancellation;
};

namespace millstream::c_api {

// Converts a status; NULL for OK. The caller frees it.
millstream_status* Give(const Status& status);
// Copies the bytes. The caller frees them.
millstream_bytes GiveBytes(absl::string_view bytes);
// Copies the bytes to `out`, or returns the error.
millstream_status* Give(const StatusOr<std::string>& bytes, millstream_bytes* out);

// Converts a shape. `dims` may be null if `rank` is 0. A rank of -1 and a dimension of -1 are
// unknown. INVALID_ARGUMENT for smaller numbers.
StatusOr<PartialShape> MakePartialShape(const int64_t* dims, int32_t rank);
// Writes the first `capacity` dimensions; returns the rank, -1 when unknown.
int32_t WriteShape(const PartialShape& shape, int64_t* dims, int32_t capacity);

// The tensor, or a copy of it if its memory is borrowed. For what may outlive the owner of the
// memory.
StatusOr<Tensor> WithOwnMemory(const Tensor& tensor);

// The node of this number; null if there is none.
const Node* NodeOrNull(const millstream_graph* graph, int32_t node);
StatusOr<const Node*> FindNode(const millstream_graph* graph, int32_t node);
// The tensor; an Output without node if there is none.
Output OutputOrNone(const millstream_graph* graph, millstream_output output);
StatusOr<Output> FindOutput(const millstream_graph* graph, millstream_output output);
StatusOr<std::vector<Output>> FindOutputs(const millstream_graph* graph,
                                          const millstream_output* outputs, int32_t n);
StatusOr<std::vector<const Node*>> FindNodes(const millstream_graph* graph, const int32_t* nodes,
                                             int32_t n);
// Converts a tensor; node -1 if there is none.
millstream_output MakeOutput(const Output& output);

}  // namespace millstream::c_api

#endif  // MILLSTREAM_CORE_C_API_HANDLES_H_
