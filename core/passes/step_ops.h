// The ordered list of operations that passes rewrite and that the plan is compiled from.
//
// Passes do not rename values: an Output of the program's graph names a value before and after a
// rewrite. If a pass replaces three nodes by one, the new operation produces the Output of the last
// node. So operations that a pass does not rewrite keep their inputs and outputs.
#ifndef MILLSTREAM_CORE_PASSES_STEP_OPS_H_
#define MILLSTREAM_CORE_PASSES_STEP_OPS_H_

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/container/node_hash_map.h"
#include "absl/types/span.h"
#include "core/graph/graph.h"
#include "core/graph/plan_facts.h"
#include "core/graph/prune.h"
#include "core/passes/value_readers.h"
#include "framework/status.h"

namespace millstream {

// One operation: a future kernel call.
struct StepOp {
  const Node* node = nullptr;  // the node whose kernel runs; null: the operation was removed
  std::vector<Output> inputs;
  std::vector<Output> outputs;  // values of the program's graph, in the order of node's outputs
  // The operation is a target or has outgoing control edges. It runs even if its outputs have no
  // readers.
  bool must_run = false;
  // The kernel gets its constant floating-point inputs when the plan is made.
  bool prepares_constants = false;

  const std::string& type() const { return node->op().name; }
  // True if the program selects the kernel by name. Passes must not replace such an operation.
  bool names_kernel() const { return FindAttr(node->attrs(), "_kernel") != nullptr; }
};

// The operations of one plan. Not thread-safe.
class StepOps {
 public:
  // Runs the kernel of `op` on `inputs` and returns its outputs. Errors: those of the kernel;
  // OUT_OF_RANGE if the outputs take more than `max_bytes`; CANCELLED or DEADLINE_EXCEEDED if the
  // step that waits for the plan must stop, which a pass must return.
  using Evaluator = std::function<StatusOr<std::vector<Tensor>>(
      const StepOp& op, const std::vector<Tensor>& inputs, int64_t max_bytes)>;

  // `visible` are the values that are fed or fetched, and the outputs of targets. They must exist
  // when the step ends. REQUIRES: `program` and `facts` outlive this object.
  StepOps(const PrunedGraph* program, const PlanFacts* facts, std::string device_type,
          absl::flat_hash_set<Output> visible, Evaluator evaluator)
      : program_(*program),
        facts_(facts),
        device_type_(std::move(device_type)),
        visible_(std::move(visible)),
        evaluator_(std::move(evaluator)) {}

  // Adds an operation at the end. REQUIRES: its data and control inputs were appended before.
  void Append(StepOp op);
  int size() const { return static_cast<int>(ops_.size()); }
  const StepOp& op(int i) const { return ops_[i]; }
  bool IsGone(int i) const { return ops_[i].node == nullptr; }
  // The program's node of operation i, before any pass ran.
  const Node* origin(int i) const { return origins_[i]; }

  // The program: all nodes in the order of the operations, with their control edges.
  const PrunedGraph& program() const { return program_; }

  bool IsVisible(const Output& value) const { return visible_.contains(value); }
  // The operation that produces the value; -1 if the value is fed, constant or a view of another.
  int Producer(const Output& value) const;
  // The operations that read the value. An operation that reads it twice is listed twice.
  const std::vector<int>& Readers(const Output& value) const { return readers_.Of(value); }
  // The only reader of the value; -1 if the value is visible or has no or several readers, or if
  // one operation reads it twice.
  int OnlyReader(const Output& value) const;
  // The shape of the value; null unless every dimension is known.
  const PartialShape* KnownShape(const Output& value) const;
  // The value if it is the same in every step, else null.
  const Tensor* constant(const Output& value) const;

  // True if the step's device has a kernel for a node of `op` with these attributes.
  bool HasKernel(absl::string_view op, const AttrMap& attrs) const;
  // Replaces operation `place` by an operation of a new node, and removes the operations
  // `replaced`. The node is named after `like` and has its source line. Returns the errors of
  // Graph::AddNode.
  Status Replace(int place, absl::Span<const int> replaced, absl::string_view op, AttrMap attrs,
                 const Node& like, std::vector<Output> inputs, std::vector<Output> outputs);

  // A value of this shape that an operation of `Add` or `Replace` is to produce. It belongs to a
  // new node, not to the program. Returns the errors of Graph::AddNode.
  StatusOr<Output> NewValue(DataType dtype, const PartialShape& shape);
  // Adds an operation of a new node behind all others; see Replace.
  Status Add(absl::string_view op, AttrMap attrs, const Node& like, std::vector<Output> inputs,
             std::vector<Output> outputs);

