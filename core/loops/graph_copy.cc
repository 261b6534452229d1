#include "core/loops/graph_copy.h"

#include <string>

#include "absl/strings/str_cat.h"
#include "core/graph/control_flow.h"

namespace millstream {

StatusOr<Output> GraphCopy::AddFeed(const Output& value, absl::string_view name) {
  NodeSpec spec;
  spec.name = graph_->UniqueName(name);
  spec.op = "Placeholder";
  SetAttr(&spec.attrs, "dtype", AttrValue(value.dtype()));
  SetAttr(&spec.attrs, "shape", AttrValue(value.node->facts(value.index).shape));
  spec.source = value.node->source();
  MS_ASSIGN_OR_RETURN(const Node* node, graph_->AddNode(std::move(spec)));
  fed_.insert(value);
  values_[value] = node->output(0);
  return node->output(0);
}

Status GraphCopy::AddSource(const Output& value) {
  const Output source = BehindEnters(value);
  if (!Has(source)) MS_RETURN_IF_ERROR(Add(StepItem::Of(source.node, {})));
  if (value != source) Bind(value, Of(source));
  return absl::OkStatus();
}

StatusOr<const Node*> GraphCopy::AddInner(const StepItem& item, std::vector<Output> inputs,
                                          std::vector<const Node*> controls) {
  std::vector<DataType> in;
  std::vector<DataType> out;
  for (const Output& input : inputs) in.push_back(input.dtype());
  for (const Output& output : item.outputs) out.push_back(output.dtype());
  NodeSpec spec;
  if (item.loop != nullptr) {
    spec.op = "_Loop";
    spec.name = graph_->UniqueName(absl::StrCat(item.loop->frame, "/_loop"));
    SetAttr(&spec.attrs, "frame_name", AttrValue(item.loop->frame));
  } else {
    spec.op = "_Branch";
    spec.name = graph_->UniqueName(absl::StrCat(item.node->name(), "/_branch"));
    in.erase(in.begin());  // the predicate
  }
  spec.inputs = std::move(inputs);
  spec.control_inputs = std::move(controls);
  SetAttr(&spec.attrs, "Tin", AttrValue(std::move(in)));
  SetAttr(&spec.attrs, "Tout", AttrValue(std::move(out)));
  spec.source = item.node->source();
  MS_ASSIGN_OR_RETURN(const Node* node, graph_->AddNode(std::move(spec)));
  if (item.loop != nullptr) {
    pruned_.loops[node] = item.loop;
  } else {
    pruned_.branches[node] = item.branch;
  }
  return node;
}

Status GraphCopy::Add(const StepItem& item) {
  std::vector<Output> inputs;
  std::vector<std::pair<int, const Node*>> open;
  for (const Output& input : item.inputs) {
    auto found = values_.find(input);
    if (found != values_.end()) {
      inputs.push_back(found->second);
    } else if (!item.is_inner() && IsBackEdge(input, *item.node)) {
      open.emplace_back(static_cast<int>(inputs.size()), input.node);
      inputs.emplace_back();
    } else {
      return AnnotateWithNode(errors::Internal("no copy of ", input.name(), " was made"),
                              *item.node);
    }
  }
  std::vector<const Node*> controls;
  for (const Node* control : item.controls) {
    if (const Node* const copy = Of(control)) controls.push_back(copy);
  }
  const Node* copy = nullptr;
  if (!item.is_inner()) {
    copy = graph_->AddCopy(*item.node, std::move(inputs), std::move(controls));
  } else {
    MS_ASSIGN_OR_RETURN(copy, AddInner(item, std::move(inputs), std::move(controls)));
  }
  for (size_t i = 0; i < item.outputs.size(); ++i) {
    if (!fed_.contains(item.outputs[i])) {
      values_[item.outputs[i]] = copy->output(static_cast<int>(i));
    }
  }
  for (const Node* node : item.stands_for) nodes_[node] = copy;
  for (const auto& [input, next] : open) open_.push_back({copy, input, next});
  pruned_.nodes.push_back(copy);
  pruned_.controls.push_back(copy->control_inputs());
  if (iteration_.frame != nullptr) {
    if (pruned_.iterations == nullptr) pruned_.iterations = std::make_shared<NodeIterations>();
    pruned_.iterations->emplace(copy, iteration_);
  }
  pruned_.has_control_flow |= !item.is_inner() && NeedsDynamicExecutor(KindOf(*item.node));
  return absl::OkStatus();
}

StatusOr<Output> GraphCopy::AddNew(const Node& like, absl::string_view name, absl::string_view op,
                                   AttrMap attrs, std::vector<Output> inputs,
                                   std::vector<const Node*> controls) {
  NodeSpec spec;
  spec.name = graph_->UniqueName(name);
  spec.op = std::string(op);
  spec.attrs = std::move(attrs);
  spec.inputs = std::move(inputs);
  spec.control_inputs = std::move(controls);
  spec.source = like.source();
  MS_ASSIGN_OR_RETURN(const Node* const node, graph_->AddNode(std::move(spec)));
  pruned_.nodes.push_back(node);
  pruned_.controls.push_back(node->control_inputs());
  return node->output(0);
}

StatusOr<Output> GraphCopy::AddSum(const Node& like, std::vector<Output> terms) {
  AttrMap attrs;
  SetAttr(&attrs, "N", static_cast<int64_t>(terms.size()));
  SetAttr(&attrs, "T", like.output_type(0));
  return AddNew(like, like.name(), "AddN", std::move(attrs), std::move(terms));
}

Status GraphCopy::CloseLoops() {
  std::vector<Graph::BackEdge> edges;
  for (const OpenEdge& open : open_) edges.push_back({open.merge, open.input, Of(open.next)});
  return graph_->SetBackEdges(edges);
}

}  // namespace millstream
