#include "core/gradients/gradients.h"

#include <algorithm>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_cat.h"
#include "core/graph/colocation.h"

namespace millstream {
namespace {

constexpr char kGradientOpAttr[] = "_gradient_op_type";

bool HasGradientType(DataType dtype) {
  return IsFloating(dtype) || IsComplex(dtype) || dtype == DataType::kResource ||
         dtype == DataType::kVariant;
}

// What a node is colocated with: what it asks for, else itself.
std::vector<std::string> ColocationGroups(const Node& node) {
  const auto groups = node.Attr<std::vector<std::string>>(kColocationAttr);
  if (groups.ok() && !groups->empty()) return *groups;
  return {ColocationGroup(node.name())};
}

// One walk from ys back to xs. Nodes are numbered in an order in which inputs come before their
// readers, so the walk is a loop over numbers that fall: when it comes to a node, all that reads
// its outputs has been dealt with.
class BackwardWalk {
 public:
  BackwardWalk(Graph* graph, const std::vector<Output>& xs, const GradientOptions& options)
      : graph_(graph),
        options_(options),
        builder_(graph, options.scope),
        xs_(xs.begin(), xs.end()),
        stops_(options.stop_gradients.begin(), options.stop_gradients.end()) {
    builder_.set_source(options.source);
  }

  Status Start(const std::vector<Output>& ys, const std::vector<Output>& grad_ys);
  Status Walk();
  StatusOr<std::vector<Gradient>> Results(const std::vector<Output>& xs);

 private:
  void FindNodes(const std::vector<Output>& ys);
  bool LeadsToX(const Output& output) const {
    return xs_.contains(output) || (between_.contains(output.node) && !stops_.contains(output));
  }
  Status VisitNode(const Node* node);
  void StandBeside(const Node* node);
  Status ShapeLikeInput(const Node* node, int input, const Output& dx);
  StatusOr<Output> FirstGradient(int i, const Output& y, const Output& given);
  Gradient Total(const Output& output);
  Gradient SumSlices(const std::vector<Gradient>& parts);

