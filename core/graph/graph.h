// The graph: operations (nodes) and the tensors and control edges between them.
//
// A graph only grows. After a node is added, only these parts of it can change: the static shape of
// an output may be narrowed; until the node has run, a control input may be added, its requested
// device set, and a back edge of a Merge set. One lock guards building. Executables use copies that
// they made under the lock.
//
// The only cycles are those of loops: each goes through an edge from a NextIteration to a Merge.
#ifndef MILLSTREAM_CORE_GRAPH_GRAPH_H_
#define MILLSTREAM_CORE_GRAPH_GRAPH_H_

#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/container/flat_hash_map.h"
#include "absl/synchronization/mutex.h"
#include "absl/types/span.h"
#include "core/graph/fork_guard.h"
#include "core/graph/imported_node.h"
#include "framework/attr_value.h"
#include "framework/op_call.h"
#include "framework/op_def.h"
#include "framework/shape_context.h"
#include "framework/status.h"

namespace millstream {

class Graph;
class Node;

// One output of a node: a tensor of the graph. `node` null: no tensor.
struct Output {
  const Node* node = nullptr;
  int index = 0;
  explicit operator bool() const { return node != nullptr; }
  std::string name() const;  // "MatMul:0"
  DataType dtype() const;
  friend bool operator==(const Output& a, const Output& b) {
    return a.node == b.node && a.index == b.index;
  }
  friend bool operator!=(const Output& a, const Output& b) { return !(a == b); }
  template <typename H>
  friend H AbslHashValue(H h, const Output& output) {
    return H::combine(std::move(h), output.node, output.index);
  }
};

// The arguments of Graph::AddNode.
struct NodeSpec {
  std::string name;  // must be free; see Graph::UniqueName
  std::string op;
  // The tensors of all arguments; variadic arguments are expanded. An input of a Merge may be
  // missing (no node) if all attributes are given. SetBackEdge sets it later; the node cannot run
  // before.
  std::vector<Output> inputs;
  // The number of tensors of each argument, to infer number and type attributes. Empty: the
  // attributes are complete.
  std::vector<int> input_counts;
  std::vector<const Node*> control_inputs;
  AttrMap attrs;
  std::string device;  // full, partial or empty
  std::string source;  // the user's line that makes the node: "train.py:12 in build"
  // True: attributes that the op does not define are kept, for the import of newer graphs. False:
  // they are an error.
  bool allow_unknown_attrs = false;
  // The version of the GraphDef that the node is imported from; none: the version of the graph.
  std::optional<int> producer_version;
  // The node of the GraphDef, if an import replaced it by this one; else null.
  std::shared_ptr<const ImportedNode> imported;
};

// An operation. Its graph owns it, and it lives as long as the graph. It is constant except for the
// members that the graph's lock guards.
class Node {
 public:
  int id() const { return id_; }  // dense, in order of creation
  const std::string& name() const { return call_.name; }
  const OpDef& op() const { return *call_.op; }
  const AttrMap& attrs() const { return call_.attrs; }
  template <typename T>
  StatusOr<T> Attr(absl::string_view name) const {
    return GetAttr<T>(call_.attrs, name);
  }
  // The node without its place in the graph; valid as long as the node.
  OpCall call() const { return call_.call(); }
  // The user's line that made the node; may be empty.
  const std::string& source() const { return *source_; }
  // The node of a GraphDef that this node replaces or is a part of; else null.
  const ImportedNode* imported() const { return imported_.get(); }

  int num_inputs() const { return static_cast<int>(inputs_.size()); }
  const Output& input(int i) const { return inputs_[i]; }
  const std::vector<Output>& inputs() const { return inputs_; }  // see Graph::SetBackEdge
  const NodeSignature& signature() const { return call_.signature; }
  int num_outputs() const { return static_cast<int>(call_.signature.output_types.size()); }
  DataType output_type(int i) const { return call_.signature.output_types[i]; }
  Output output(int i) const { return Output{this, i}; }

  // ---- Guarded by the graph's lock while the graph is being built ----
  const std::vector<const Node*>& control_inputs() const { return control_inputs_; }
  const std::string& device() const { return device_; }
  const OutputFacts& facts(int i) const { return facts_[i]; }

  // The node of the program's graph that this one is a copy of (Graph::AddCopy); else itself.
  const Node* origin() const { return origin_ == nullptr ? this : origin_; }

