// A short notation to add nodes to a graph, for gradient functions and passes.
#ifndef MILLSTREAM_CORE_GRAPH_GRAPH_BUILDER_H_
#define MILLSTREAM_CORE_GRAPH_GRAPH_BUILDER_H_

#include <initializer_list>
#include <string>
#include <utility>
#include <vector>

#include "core/graph/graph.h"

namespace millstream {

// A part of a graph, such as the body of a loop, whose nodes may read tensors of that part only.
class GraphRegion {
 public:
  virtual ~GraphRegion() = default;
  // The tensor of the region that has the value of `tensor`, which is of the region itself or from
  // outside. May add nodes.
  virtual StatusOr<Output> Inside(const Output& tensor) = 0;
  // What nodes without inputs wait for, so that they run where the region does.
  virtual const Node* pivot() const = 0;
  // `node` was added to the region.
  virtual void NoteMade(const Node* node) = 0;
};

// Names new nodes below a scope ("gradients/MatMul_grad") and keeps the first error: after it,
// every call returns an Output without node and does nothing, so that callers check once at the
// end. Not thread-safe.
class GraphBuilder {
 public:
  using Attrs = std::initializer_list<std::pair<const char*, AttrValue>>;

  GraphBuilder(Graph* graph, std::string scope) : graph_(graph), scope_(std::move(scope)) {}

  // Output 0 of a new node, whose name is the op's below the scope.
  Output Op(absl::string_view op, const std::vector<Output>& inputs, Attrs attrs = {});
  // The new node, for ops of several outputs.
  const Node* NodeOf(absl::string_view op, const std::vector<Output>& inputs, Attrs attrs = {});
  // The new node, for ops with variadic arguments. Each inner list is one argument.
  const Node* Variadic(absl::string_view op, const std::vector<std::vector<Output>>& arguments,
                       Attrs attrs = {});
  // The same, named `name` below the scope.
  const Node* Named(absl::string_view name, absl::string_view op,
                    const std::vector<std::vector<Output>>& arguments, AttrMap attrs);

  // Output 0 of a new node. It gets the attributes of `attrs` that `names` lists and the op has.
  Output OpWithAttrs(absl::string_view op, const std::vector<Output>& inputs, const AttrMap& attrs,
                     const std::vector<const char*>& names);

  // Constants.
  Output Const(const Tensor& value);
  Output Int32(int32_t value) { return ScalarOf(DataType::kInt32, value); }
  Output Int32Vector(const std::vector<int32_t>& values);
  Output Int64Vector(const std::vector<int64_t>& values);
  // A scalar of `dtype` (any numeric type).
  Output ScalarOf(DataType dtype, double value);

  // New nodes get these control inputs, device, colocation groups ("loc:@NODE") and source.
  void set_control_inputs(std::vector<const Node*> controls) { controls_ = std::move(controls); }
  void set_device(std::string device) { device_ = std::move(device); }
  void set_colocation(std::vector<std::string> groups) { colocation_ = std::move(groups); }
  const std::string& device() const { return device_; }
  const std::vector<std::string>& colocation() const { return colocation_; }
  void set_source(std::string source) { source_ = std::move(source); }
  void set_scope(std::string scope) { scope_ = std::move(scope); }
  // New nodes get the device, the colocation groups and the source that those of `other` get, and
  // are added to the same list.
  void StandBeside(const GraphBuilder& other) {
    device_ = other.device_;
    colocation_ = other.colocation_;
    source_ = other.source_;
    made_ = other.made_;
  }
  // True if new nodes request a device or join colocation groups.
  bool requests_place() const { return !device_.empty() || !colocation_.empty(); }
  const std::string& source() const { return source_; }
  // New nodes belong to this region, which must outlive the builder or be replaced; null: the graph
  // as a whole. Returns the region before.
  GraphRegion* set_region(GraphRegion* region) { return std::exchange(region_, region); }
  GraphRegion* region() const { return region_; }
  // New nodes are added to this list, which must outlive the builder; null: to none.
  void set_made(std::vector<const Node*>* made) { made_ = made; }
  std::vector<const Node*>* made() const { return made_; }
  const std::string& scope() const { return scope_; }

  // The static shape of a tensor; unknown after an error.
  PartialShape ShapeOf(Output output) const;

  Graph* graph() const { return graph_; }
  const Status& status() const { return status_; }
  bool ok() const { return status_.ok(); }
  // Keeps `status` if it is the first error.
  void UpdateStatus(const Status& status);

 private:
  Output ConstOrError(const StatusOr<Tensor>& value);
  Status MoveIntoRegion(NodeSpec* spec) const;

  Graph* const graph_;
  std::string scope_;
  std::vector<const Node*> controls_;
  std::string device_;
  std::vector<std::string> colocation_;
  std::string source_;
  GraphRegion* region_ = nullptr;
  std::vector<const Node*>* made_ = nullptr;
  Status status_;
};

}  // namespace millstream

#endif  // MILLSTREAM_CORE_GRAPH_GRAPH_BUILDER_H_
