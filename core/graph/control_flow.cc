// Loops in graphs: their ops, and back edges. A back edge may invalidate static shapes, which this
// file infers again.
#include "core/graph/control_flow.h"

#include <set>
#include <utility>
#include <vector>

#include "absl/strings/string_view.h"

namespace millstream {
namespace {

struct NamedKind {
  absl::string_view op;
  ControlFlowKind kind;
};

constexpr NamedKind kKinds[] = {
    {"Switch", ControlFlowKind::kSwitch},
    {"Merge", ControlFlowKind::kMerge},
    {"Enter", ControlFlowKind::kEnter},
    {"Exit", ControlFlowKind::kExit},
    {"NextIteration", ControlFlowKind::kNextIteration},
    // The import replaces these two, after it has found the loops that they form.
    {"RefMerge", ControlFlowKind::kMerge},
    {"RefNextIteration", ControlFlowKind::kNextIteration},
    {"LoopCond", ControlFlowKind::kLoopCond},
    {"ControlTrigger", ControlFlowKind::kControlTrigger},
};

bool SameFacts(const OutputFacts& a, const OutputFacts& b) {
  const bool same_handle = a.handle.has_value() == b.handle.has_value() &&
                           (!a.handle.has_value() || (a.handle->dtype == b.handle->dtype &&
                                                      a.handle->shape == b.handle->shape));
  return same_handle && a.shape == b.shape && a.value == b.value;
}

// `shape` without the dimensions that `other` contradicts.
PartialShape WithoutContradictions(const PartialShape& shape, const PartialShape& other) {
  if (!shape.known_rank() || !other.known_rank()) return shape;
  if (shape.rank() != other.rank()) return PartialShape();
  PartialShape result = shape;
  for (int i = 0; i < shape.rank(); ++i) {
    if (other.dim(i) != kUnknownDim && other.dim(i) != shape.dim(i)) result.set_dim(i, kUnknownDim);
  }
  return result;
}

Status CheckBackEdge(const Node& merge, int input, const Node& next) {
  if (KindOf(merge) != ControlFlowKind::kMerge) {
    return errors::InvalidArgument("only a Merge has back edges");
  }
  if (input < 0 || input >= merge.num_inputs()) {
    return errors::InvalidArgument("the Merge has no input ", input, ", it has ",
                                   merge.num_inputs());
  }
  if (KindOf(next) != ControlFlowKind::kNextIteration) {
    return errors::InvalidArgument("a back edge comes from a NextIteration, not from ",
                                   next.Describe());
  }
  const DataType expected = merge.signature().input_types[input];
  if (next.output_type(0) == expected) return absl::OkStatus();
  return errors::InvalidArgument("input ", input, " expected ", DataTypeName(expected), ", got ",
                                 DataTypeName(next.output_type(0)), " (", next.output(0).name(),
                                 ")");
}

}  // namespace

ControlFlowKind KindOf(const OpDef& op) {
  for (const NamedKind& named : kKinds) {
    if (op.name == named.op) return named.kind;
  }
  return ControlFlowKind::kNone;
}

// What is known of the outputs, of which nothing may be more than what was known before: so that
// relaxing comes to an end, and finds no error that was not there.
StatusOr<std::vector<OutputFacts>> Graph::RelaxedFacts(const Node& node) const {
  MS_ASSIGN_OR_RETURN(std::vector<OutputFacts> facts, InferFacts(node));
  for (int i = 0; i < node.num_outputs(); ++i) {
    auto refined = refined_.find(node.output(i));
    if (refined != refined_.end()) {
      PartialShape shape = refined->second;
      if (KindOf(node) == ControlFlowKind::kMerge && i == 0) {
        for (const Output& input : node.inputs_) {
          shape = WithoutContradictions(shape, input.node->facts_[input.index].shape);
        }
      }
      facts[i].shape = facts[i].shape.MergeWith(shape).value_or(facts[i].shape);
    }
    facts[i].shape = node.facts_[i].shape.CommonWith(facts[i].shape);
  }
  return facts;
}

// Brings consumers_ up to the nodes there are.
void Graph::IndexConsumers() {
  size_t id = consumers_.size();
  consumers_.resize(nodes_.size());
  for (; id < nodes_.size(); ++id) {
    for (const Output& input : nodes_[id]->inputs_) {
      consumers_[input.node->id()].push_back(static_cast<int>(id));
    }
  }
}

// Infers the nodes `stale` again and what depends on them, until nothing changes. On an error all
// is as before.
Status Graph::RelaxFrom(std::set<int> stale) {
  std::vector<std::pair<int, std::vector<OutputFacts>>> before;
  const auto relax = [&](int id) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) -> StatusOr<bool> {
    Node& node = *nodes_[id];
    StatusOr<std::vector<OutputFacts>> facts = RelaxedFacts(node);
    if (!facts.ok()) return AnnotateWithNode(facts.status(), node);
    bool same = true;
    for (size_t i = 0; i < facts->size(); ++i) same &= SameFacts((*facts)[i], node.facts_[i]);
    if (same) return false;
    before.emplace_back(id, std::exchange(node.facts_, *std::move(facts)));
    return true;
  };
  // Most edges point to later nodes, so that one pass in order of creation does most; back edges
  // need another one.
  std::set<int> stale_again;
  while (!stale.empty()) {
    const int id = *stale.begin();
    stale.erase(stale.begin());
    const StatusOr<bool> changed = relax(id);
    if (!changed.ok()) {
      for (size_t i = before.size(); i-- > 0;) {
        nodes_[before[i].first]->facts_ = std::move(before[i].second);
      }
      return changed.status();
    }
    if (*changed) {
      for (const int consumer : consumers_[id]) {
        (consumer > id ? stale : stale_again).insert(consumer);
      }
    }
    if (stale.empty()) stale.swap(stale_again);
  }
  return absl::OkStatus();
}

