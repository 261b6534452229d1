// What a plan is going to execute, in order, while passes rewrite it.
//
// Values are named by the output of the program's graph that has them, before and after: a pass
// that replaces three nodes by one makes an operation that gives the last node's output. So nothing
// that is not rewritten has to change.
#ifndef MILLSTREAM_CORE_PASSES_STEP_OPS_H_
#define MILLSTREAM_CORE_PASSES_STEP_OPS_H_

#include <functional>
#include <memory>
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

// One kernel call to be.
struct StepOp {
  const Node* node = nullptr;  // whose kernel runs; null: the operation was taken away
  std::vector<Output> inputs;
  std::vector<Output> outputs;  // of the program's graph, in the order of the node's own
  // It is a target, or another waits for it: it runs though nobody may read what it gives.
  bool must_run = false;
  // Whether its kernel sees floating-point inputs that are constants when the plan is made.
  bool prepares_constants = false;

  const std::string& type() const { return node->op().name; }
  // Whether the program says which of the op's kernels runs: then no other takes its place.
  bool names_kernel() const { return FindAttr(node->attrs(), "_kernel") != nullptr; }
};

// Not thread-safe.
class StepOps {
 public:
  // What an operation gives for values of its inputs. Errors: the kernel's own, OUT_OF_RANGE when
  // the outputs take more than `max_bytes`, and CANCELLED or DEADLINE_EXCEEDED, which a pass
  // returns, when the step that waits for the plan is to stop.
  using Evaluator = std::function<StatusOr<std::vector<Tensor>>(
      const StepOp& op, const std::vector<Tensor>& inputs, int64_t max_bytes)>;

  // `program` and `facts` must outlive this. `visible`: values that must exist when the step ends
  // or that the step is asked to compute: what is fed and fetched, and all that targets give.
  StepOps(const PrunedGraph* program, const PlanFacts* facts, std::string device_type,
          absl::flat_hash_set<Output> visible, Evaluator evaluator)
      : program_(*program),
        facts_(facts),
        device_type_(std::move(device_type)),
        visible_(std::move(visible)),
        evaluator_(std::move(evaluator)) {}

  // Operations in an order in which every data and control edge points forward.
  void Append(StepOp op);
  int size() const { return static_cast<int>(ops_.size()); }
  const StepOp& op(int i) const { return ops_[i]; }
  bool IsGone(int i) const { return ops_[i].node == nullptr; }
  // The program's node that operation i was before any pass.
  const Node* origin(int i) const { return origins_[i]; }

  // What the operations came from: all nodes, in the order of the operations, with the control
  // edges that the order keeps.
  const PrunedGraph& program() const { return program_; }

  bool IsVisible(const Output& value) const { return visible_.contains(value); }
  // The operation that gives the value, or -1: it is fed, constant, or a view of another.
  int Producer(const Output& value) const;
  // The operations that read the value, once for each argument.
  const std::vector<int>& Readers(const Output& value) const { return readers_.Of(value); }
  // The operation that alone reads the value, through one argument, when the value is not visible;
  // else -1.
  int OnlyReader(const Output& value) const;
  // Null unless every dimension is known.
  const PartialShape* KnownShape(const Output& value) const;
  // The value when it is the same in every step, else null.
  const Tensor* constant(const Output& value) const;

  // Whether the step's device has a kernel for such a node.
  bool HasKernel(absl::string_view op, const AttrMap& attrs) const;
  // Puts one operation of a new node in the place of operation `place`, and takes the others of
  // `replaced` away. The node is named after `like` and keeps its source line.
  Status Replace(int place, absl::Span<const int> replaced, absl::string_view op, AttrMap attrs,
                 const Node& like, std::vector<Output> inputs, std::vector<Output> outputs);

  // Whoever reads `from` reads `to`, which has the same value, from now on. False, and nothing
  // happens, when somebody outside sees `from`. REQUIRES: `to` is there before its readers run.
  bool Redirect(const Output& from, const Output& to);
  // Operation i's only output is bit for bit `value`, which is there before it runs: its readers
  // read that, and the operation goes. What somebody sees becomes another name of it.
  Status Forward(int i, const Output& value);
  // Takes operation i away when nobody reads or sees what it gives, then likewise those that it
  // alone read. Operations that are stateful, or must run, stay.
  void RemoveUnread(int i);

  // Runs the kernel of operation i; see Evaluator. UNIMPLEMENTED when a pass made its node.
  StatusOr<std::vector<Tensor>> Evaluate(int i, const std::vector<Tensor>& inputs,
                                         int64_t max_bytes) const;
  // Takes operation i away: its outputs are these constants from now on. REQUIRES: it need not run.
  void Fold(int i, std::vector<Tensor> values);
  // A value that no node of the program has.
  StatusOr<Output> NewConstant(Tensor value);
  // Those of Fold and NewConstant that somebody reads or sees.
  std::vector<std::pair<Output, Tensor>> NewConstants() const;
  // Operation i's kernel sees floating-point inputs that are constants when the plan is made.
  void PrepareConstants(int i) { ops_[i].prepares_constants = true; }

  // Kernels of the operations that later passes make may make machine code for them.
  void AllowMachineCode() { machine_code_allowed_ = true; }
  bool machine_code_allowed() const { return machine_code_allowed_; }

  // Whether a pass made the node.
  bool IsNew(const Node* node) const { return new_nodes_.contains(node); }
  // The nodes that passes made; they live as long as this graph.
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
  absl::node_hash_map<Output, Constant> constants_;  // beside those of the facts
  std::vector<Output> constants_in_order_;
  std::unique_ptr<Graph> graph_;  // of the new nodes alone; null while there is none
  absl::flat_hash_set<const Node*> new_nodes_;
  absl::flat_hash_map<int, Output> dummies_;  // inputs of new nodes, by dtype
};

}  // namespace millstream

#endif  // MILLSTREAM_CORE_PASSES_STEP_OPS_H_
