// The plan of an import: the nodes to add to a graph. It is complete and checked before the first
// node is added.
#ifndef MILLSTREAM_CORE_IMPORT_IMPORT_PLAN_H_
#define MILLSTREAM_CORE_IMPORT_IMPORT_PLAN_H_

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "core/graph/graph.h"
#include "core/import/graph_def.h"
#include "core/import/import_budget.h"
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

// The source of an input: a node of the GraphDef, or if `node` is -1, a tensor of the graph.
struct PlannedInput {
  int node = -1;
  int index = 0;  // kControl for control inputs
  Output existing;
};

struct PlannedNode {
  const OpDef* op = nullptr;
  // Complete, except for the inputs.
  NodeSpec spec;
  std::vector<PlannedInput> inputs;
  std::vector<PlannedInput> control_inputs;
  // The attribute "shape" is the static shape of this tensor, which CheckTypesAndShapes finds.
  std::optional<PlannedInput> shape_of;
  // The output shapes that the GraphDef declares; empty: none.
  std::vector<PartialShape> declared_shapes;
  // CheckTypesAndShapes sets these.
  NodeSignature signature;
  std::vector<OutputFacts> facts;
};

// The nodes of a plan by number. Each can be freed separately, because an import takes much memory.
class PlannedNodes {
 public:
  size_t size() const { return nodes_.size(); }
  // REQUIRES: the node was not dropped.
  PlannedNode& operator[](size_t i) { return *nodes_[i]; }
  const PlannedNode& operator[](size_t i) const { return *nodes_[i]; }
  PlannedNode* Add(PlannedNode node) {
    nodes_.push_back(std::make_unique<PlannedNode>(std::move(node)));
    return nodes_.back().get();
  }
  void Drop(size_t i) { nodes_[i].reset(); }

 private:
  std::vector<std::unique_ptr<PlannedNode>> nodes_;
};

struct ImportPlan {
  // The nodes of the GraphDef in its order, then those that replace references.
  PlannedNodes nodes;
  // A topological order that ignores back edges. It is the order of the GraphDef if that is
  // topological.
  std::vector<int> order;
  std::vector<PlannedInput> return_tensors;
  int producer = 0;
  // True if a node has an attribute that its op does not define.
  bool has_unknown_attrs = false;
};

class FunctionLibrary;

// Makes and checks the plan for `def`. Errors are those of ImportGraphDef. `def` has no nodes
// afterwards.
StatusOr<ImportPlan> PlanImport(const Graph& graph, proto::GraphDef* def,
                                const ImportOptions& options);

// The stages of PlanImport follow.

// Sets the op and the attributes of `node` from `def`, without its inputs. If the op is the name of
// a function, the node becomes a call. NOT_FOUND for an unknown op; INVALID_ARGUMENT for wrong
// attributes; RESOURCE_EXHAUSTED if the budget is exceeded.
Status PlanOp(const proto::NodeDef& def, const FunctionLibrary& library, ImportPlan* plan,
              ImportBudget* budget, PlannedNode* node);
// The name of a tensor in the GraphDef: "v", "v:1".
std::string PlannedName(const ImportPlan& plan, const PlannedInput& input);
// True if a data input of `node` closes a loop, so that its source is added after the node.
bool IsBackEdge(const ImportPlan& plan, const PlannedInput& input, const PlannedNode& node);
// Sets the order. INVALID_ARGUMENT names the nodes of a cycle that is no loop.
Status OrderNodes(ImportPlan* plan);
// Infers signatures and static shapes, in the plan's order. INVALID_ARGUMENT for wrong types or
// shapes; RESOURCE_EXHAUSTED if the facts exceed the budget. Both name the node.
Status CheckTypesAndShapes(const Graph& graph, ImportPlan* plan, ImportBudget* budget);

}  // namespace millstream

#endif  // MILLSTREAM_CORE_IMPORT_IMPORT_PLAN_H_