Status Graph::SetBackEdge(const Node* merge, int input, const Node* next) {
  return SetBackEdges({BackEdge{merge, input, next}});
}

Status Graph::SetBackEdges(absl::Span<const BackEdge> edges) {
  for (const BackEdge& edge : edges) {
    const Status valid = CheckBackEdge(*edge.merge, edge.input, *edge.next);
    if (!valid.ok()) return AnnotateWithNode(valid, *edge.merge);
  }
  absl::MutexLock lock(&mutex_);
  for (const BackEdge& edge : edges) {
    if (!has_run_[edge.merge->id()]) continue;
    return AnnotateWithNode(errors::FailedPrecondition("the node has run and can no longer change"),
                            *edge.merge);
  }
  IndexConsumers();
  std::vector<Output> previous;
  std::set<int> merges;
  for (const BackEdge& edge : edges) {
    Output& place = nodes_[edge.merge->id()]->inputs_[edge.input];
    previous.push_back(std::exchange(place, edge.next->output(0)));
    consumers_[edge.next->id()].push_back(edge.merge->id());
    merges.insert(edge.merge->id());
  }
  Status relaxed = RelaxFrom(std::move(merges));
  // From the last one: an input that is given twice was changed twice.
  for (size_t i = edges.size(); i > 0 && !relaxed.ok(); --i) {
    nodes_[edges[i - 1].merge->id()]->inputs_[edges[i - 1].input] = previous[i - 1];
  }
  for (const BackEdge& edge : edges) NoteChange(edge.merge);
  return relaxed;
}

Status Graph::ForgetVariableShape(const Node* handle) {
  if (handle->op().name != "VarHandleOp") {
    return AnnotateWithNode(errors::InvalidArgument("only a VarHandleOp declares a shape"),
                            *handle);
  }
  absl::MutexLock lock(&mutex_);
  if (has_run_[handle->id()]) {
    return AnnotateWithNode(
        errors::FailedPrecondition("a step has used the variable with the shape that it declares"),
        *handle);
  }
  AttrMap& attrs = nodes_[handle->id()]->call_.attrs;
  const AttrMap before = attrs;
  SetAttr(&attrs, "shape", PartialShape());
  IndexConsumers();
  Status relaxed = RelaxFrom({handle->id()});
  if (!relaxed.ok()) attrs = before;
  NoteChange(handle);
  return relaxed;
}

}  // namespace millstream