  Graph* const graph_;
  const GradientOptions& options_;
  GraphBuilder builder_;
  const absl::flat_hash_set<Output> xs_;
  const absl::flat_hash_set<Output> stops_;
  std::vector<const Node*> order_;            // nodes that ys need, the newest first
  absl::flat_hash_set<const Node*> between_;  // of those, the ones that some x reaches
  absl::flat_hash_map<Output, std::vector<Gradient>> parts_;
};

void BackwardWalk::FindNodes(const std::vector<Output>& ys) {
  absl::flat_hash_set<const Node*> seen;
  for (const Output& y : ys) {
    if (seen.insert(y.node).second) order_.push_back(y.node);
  }
  bool loops = false;  // some input is newer than its reader, as only back edges make it
  for (size_t i = 0; i < order_.size(); ++i) {
    for (const Output& input : order_[i]->inputs()) {
      loops = loops || input.node->id() > order_[i]->id();
      if (seen.insert(input.node).second) order_.push_back(input.node);
    }
  }
  std::sort(order_.begin(), order_.end(),
            [](const Node* a, const Node* b) { return a->id() > b->id(); });
  size_t before = 0;
  do {  // once, and with loops until a round finds nothing new
    before = between_.size();
    for (size_t i = order_.size(); i-- > 0;) {
      const Node* node = order_[i];
      for (const Output& input : node->inputs()) {
        if (LeadsToX(input)) {
          between_.insert(node);
          break;
        }
      }
    }
  } while (loops && between_.size() > before);
}

StatusOr<Output> BackwardWalk::FirstGradient(int i, const Output& y, const Output& given) {
  const PartialShape shape = builder_.ShapeOf(y);
  if (given) {
    if (given.dtype() == y.dtype()) return given;
    return AnnotateWithNode(
        errors::InvalidArgument("grad_ys ", i, " is ", DataTypeName(given.dtype()), ", expected ",
                                DataTypeName(y.dtype())),
        *y.node);
  }
  if (!IsFloating(y.dtype()) && !IsComplex(y.dtype())) {
    return AnnotateWithNode(
        errors::InvalidArgument("y ", i,
                                " must be floating point or complex to have a gradient, "
                                "got ",
                                DataTypeName(y.dtype())),
        *y.node);
  }
  if (!shape.IsFullyKnown()) return builder_.Op("OnesLike", {y});
  const Output one = builder_.ScalarOf(y.dtype(), 1);
  if (shape.rank() == 0) return one;
  std::vector<int64_t> dims(shape.dims().begin(), shape.dims().end());
  return builder_.Op("Fill", {builder_.Int64Vector(dims), one});
}

Status BackwardWalk::Start(const std::vector<Output>& ys, const std::vector<Output>& grad_ys) {
  FindNodes(ys);
  for (size_t i = 0; i < ys.size(); ++i) {
    const Output given = i < grad_ys.size() ? grad_ys[i] : Output();
    StandBeside(ys[i].node);
    MS_ASSIGN_OR_RETURN(Output first, FirstGradient(static_cast<int>(i), ys[i], given));
    parts_[ys[i]].push_back(Gradient{first, {}, {}});
  }
  return builder_.status();
}

// Rows of one tensor from several readers: all of them, one after the other.
Gradient BackwardWalk::SumSlices(const std::vector<Gradient>& parts) {
  std::vector<Output> values;
  std::vector<Output> indices;
  for (const Gradient& part : parts) {
    const bool narrow = part.indices.dtype() == DataType::kInt32;
    values.push_back(part.values);
    indices.push_back(narrow ? builder_.Op("Cast", {part.indices}, {{"DstT", DataType::kInt64}})
                             : part.indices);
  }
  const auto concat = [&](const std::vector<Output>& tensors) {
    const Node* node = builder_.Variadic("ConcatV2", {tensors, {builder_.Int32(0)}});
    return node == nullptr ? Output() : node->output(0);
  };
  return Gradient{concat(values), concat(indices), parts[0].dense_shape};
}

// The sum over all readers of an output, made once.
Gradient BackwardWalk::Total(const Output& output) {
  auto found = parts_.find(output);
  if (found == parts_.end() || found->second.empty()) return Gradient();
  std::vector<Gradient>& parts = found->second;
  if (parts.size() == 1) return parts[0];
  const bool all_slices = std::all_of(parts.begin(), parts.end(),
                                      [](const Gradient& part) { return part.is_slices(); });
  Gradient total;
  if (all_slices) {
    total = SumSlices(parts);
  } else {
    std::vector<Output> dense;
    for (const Gradient& part : parts) dense.push_back(DenseGradient(&builder_, part));
    const Node* sum = builder_.Variadic("AddN", {dense});
    total.values = sum == nullptr ? Output() : sum->output(0);
  }
  parts.assign(1, total);
  return total;
}

// A gradient has the shape of what it is the gradient of, whether or not shape inference sees it.
Status BackwardWalk::ShapeLikeInput(const Node* node, int input, const Output& dx) {
  if (node->input(input).dtype() == DataType::kResource) return absl::OkStatus();
  const PartialShape own = builder_.ShapeOf(dx);
  const PartialShape wanted = builder_.ShapeOf(node->input(input));
  const StatusOr<PartialShape> merged = own.MergeWith(wanted);
  if (!merged.ok()) {
    return errors::InvalidArgument(
        "Incompatible shapes between op input and calculated input gradient: input ", input, " of ",
        node->Describe(), " has the shape ", wanted.ToString(), ", its gradient ", own.ToString());
  }
  return *merged == own ? absl::OkStatus() : graph_->RefineShape(dx, wanted);
}

// The op whose gradient function the node has: its own, unless an attribute names another.
std::string GradientOp(const Node& node) {
  const StatusOr<std::string> other = node.Attr<std::string>(kGradientOpAttr);
  return other.ok() ? *other : node.op().name;
}

// The nodes that are made from now on belong to `node`.
void BackwardWalk::StandBeside(const Node* node) {
  if (!options_.colocate_with_forward) return;
  builder_.set_device(graph_->Device(node));
  builder_.set_colocation(ColocationGroups(*node));
}

Status BackwardWalk::VisitNode(const Node* node) {
  std::vector<Gradient> dy;
  bool any = false;
  builder_.set_scope(options_.scope.empty()
                         ? absl::StrCat(node->name(), "_grad")
                         : absl::StrCat(options_.scope, "/", node->name(), "_grad"));
  StandBeside(node);
  for (int i = 0; i < node->num_outputs(); ++i) {
    dy.push_back(stops_.contains(node->output(i)) ? Gradient() : Total(node->output(i)));
    any = any || !dy.back().is_none();
  }
  if (!any) return builder_.status();
  StatusOr<GradientFunction> function = FindGradient(GradientOp(*node));
  if (!function.ok()) return AnnotateWithNode(function.status(), *node);
  if (*function == nullptr) return absl::OkStatus();
  std::vector<Output> outputs;
  for (int i = 0; i < node->num_outputs(); ++i) outputs.push_back(node->output(i));
  GradientContext context(node->call(), node->inputs(), std::move(outputs), std::move(dy),
                          &builder_);
  Status status = (*function)(&context);
  if (status.ok()) status = builder_.status();
  if (!status.ok()) {
    return WithContext(status, absl::StrCat("in the gradient of ", node->Describe()));
  }
  for (int i = 0; i < node->num_inputs(); ++i) {
    const Output& input = node->input(i);
    const Gradient& dx = context.dx()[i];
    if (dx.is_none() || !LeadsToX(input) || !HasGradientType(input.dtype())) continue;
    if (!dx.is_slices()) MS_RETURN_IF_ERROR(ShapeLikeInput(node, i, dx.values));
    parts_[input].push_back(dx);
  }
  return absl::OkStatus();
}

Status BackwardWalk::Walk() {
  for (const Node* node : order_) {
    if (between_.contains(node)) MS_RETURN_IF_ERROR(VisitNode(node));
  }
  return absl::OkStatus();
}

StatusOr<std::vector<Gradient>> BackwardWalk::Results(const std::vector<Output>& xs) {
  builder_.set_scope(options_.scope);
  std::vector<Gradient> results;
  for (const Output& x : xs) {
    StandBeside(x.node);
    results.push_back(Total(x));
  }
  MS_RETURN_IF_ERROR(builder_.status());
  return results;
}

}  // namespace

StatusOr<std::vector<Gradient>> AddGradients(Graph* graph, const std::vector<Output>& ys,
                                             const std::vector<Output>& xs,
                                             const std::vector<Output>& grad_ys,
                                             const GradientOptions& options) {
  if (!grad_ys.empty() && grad_ys.size() != ys.size()) {
    return errors::InvalidArgument("expected one grad_ys for each of ", ys.size(), " ys, got ",
                                   grad_ys.size());
  }
  std::vector<Output> sources;
  for (const Output& x : xs) sources.push_back(HandleOfImported(x));
  BackwardWalk walk(graph, sources, options);
  MS_RETURN_IF_ERROR(walk.Start(ys, grad_ys));
  MS_RETURN_IF_ERROR(walk.Walk());
  return walk.Results(sources);
}

}  // namespace millstream
