// What an import will add to a graph, found and checked before the first node is added.
#ifndef MILLSTREAM_CORE_IMPORT_PLAN_H_
#define MILLSTREAM_CORE_IMPORT_PLAN_H_

#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "core/graph.h"
#include "core/graph_def.h"
#include "framework/op_def.h"
#include "framework/shape_context.h"
#include "framework/status.h"
#include "millstream/framework/protos/graph.pb.h"

namespace millstream {

// "node:2", "node" (its output 0) or "^node" (a control input).
struct TensorName {
  static constexpr int kControl = -1;
  std::string node;
  int index = 0;
};
StatusOr<TensorName> ParseTensorName(absl::string_view text);

// Where an input comes from: a node of the GraphDef, or (`node` -1) a tensor of the graph.
struct PlannedInput {
  int node = -1;
  int index = 0;  // kControl for control inputs
  Output existing;
};

struct PlannedNode {
  const OpDef* op = nullptr;
  // Complete but for the inputs that are still to be added.
  NodeSpec spec;
  std::vector<PlannedInput> inputs;
  std::vector<PlannedInput> control_inputs;
  // The output shapes that the GraphDef declares; empty: none.
  std::vector<PartialShape> declared_shapes;
  // Found by CheckTypesAndShapes.
  NodeSignature signature;
  std::vector<OutputFacts> facts;
};

struct ImportPlan {
  // In the order of the GraphDef; behind them those that replace references.
  std::vector<PlannedNode> nodes;
  // An order in which every node comes after its inputs, but for back edges; that of the GraphDef
  // if it is one.
  std::vector<int> order;
  std::vector<PlannedInput> return_tensors;
  int producer = 0;
  // Some node has an attribute that its op does not define.
  bool has_unknown_attrs = false;
};

// The plan for `def`, checked as ImportGraphDef says.
StatusOr<ImportPlan> PlanImport(const Graph& graph, const proto::GraphDef& def,
                                const ImportOptions& options);

// The steps of PlanImport that stand alone.

// Whether a data input of `node` closes a loop: its source is added after the node.
bool IsBackEdge(const ImportPlan& plan, const PlannedInput& input, const PlannedNode& node);
// Fills in the order. INVALID_ARGUMENT names the nodes of a cycle that is no loop.
Status OrderNodes(ImportPlan* plan);
// Infers signatures and static shapes in the plan's order. INVALID_ARGUMENT names the node.
Status CheckTypesAndShapes(const Graph& graph, ImportPlan* plan);

}  // namespace millstream

#endif  // MILLSTREAM_CORE_IMPORT_PLAN_H_
