#include "core/import/import_refs.h"

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "core/graph/imported_node.h"
#include "core/import/reference_ops.h"
#include "framework/op_registry.h"

namespace millstream {
namespace {

constexpr char kRead[] = "ReadVariableOp";

class Rewriter {
 public:
  Rewriter(const Graph& graph, ImportPlan* plan)
      : graph_(graph),
        plan_(*plan),
        references_(plan->nodes.size()),
        control_of_(plan->nodes.size(), -1),
        relaxed_(plan->nodes.size(), false) {
    for (size_t i = 0; i < plan->nodes.size(); ++i) names_.insert(plan->nodes[i].spec.name);
  }

  Status Run();

 private:
  // A reference, as the runtime has it.
  struct Reference {
    PlannedInput handle;
    std::vector<PlannedInput> after;  // what runs before anybody uses it
    std::string device;               // of the variable
    bool by_output = false;           // output i of the node is output i of the handle's node
    // The type of the handle where the node itself gives it, as that of a resource or its name
    // does; kInvalid for variables, of which the node gives the value.
    DataType own_type = DataType::kInvalid;
    bool is_own() const { return own_type != DataType::kInvalid; }
  };
  // A node's inputs on their way from references to handles.
  struct Inputs {
    std::vector<PlannedInput> tensors;
    std::vector<PlannedInput> controls;   // its own
    std::vector<PlannedInput> after;      // and those of the references that it takes
    std::vector<std::string> references;  // their names
  };

  // Input `input` of `merge`, a node of handles, becomes the reference of the node `next`.
  struct LoopEdge {
    int merge = -1;
    size_t input = 0;
    int next = -1;
  };

  PlannedNode& node(int i) { return plan_.nodes[i]; }
  Status Rewrite(int i);
  StatusOr<Inputs> TakeInputs(int i);
  StatusOr<PlannedInput> TakeReference(int i, const PlannedInput& given, Inputs* inputs);
  Status RewriteVariable(int i, Inputs inputs);
  Status RewriteResource(int i, Inputs inputs);
  Status RewriteUpdate(int i, Inputs inputs);
  Status RewritePass(int i, Inputs inputs);
  Status RewriteControlFlow(int i, Inputs inputs);
  Status BecomeOnOwn(int i, DataType type, Inputs inputs);
  Status RewriteSelect(int i, Inputs inputs);
  Status CloseLoops();
  Status RewriteQuery(int i, Inputs inputs);

  bool IsReference(const PlannedInput& input) const;
  StatusOr<Reference> ReferenceOf(const PlannedInput& input) const;
  StatusOr<PlannedInput> AddRead(int reader, const PlannedInput& source,
                                 const std::vector<PlannedInput>& controls);
  StatusOr<std::vector<PlannedInput>> AsFew(int owner, std::vector<PlannedInput> controls);
  StatusOr<int> AddHidden(int owner, absl::string_view suffix, absl::string_view op, AttrMap attrs,
                          Inputs inputs);
  Status Become(int i, absl::string_view op, AttrMap attrs, Inputs inputs);
  Status BecomeRead(int i, const Reference& reference, std::vector<PlannedInput> controls,
                    std::vector<std::string> references);

  void FindChangingShapes();
  PartialShape ShapeOf(const PlannedInput& input) const;
  std::string NameOf(const PlannedInput& input) const { return PlannedName(plan_, input); }
  std::string FreeName(const std::string& name);

