// What an import will add to a graph, found and checked before the first node is added.
#ifndef MILLSTREAM_CORE_IMPORT_IMPORT_PLAN_H_
#define MILLSTREAM_CORE_IMPORT_IMPORT_PLAN_H_

#include <memory>
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

// The nodes of a plan by number. They can be freed one by one, since an import takes much memory.
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
  // In the order of the GraphDef; behind them those that replace references.
  PlannedNodes nodes;
  // An order in which every node comes after its inputs, but for back edges; that of the GraphDef
  // if it is one.
  std::vector<int> order;
  std::vector<PlannedInput> return_tensors;
  int producer = 0;
  // Some node has an attribute that its op does not define.
  bool has_unknown_attrs = false;
};

class FunctionLibrary;

// The plan for `def`, checked as ImportGraphDef says. `def` has no nodes afterwards.
StatusOr<ImportPlan> PlanImport(const Graph& graph, proto::GraphDef* def,
                                const ImportOptions& options);

// The steps of PlanImport that stand alone.

// The op and the attributes of `node`, from those of `def`, without its inputs. A name of a
// function in the place of the op makes a call of it. NOT_FOUND for an unknown op; INVALID_ARGUMENT
// for attributes that the op cannot have; RESOURCE_EXHAUSTED beyond the budget.
Status PlanOp(const proto::NodeDef& def, const FunctionLibrary& library, ImportPlan* plan,
              ImportBudget* budget, PlannedNode* node);
// What the GraphDef calls a tensor: "v", "v:1".
std::string PlannedName(const ImportPlan& plan, const PlannedInput& input);
// Whether a data input of `node` closes a loop: its source is added after the node.
bool IsBackEdge(const ImportPlan& plan, const PlannedInput& input, const PlannedNode& node);
// Fills in the order. INVALID_ARGUMENT names the nodes of a cycle that is no loop.
Status OrderNodes(ImportPlan* plan);
// Infers signatures and static shapes in the plan's order. INVALID_ARGUMENT names the node, and so
// does RESOURCE_EXHAUSTED where what is known of them takes more than the budget.
Status CheckTypesAndShapes(const Graph& graph, ImportPlan* plan, ImportBudget* budget);

}  // namespace millstream

#endif  // MILLSTREAM_CORE_IMPORT_IMPORT_PLAN_H_