  // Adds an operation that gives the handle which `handle`, a node of a graph in this one, gives.
  StatusOr<Output> AddHandle(const Node& handle);

  // Makes all readers of `from` read `to` instead. Returns false and does nothing if `from` is
  // visible. REQUIRES: the two values are equal, and `to` is produced before those readers.
  bool Redirect(const Output& from, const Output& to);
  // Removes operation i, and makes the readers of its output read `value`. If the output is
  // visible, the operation becomes an Identity of `value` instead. REQUIRES: operation i has one
  // output, it equals `value` bit for bit, and `value` is produced before operation i.
  Status Forward(int i, const Output& value);
  // Removes operation i, stateful or not. REQUIRES: nothing reads its outputs, they are not
  // visible, and all that the operation does is done without it.
  void Remove(int i) { Forget(i); }
  // Removes operation i if its outputs have no readers and are not visible. Then does the same for
  // the producers of its inputs. Operations that are stateful or must run stay.
  void RemoveUnread(int i);

  // True if the operations at `place` or behind it that compute the values could stand before it:
  // only values connect them with others, and not state or control edges.
  bool CanPrecede(absl::Span<const Output> values, int place) const;
  // The nodes of the program that operation i waits for by control edges.
  const std::vector<const Node*>& ControlsOf(int i) const;
  bool IsControlled(int i) const { return !ControlsOf(i).empty(); }
  // Moves each operation that stands behind a reader of its outputs to the place before it. The
  // others keep their order. All places may change. REQUIRES: CanPrecede for what moves.
  void Reorder();

  // Runs the kernel of operation i; see Evaluator. UNIMPLEMENTED when a pass made its node.
  StatusOr<std::vector<Tensor>> Evaluate(int i, const std::vector<Tensor>& inputs,
                                         int64_t max_bytes) const;
  // Removes operation i and makes constants of its outputs. REQUIRES: !op(i).must_run.
  void Fold(int i, std::vector<Tensor> values);
  // Adds a constant. The returned Output belongs to a new node, not to the program.
  StatusOr<Output> NewConstant(Tensor value);
  // The constants of Fold and NewConstant that have readers or are visible.
  std::vector<std::pair<Output, Tensor>> NewConstants() const;
  // The kernel of operation i gets its constant floating-point inputs when the plan is made.
  void PrepareConstants(int i) { ops_[i].prepares_constants = true; }

  // Allows the kernels of operations that later passes create to generate machine code.
  void AllowMachineCode() { machine_code_allowed_ = true; }
  bool machine_code_allowed() const { return machine_code_allowed_; }

  // True if a pass created the node.
  bool IsNew(const Node* node) const { return new_nodes_.contains(node); }
  // Returns the graph that owns the nodes which passes created; null if there are none.
  std::unique_ptr<Graph> TakeGraph() { return std::move(graph_); }

 private:
  struct Constant {
    Tensor value;
    PartialShape shape;
  };

  StatusOr<const Node*> NewNode(absl::string_view op, AttrMap attrs, const Node& like,
                                absl::Span<const Output> inputs);
  StatusOr<const Node*> AddNode(NodeSpec spec);
  StatusOr<Output> Dummy(DataType dtype);
  void Place(int i, StepOp op);
  void Forget(int i);
  bool IsUnread(const StepOp& op) const;
  void AddConstant(const Output& output, Tensor value);
  bool IsPure(int i) const;
  // Puts operation order[i] at place i.
  void Arrange(const std::vector<int>& order);

  const PrunedGraph& program_;
  const PlanFacts* const facts_;
  const std::string device_type_;
  const absl::flat_hash_set<Output> visible_;
  const Evaluator evaluator_;
  bool machine_code_allowed_ = false;
  std::vector<StepOp> ops_;
  std::vector<const Node*> origins_;
  absl::flat_hash_map<Output, int> producers_;
  ValueReaders readers_;
  absl::node_hash_map<Output, Constant> constants_;       // in addition to those of facts_
  absl::node_hash_map<Output, PartialShape> new_values_;  // of NewValue
  std::vector<Output> constants_in_order_;
  std::unique_ptr<Graph> graph_;  // only the new nodes; null while there are none
  absl::flat_hash_set<const Node*> new_nodes_;
  // The places in the program of nodes to which control edges lead; found when it is first asked
  // for.
  mutable std::optional<absl::flat_hash_map<const Node*, size_t>> controlled_;
  absl::flat_hash_map<int, Output> dummies_;  // stand for the inputs of new nodes, by dtype
};

}  // namespace millstream

#endif  // MILLSTREAM_CORE_PASSES_STEP_OPS_H_