  // "node 'dense/MatMul' (op MatMul), made at train.py:12": a line of every message about the node
  // (core/graph/error_details.h).
  std::string Describe() const;

 private:
  friend class Graph;
  int id_ = -1;
  OwnedOpCall call_;
  std::vector<Output> inputs_;
  std::vector<const Node*> control_inputs_;
  std::string device_;
  std::vector<OutputFacts> facts_;
  const std::string* source_ = nullptr;
  std::shared_ptr<const ImportedNode> imported_;
  const Node* origin_ = nullptr;
};

// If `output` is the value of a variable that was imported as a reference
// (core/import/import_refs.h), returns the handle of the variable; else returns `output`.
Output HandleOfImported(const Output& output);
// Adds node name, op, device and source to an error, as text and as payload (StatusNode).
Status AnnotateWithNode(const Status& status, const Node& node);
// The same for a node that could not be added.
Status AnnotateWithSpec(const Status& status, const NodeSpec& spec);
// The name of the node that an error is about; empty if there is none.
std::string StatusNode(const Status& status);

// The nodes, with their names, and the function library. Thread-safe.
class Graph {
 public:
  Graph();
  Graph(const Graph&) = delete;
  Graph& operator=(const Graph&) = delete;
  ~Graph();

  // Checks the op, its attributes, input types and shapes, and adds a node. INVALID_ARGUMENT,
  // NOT_FOUND (unknown op) and ALREADY_EXISTS (name in use) name the node, its op and the argument.
  StatusOr<const Node*> AddNode(NodeSpec spec) ABSL_LOCKS_EXCLUDED(mutex_);
  // Adds a copy of a node of another graph: its name, op, attributes and output facts, with inputs
  // of this graph. Inputs of a Merge may be missing, as in AddNode. Nothing is checked or inferred.
  // For graphs that the runtime makes. REQUIRES: the name is free; the other graph outlives this
  // one.
  const Node* AddCopy(const Node& original, std::vector<Output> inputs,
                      std::vector<const Node*> control_inputs) ABSL_LOCKS_EXCLUDED(mutex_);
  // NOT_FOUND if no node has the name.
  StatusOr<const Node*> FindNode(absl::string_view name) const ABSL_LOCKS_EXCLUDED(mutex_);
  // Finds "node:0" or "node" (its output 0). NOT_FOUND if there is no such node or output,
  // INVALID_ARGUMENT if `name` does not have this form.
  StatusOr<Output> FindOutput(absl::string_view name) const ABSL_LOCKS_EXCLUDED(mutex_);
  int num_nodes() const ABSL_LOCKS_EXCLUDED(mutex_);
  // REQUIRES: 0 <= id < num_nodes().
  const Node* node(int id) const ABSL_LOCKS_EXCLUDED(mutex_);
  // All nodes so far, in order of creation.
  std::vector<const Node*> nodes() const ABSL_LOCKS_EXCLUDED(mutex_);

  // Returns a name that no node has: `name`, or `name` with _1, _2, ... appended. The comparison
  // ignores case. If `reserve` is true, later calls return other names.
  std::string UniqueName(absl::string_view name, bool reserve = true) ABSL_LOCKS_EXCLUDED(mutex_);