  const Graph& graph_;
  ImportPlan& plan_;
  std::vector<Reference> references_;  // what each node's outputs became; handle.node -1: nothing
  std::vector<int> control_of_;        // whom to wait for instead of each node; -1: the node itself
  std::vector<bool> relaxed_;          // variables that are assigned values of other shapes
  std::vector<int> order_;
  std::vector<LoopEdge> loop_edges_;
  absl::flat_hash_set<std::string> names_;
  absl::flat_hash_map<std::string, int> next_suffixes_;  // all below are taken; 0: the name itself
};

bool Rewriter::IsReference(const PlannedInput& input) const {
  return input.node >= 0 && input.index >= 0 &&
         plan_.nodes[input.node].signature.output_is_ref[input.index];
}

StatusOr<Rewriter::Reference> Rewriter::ReferenceOf(const PlannedInput& input) const {
  if (input.node >= 0) {
    if (!IsReference(input)) {
      return errors::InvalidArgument("expected a reference to a variable, got the tensor ",
                                     NameOf(input));
    }
    Reference reference = references_[input.node];
    if (reference.by_output) reference.handle.index = input.index;
    reference.by_output = false;
    return reference;
  }
  const Output handle = HandleOfImported(input.existing);
  if (handle == input.existing) {
    return errors::InvalidArgument("expected a reference to a variable, got the tensor ",
                                   input.existing.name());
  }
  Reference reference;
  reference.handle = PlannedInput{-1, handle.index, handle};
  for (const Node* control : graph_.ControlInputs(input.existing.node)) {
    reference.after.push_back(PlannedInput{-1, TensorName::kControl, Output{control, 0}});
  }
  reference.device = graph_.Device(handle.node);
  return reference;
}

std::string Rewriter::FreeName(const std::string& name) {
  int& next = next_suffixes_[name];
  std::string free = next == 0 ? name : absl::StrCat(name, "_", next);
  while (names_.contains(free) || graph_.FindNode(free).ok()) {
    free = absl::StrCat(name, "_", ++next);
  }
  ++next;
  names_.insert(free);
  return free;
}

PartialShape Rewriter::ShapeOf(const PlannedInput& input) const {
  if (input.node < 0) return graph_.Facts(input.existing).shape;
  return plan_.nodes[input.node].facts[input.index].shape;
}

// Without validate_shape an assignment may give a variable another shape than it declares; then
// nothing is known of it.
void Rewriter::FindChangingShapes() {
  for (size_t i = 0; i < plan_.nodes.size(); ++i) {
    const PlannedNode& assign = plan_.nodes[i];
    if (assign.op->name != "Assign") continue;
    if (GetAttr<bool>(assign.spec.attrs, "validate_shape").value_or(true)) continue;
    const PartialShape variable = ShapeOf(assign.inputs[0]);
    const PartialShape value = ShapeOf(assign.inputs[1]);
    if (variable.IsFullyKnown() && value.IsFullyKnown() && variable == value) continue;
    std::vector<PlannedInput> sources = {assign.inputs[0]};
    while (!sources.empty()) {
      const PlannedInput source = sources.back();
      sources.pop_back();
      // Before one that is relaxed already, all are.
      if (source.node < 0 || relaxed_[source.node]) continue;
      relaxed_[source.node] = true;
      for (const PlannedInput& input : plan_.nodes[source.node].inputs) {
        if (IsReference(input)) sources.push_back(input);
      }
    }
  }
}

StatusOr<int> Rewriter::AddHidden(int owner, absl::string_view suffix, absl::string_view op,
                                  AttrMap attrs, Inputs inputs) {
  PlannedNode hidden;
  MS_ASSIGN_OR_RETURN(hidden.op, OpRegistry::Global()->Find(op));
  MS_RETURN_IF_ERROR(CompleteAttrs(*hidden.op, &attrs));
  const NodeSpec& owner_spec = node(owner).spec;
  hidden.spec.name = FreeName(absl::StrCat(owner_spec.name, "/", suffix));
  hidden.spec.op = std::string(op);
  hidden.spec.attrs = std::move(attrs);
  hidden.spec.device = owner_spec.device;
  hidden.spec.source = owner_spec.source;
  auto imported = std::make_shared<ImportedNode>();
  imported->name = owner_spec.name;
  imported->op = owner_spec.imported == nullptr ? owner_spec.op : owner_spec.imported->op;
  imported->hidden = true;
  imported->stands_for = owner_spec.name;
  imported->references = std::move(inputs.references);
  hidden.spec.imported = std::move(imported);
  hidden.inputs = std::move(inputs.tensors);
  hidden.control_inputs = std::move(inputs.controls);
  hidden.control_inputs.insert(hidden.control_inputs.end(), inputs.after.begin(),
                               inputs.after.end());
  plan_.nodes.Add(std::move(hidden));
  order_.push_back(static_cast<int>(plan_.nodes.size()) - 1);
  return order_.back();
}

// Nodes to wait for in place of `controls`, so few that every read may have them all.
StatusOr<std::vector<PlannedInput>> Rewriter::AsFew(int owner, std::vector<PlannedInput> controls) {
  constexpr size_t kFew = 8;
  if (controls.size() <= kFew) return controls;
  Inputs inputs;
  inputs.controls = std::move(controls);
  MS_ASSIGN_OR_RETURN(const int barrier,
                      AddHidden(owner, "after", "NoOp", AttrMap(), std::move(inputs)));
  return std::vector<PlannedInput>{PlannedInput{barrier, TensorName::kControl, Output()}};
}

// A read of its own for `reader`, which runs when the reader may.
StatusOr<PlannedInput> Rewriter::AddRead(int reader, const PlannedInput& source,
                                         const std::vector<PlannedInput>& controls) {
  MS_ASSIGN_OR_RETURN(const Reference reference, ReferenceOf(source));
  AttrMap attrs;
  SetAttr(&attrs, "dtype", node(source.node).signature.output_types[source.index]);
  MS_ASSIGN_OR_RETURN(const int read,
                      AddHidden(reader, "read", kRead, std::move(attrs),
                                Inputs{{reference.handle}, controls, reference.after, {}}));
  auto imported = std::make_shared<ImportedNode>(*node(read).spec.imported);
  imported->stands_for = node(source.node).spec.name;
  imported->first_output = source.index;
  imported->is_read = true;
  node(read).spec.imported = std::move(imported);
  node(read).spec.device = reference.device;
  return PlannedInput{read, 0, Output()};
}

// The node runs as `op` from now on, and is exported as it came.
Status Rewriter::Become(int i, absl::string_view op, AttrMap attrs, Inputs inputs) {
  PlannedNode& changed = node(i);
  auto imported = std::make_shared<ImportedNode>(*changed.spec.imported);
  MS_ASSIGN_OR_RETURN(changed.op, OpRegistry::Global()->Find(op));
  MS_RETURN_IF_ERROR(CompleteAttrs(*changed.op, &attrs));
  changed.spec.op = std::string(op);
  changed.spec.attrs = std::move(attrs);
  changed.inputs = std::move(inputs.tensors);
  changed.control_inputs = std::move(inputs.controls);
  changed.control_inputs.insert(changed.control_inputs.end(), inputs.after.begin(),
                                inputs.after.end());
  imported->references = std::move(inputs.references);
  imported->num_controls = changed.control_inputs.size();
  changed.spec.imported = std::move(imported);
  // What was found of its outputs still holds, but for variables of changing shapes.
  changed.declared_shapes.clear();
  if (relaxed_[i]) return absl::OkStatus();
  for (const OutputFacts& facts : changed.facts) changed.declared_shapes.push_back(facts.shape);
  return absl::OkStatus();
}

Status Rewriter::BecomeRead(int i, const Reference& reference, std::vector<PlannedInput> controls,
                            std::vector<std::string> references) {
  const OpDef* read = OpRegistry::Global()->Find(kRead).value_or(nullptr);
  if (read == nullptr) return errors::Internal("the op ", kRead, " is not registered");
  return Become(i, kRead, AttrsOfTwin(*read, node(i).spec.attrs),
                Inputs{{reference.handle}, std::move(controls), {}, std::move(references)});
}

// The inputs with handles where the op takes references, and reads where it takes values.
StatusOr<Rewriter::Inputs> Rewriter::TakeInputs(int i) {
  Inputs inputs;
  for (PlannedInput control : node(i).control_inputs) {
    if (control.node >= 0 && control_of_[control.node] >= 0) {
      control.node = control_of_[control.node];
    }
    inputs.controls.push_back(control);
  }
  std::vector<PlannedInput> before_reads = inputs.controls;
  const std::vector<PlannedInput> given = node(i).inputs;
  const std::vector<bool> takes_reference = node(i).signature.input_is_ref;
  for (size_t k = 0; k < given.size(); ++k) {
    PlannedInput tensor = given[k];
    if (takes_reference[k]) inputs.references.push_back(NameOf(tensor));
    if (IsBackEdge(plan_, tensor, node(i))) {
      inputs.tensors.push_back(tensor);  // was not rewritten yet
      continue;
    }
    if (takes_reference[k]) {
      StatusOr<PlannedInput> handle = TakeReference(i, tensor, &inputs);
      if (!handle.ok()) return WithContext(handle.status(), absl::StrCat("input ", k));
      tensor = *handle;
    } else if (IsReference(tensor) && references_[tensor.node].is_own()) {
      MS_ASSIGN_OR_RETURN(const Reference reference, ReferenceOf(tensor));
      tensor = reference.handle;
    } else if (IsReference(tensor)) {
      MS_ASSIGN_OR_RETURN(before_reads, AsFew(i, std::move(before_reads)));
      MS_ASSIGN_OR_RETURN(tensor, AddRead(i, tensor, before_reads));
    }
    inputs.tensors.push_back(tensor);
  }
  return inputs;
}

// The handle for a node that takes a reference.
StatusOr<PlannedInput> Rewriter::TakeReference(int i, const PlannedInput& given, Inputs* inputs) {
  MS_ASSIGN_OR_RETURN(const Reference reference, ReferenceOf(given));
  inputs->after.insert(inputs->after.end(), reference.after.begin(), reference.after.end());
  relaxed_[i] = relaxed_[i] || (given.node >= 0 && relaxed_[given.node]);
  return reference.handle;
}

Status Rewriter::RewriteVariable(int i, Inputs inputs) {
  MS_ASSIGN_OR_RETURN(const OpDef* handle_op, OpRegistry::Global()->Find("VarHandleOp"));
  AttrMap attrs = AttrsOfTwin(*handle_op, node(i).spec.attrs);
  MS_ASSIGN_OR_RETURN(const std::string shared_name, SharedNameOf(node(i).spec));
  SetAttr(&attrs, "shared_name", shared_name);
  SetAttr(&attrs, "shape", relaxed_[i] ? PartialShape() : node(i).facts[0].shape);
  MS_ASSIGN_OR_RETURN(const int handle,
                      AddHidden(i, "handle", handle_op->name, std::move(attrs), inputs));
  Reference reference;
  reference.handle = PlannedInput{handle, 0, Output()};
  reference.device = node(i).spec.device;
  references_[i] = reference;
  control_of_[i] = handle;
  return BecomeRead(i, reference, std::move(inputs.controls), {});
}

// The node becomes the handle itself, or the name.
Status Rewriter::RewriteResource(int i, Inputs inputs) {
  MS_ASSIGN_OR_RETURN(const OpDef* twin, TwinOf(*node(i).op));
  AttrMap attrs = AttrsOfTwin(*twin, node(i).spec.attrs);
  if (twin->name == "Identity") SetAttr(&attrs, "T", DataType::kResource);
  if (node(i).op->name == "Stack") {
    AttrMap no_limit;
    SetAttr(&no_limit, "dtype", DataType::kInt32);
    SetAttr(&no_limit, "value", Tensor::Scalar<int32_t>(-1));
    MS_ASSIGN_OR_RETURN(const int size,
                        AddHidden(i, "max_size", "Const", std::move(no_limit), Inputs()));
    inputs.tensors.push_back(PlannedInput{size, 0, Output()});
  }
  references_[i].handle = PlannedInput{i, 0, Output()};
  references_[i].device = node(i).spec.device;
  const DataType type = twin->outputs[0].type;
  references_[i].own_type = type == DataType::kString ? type : DataType::kResource;
  MS_RETURN_IF_ERROR(Become(i, twin->name, std::move(attrs), std::move(inputs)));
  node(i).declared_shapes.clear();
  return absl::OkStatus();
}

Status Rewriter::RewriteUpdate(int i, Inputs inputs) {
  MS_ASSIGN_OR_RETURN(Reference reference, ReferenceOf(node(i).inputs[0]));
  MS_ASSIGN_OR_RETURN(const OpDef* twin, TwinOf(*node(i).op));
  MS_ASSIGN_OR_RETURN(const int write, AddHidden(i, "write", twin->name,
                                                 AttrsOfTwin(*twin, node(i).spec.attrs), inputs));
  reference.after = {PlannedInput{write, TensorName::kControl, Output()}};
  references_[i] = reference;
  control_of_[i] = write;
  // The value that is assigned has the shape that was found of it.
  if (node(i).op->name == "Assign") relaxed_[i] = false;
  return BecomeRead(i, reference, reference.after, {});
}

// Control flow on handles that nodes give themselves.
Status Rewriter::BecomeOnOwn(int i, DataType type, Inputs inputs) {
  const std::string op(absl::StripPrefix(node(i).op->name, kReferencePrefix));
  AttrMap attrs = node(i).spec.attrs;
  SetAttr(&attrs, "T", type);
  references_[i].handle = PlannedInput{i, 0, Output()};
  references_[i].device = node(i).spec.device;
  references_[i].by_output = true;
  references_[i].own_type = type;
  MS_RETURN_IF_ERROR(Become(i, op, std::move(attrs), std::move(inputs)));
  node(i).declared_shapes.clear();
  return absl::OkStatus();
}

Status Rewriter::RewriteControlFlow(int i, Inputs inputs) {
  const PlannedInput first = node(i).inputs[0];
  if (IsReference(first) && references_[first.node].is_own()) {
    return BecomeOnOwn(i, references_[first.node].own_type, std::move(inputs));
  }
  if (node(i).op->name == "RefSelect") return RewriteSelect(i, std::move(inputs));
  const std::string op(absl::StripPrefix(node(i).op->name, kReferencePrefix));
  AttrMap on_values = node(i).spec.attrs;
  AttrMap on_handles = on_values;
  SetAttr(&on_handles, "T", DataType::kResource);
  Inputs values;
  values.controls = inputs.controls;
  const std::vector<PlannedInput> given = node(i).inputs;
  std::vector<LoopEdge> edges;
  for (size_t k = 0; k < given.size(); ++k) {
    PlannedInput value = inputs.tensors[k];
    if (IsBackEdge(plan_, given[k], node(i))) {
      edges.push_back({-1, k, given[k].node});
    } else if (node(i).signature.input_is_ref[k] && given[k].node < 0) {
      value = PlannedInput{-1, given[k].existing.index, given[k].existing};
    } else if (node(i).signature.input_is_ref[k]) {
      MS_ASSIGN_OR_RETURN(values.controls, AsFew(i, std::move(values.controls)));
      MS_ASSIGN_OR_RETURN(value, AddRead(i, given[k], values.controls));
    }
    values.tensors.push_back(value);
  }
  MS_ASSIGN_OR_RETURN(const int handle,
                      AddHidden(i, "handle", op, std::move(on_handles), std::move(inputs)));
  for (LoopEdge& edge : edges) {
    edge.merge = handle;
    loop_edges_.push_back(edge);
  }
  references_[i].handle = PlannedInput{handle, 0, Output()};
  references_[i].device = node(i).spec.device;
  references_[i].by_output = true;
  control_of_[i] = handle;
  return Become(i, op, std::move(on_values), std::move(values));
}

// Where a loop of variables' values goes on, that of their handles goes on as well.
Status Rewriter::CloseLoops() {
  for (const LoopEdge& edge : loop_edges_) {
    const Reference& next = references_[edge.next];
    if (next.handle.node < 0 || next.is_own()) {
      return AnnotateWithSpec(
          errors::InvalidArgument("expected a reference to a variable for the next iteration"),
          node(edge.merge).spec);
    }
    node(edge.merge).inputs[edge.input] = next.handle;
  }
  return absl::OkStatus();
}

Status Rewriter::RewriteSelect(int i, Inputs inputs) {
  const std::vector<PlannedInput> controls = inputs.controls;
  const std::vector<std::string> references = inputs.references;
  AttrMap attrs;
  SetAttr(&attrs, "N", static_cast<int64_t>(inputs.tensors.size()) - 1);
  MS_ASSIGN_OR_RETURN(const int handle,
                      AddHidden(i, "handle", "_SelectHandle", std::move(attrs), std::move(inputs)));
  references_[i].handle = PlannedInput{handle, 0, Output()};
  references_[i].device = node(i).spec.device;
  control_of_[i] = handle;
  return BecomeRead(i, references_[i], controls, references);
}

Status Rewriter::RewritePass(int i, Inputs inputs) {
  MS_ASSIGN_OR_RETURN(Reference reference, ReferenceOf(node(i).inputs[0]));
  if (reference.is_own()) return BecomeOnOwn(i, reference.own_type, std::move(inputs));
  reference.after = std::move(inputs.after);
  reference.after.insert(reference.after.end(), inputs.controls.begin(), inputs.controls.end());
  MS_ASSIGN_OR_RETURN(reference.after, AsFew(i, std::move(reference.after)));
  references_[i] = reference;
  return BecomeRead(i, reference, reference.after, std::move(inputs.references));
}

Status Rewriter::RewriteQuery(int i, Inputs inputs) {
  MS_ASSIGN_OR_RETURN(const OpDef* twin, TwinOf(*node(i).op));
  return Become(i, twin->name, AttrsOfTwin(*twin, node(i).spec.attrs), std::move(inputs));
}

Status Rewriter::Rewrite(int i) {
  const ReferenceUse use = ReferenceUseOf(*node(i).op);
  if (use != ReferenceUse::kNone) {
    auto imported = std::make_shared<ImportedNode>();
    imported->name = node(i).spec.name;
    imported->op = node(i).spec.op;
    imported->attrs = node(i).spec.attrs;
    for (const PlannedInput& input : node(i).inputs) imported->inputs.push_back(NameOf(input));
    for (const PlannedInput& control : node(i).control_inputs) {
      imported->inputs.push_back(absl::StrCat("^", NameOf(control)));
    }
    node(i).spec.imported = std::move(imported);
  }
  MS_ASSIGN_OR_RETURN(Inputs inputs, TakeInputs(i));
  switch (use) {
    case ReferenceUse::kNone:
      node(i).inputs = std::move(inputs.tensors);
      node(i).control_inputs = std::move(inputs.controls);
      break;
    case ReferenceUse::kVariable: MS_RETURN_IF_ERROR(RewriteVariable(i, std::move(inputs))); break;
    case ReferenceUse::kResource: MS_RETURN_IF_ERROR(RewriteResource(i, std::move(inputs))); break;
    case ReferenceUse::kUpdate: MS_RETURN_IF_ERROR(RewriteUpdate(i, std::move(inputs))); break;
    case ReferenceUse::kControlFlow:
      MS_RETURN_IF_ERROR(RewriteControlFlow(i, std::move(inputs)));
      break;
    case ReferenceUse::kQuery: MS_RETURN_IF_ERROR(RewriteQuery(i, std::move(inputs))); break;
    case ReferenceUse::kPass: MS_RETURN_IF_ERROR(RewritePass(i, std::move(inputs))); break;
  }
  order_.push_back(i);
  return absl::OkStatus();
}

Status Rewriter::Run() {
  FindChangingShapes();
  for (int i : plan_.order) {
    const Status status = Rewrite(i);
    if (!status.ok()) return AnnotateWithSpec(status, node(i).spec);
  }
  plan_.order = std::move(order_);
  return CloseLoops();
}

}  // namespace

Status RewriteReferences(const Graph& graph, ImportPlan* plan) {
  for (size_t i = 0; i < plan->nodes.size(); ++i) {
    const ReferenceUse use = ReferenceUseOf(*plan->nodes[i].op);
    if (use != ReferenceUse::kNone) return Rewriter(graph, plan).Run();
  }
  return absl::OkStatus();
}

}  // namespace millstream