  // The static facts of the output: its shape, value and handle.
  OutputFacts Facts(Output output) const ABSL_LOCKS_EXCLUDED(mutex_);
  // The value if the output is that of a Const, else null.
  static const Tensor* ConstantValue(Output output);
  // Merges `shape` into the static shape. INVALID_ARGUMENT if the two contradict each other.
  Status RefineShape(Output output, const PartialShape& shape) ABSL_LOCKS_EXCLUDED(mutex_);
  // An edge that closes a loop, from output 0 of `next`, a NextIteration, to input `input` of
  // `merge`, a Merge.
  struct BackEdge {
    const Node* merge = nullptr;
    int input = 0;
    const Node* next = nullptr;
  };
  // Sets all the edges, or none if there is an error, in about the time of one edge. Static shapes
  // of the Merges, and of nodes that depend on them, are widened where they no longer hold.
  // INVALID_ARGUMENT for other ops or for types that differ; FAILED_PRECONDITION if the Merge has
  // run. REQUIRES: no first run of a step that needs the Merge is in progress.
  Status SetBackEdges(absl::Span<const BackEdge> edges) ABSL_LOCKS_EXCLUDED(mutex_);
  // The same for one edge.
  Status SetBackEdge(const Node* merge, int input, const Node* next) ABSL_LOCKS_EXCLUDED(mutex_);
  // Makes the shape of the variable of `handle`, a VarHandleOp, unknown, so that it may hold values
  // of any shape. Static shapes that were inferred from it become unknown too. INVALID_ARGUMENT for
  // other nodes; FAILED_PRECONDITION if the node has run.
  Status ForgetVariableShape(const Node* handle) ABSL_LOCKS_EXCLUDED(mutex_);
  // Lets `node` run after `control`. Nothing changes if it does so already. FAILED_PRECONDITION if
  // the node has run. A cycle is an error of the steps that need it.
  Status AddControlInput(const Node* node, const Node* control) ABSL_LOCKS_EXCLUDED(mutex_);
  // A copy of the node's present control inputs.
  std::vector<const Node*> ControlInputs(const Node* node) const ABSL_LOCKS_EXCLUDED(mutex_);
  // A copy of the requested device of the node: a full or partial name, or empty.
  std::string Device(const Node* node) const ABSL_LOCKS_EXCLUDED(mutex_);
  // Sets the requested device. FAILED_PRECONDITION if the node has run. The name is checked when a
  // step that needs the node is placed.
  Status SetDevice(const Node* node, std::string device) ABSL_LOCKS_EXCLUDED(mutex_);
  // Marks nodes as part of a compiled step. They cannot be changed afterwards.
  void MarkAsRun(absl::Span<const Node* const> nodes) ABSL_LOCKS_EXCLUDED(mutex_);
  // How often nodes have been changed: by a control input, a device, a back edge or a variable
  // shape that was forgotten.
  int64_t num_changes() const ABSL_LOCKS_EXCLUDED(mutex_);
  // The same for a step that was compiled of the nodes as they were when num_changes() was
  // `changes`. Returns false, and marks none, if one of them has been changed since.
  bool MarkAsRunUnlessChanged(absl::Span<const Node* const> nodes, int64_t changes)
      ABSL_LOCKS_EXCLUDED(mutex_);

  // The function library that was imported, as a serialized FunctionDefLibrary.
  std::string library() const ABSL_LOCKS_EXCLUDED(mutex_);
  void set_library(std::string bytes) ABSL_LOCKS_EXCLUDED(mutex_);
  // The version that GraphDef.versions.producer declares.
  int producer_version() const ABSL_LOCKS_EXCLUDED(mutex_);
  void set_producer_version(int version) ABSL_LOCKS_EXCLUDED(mutex_);

 private:
  StatusOr<std::vector<OutputFacts>> InferFacts(const Node& node) const
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  StatusOr<std::vector<OutputFacts>> RelaxedFacts(const Node& node) const
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void IndexConsumers() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  Status RelaxFrom(std::set<int> stale) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  const std::string* InternSource(std::string source) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void NoteChange(const Node* node) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    changed_[node] = ++num_changes_;
  }

  mutable absl::Mutex mutex_;
  const FreeInForks free_in_forks_{&mutex_};  // a forked child may continue to build
  std::deque<std::unique_ptr<Node>> nodes_ ABSL_GUARDED_BY(mutex_);
  absl::flat_hash_map<std::string, const Node*> by_name_ ABSL_GUARDED_BY(mutex_);
  absl::flat_hash_map<std::string, int> names_in_use_ ABSL_GUARDED_BY(mutex_);  // lower case
  std::set<std::string> sources_ ABSL_GUARDED_BY(mutex_);
  std::vector<bool> has_run_ ABSL_GUARDED_BY(mutex_);
  int64_t num_changes_ ABSL_GUARDED_BY(mutex_) = 0;
  // Which of the changes was the last one of a node, for those that have been changed.
  absl::flat_hash_map<const Node*, int64_t> changed_ ABSL_GUARDED_BY(mutex_);
  // The readers of each node, by id. Complete after IndexConsumers. May contain former readers.
  std::vector<std::vector<int>> consumers_ ABSL_GUARDED_BY(mutex_);
  // The arguments of RefineShape, by output.
  absl::flat_hash_map<Output, PartialShape> refined_ ABSL_GUARDED_BY(mutex_);
  std::string library_ ABSL_GUARDED_BY(mutex_);
  int producer_version_ ABSL_GUARDED_BY(mutex_);
};

// The version that graphs of this runtime declare: the newest public GraphDef version it supports.
inline constexpr int kGraphDefProducer = 134;

}  // namespace millstream

#endif  // MILLSTREAM_CORE_GRAPH_GRAPH_H_
