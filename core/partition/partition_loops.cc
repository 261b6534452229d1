#include "core/partition/partition_loops.h"

#include <algorithm>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "core/graph/control_flow.h"

namespace millstream {
namespace {

Iterations Both(Iterations a, Iterations b) {
  return static_cast<Iterations>(static_cast<uint8_t>(a) & static_cast<uint8_t>(b));
}
Iterations Either(Iterations a, Iterations b) {
  return static_cast<Iterations>(static_cast<uint8_t>(a) | static_cast<uint8_t>(b));
}

bool StandsWhereItIsRead(const Node& node) {
  const ControlFlowKind kind = KindOf(node);
  return kind == ControlFlowKind::kEnter || kind == ControlFlowKind::kNextIteration;
}

// Fills one layout, in the order of the methods of Run.
class LoopPlanner {
 public:
  LoopPlanner(const PrunedGraph& graph, const std::vector<int>& placed, const DeviceSet& devices,
              const StepSignature& signature)
      : graph_(graph),
        placed_(placed),
        devices_(devices),
        fed_(signature.feeds.begin(), signature.feeds.end()) {
    for (size_t i = 0; i < graph.nodes.size(); ++i) index_[graph.nodes[i]] = i;
  }

  StatusOr<LoopLayout> Run() {
    MS_ASSIGN_OR_RETURN(layout_.frames, FindFrames(graph_, fed_));
    PlaceNodes();
    FindIterations();
    MS_RETURN_IF_ERROR(FindCutLoops());
    return std::move(layout_);
  }

 private:
  size_t size() const { return graph_.nodes.size(); }

  // Calls `visit` with the index of each node that node i waits for.
  template <typename Visit>
  void ForEachSource(size_t i, Visit visit) const {
    for (const Output& input : graph_.nodes[i]->inputs()) {
      if (!fed_.contains(input)) visit(index_.at(input.node));
    }
    for (const Node* control : graph_.controls[i]) {
      auto found = index_.find(control);
      if (found != index_.end()) visit(found->second);
    }
  }

  void PlaceNodes() {
    std::vector<std::vector<int>>& where = layout_.devices;
    where.resize(size());
    for (size_t i = 0; i < size(); ++i) {
      const Node& node = *graph_.nodes[i];
      if (StandsWhereItIsRead(node)) continue;
      where[i] = {placed_[i]};
      if (KindOf(node) != ControlFlowKind::kExit || fed_.contains(node.input(0))) continue;
      const std::vector<int>& source = where[index_.at(node.input(0).node)];
      if (!source.empty()) where[i] = source;
    }
    // Readers come later in the order, except for the Merge of a back edge.
    for (size_t i = 0; i < size(); ++i) {
      ForEachSource(i, [&](size_t source) {
        if (source > i) AddDevices(where[i], &where[source]);
      });
    }
    for (size_t i = size(); i-- > 0;) {
      if (where[i].empty()) where[i] = {placed_[i]};  // it has no readers
      ForEachSource(i, [&](size_t source) {
        if (source > i || !StandsWhereItIsRead(*graph_.nodes[source])) return;
        AddDevices(where[i], &where[source]);
      });
    }
  }

  static void AddDevices(const std::vector<int>& more, std::vector<int>* devices) {
    for (const int device : more) {
      auto place = std::lower_bound(devices->begin(), devices->end(), device);
      if (place == devices->end() || *place != device) devices->insert(place, device);
    }
  }

  void FindIterations() {
    std::vector<Iterations>& iterations = layout_.iterations;
    iterations.resize(size(), Iterations::kAll);
    entered_.resize(layout_.frames.frames.size(), Iterations::kAll);
    for (size_t i = 0; i < size(); ++i) {
      const Node& node = *graph_.nodes[i];
      Iterations all = Iterations::kAll;
      ForEachSource(i, [&](size_t source) {
        if (source < i) all = Both(all, iterations[source]);
      });
      iterations[i] = all;
      switch (KindOf(node)) {
        case ControlFlowKind::kEnter: {
          Iterations& entered = entered_[layout_.frames.output_frame[i]];
          entered = Both(entered, all);
          const StatusOr<bool> is_constant = node.Attr<bool>("is_constant");
          const bool stays = is_constant.ok() && *is_constant;
          iterations[i] = stays ? Iterations::kAll : Iterations::kFirst;
          break;
        }
        case ControlFlowKind::kExit: iterations[i] = entered_[layout_.frames.input_frame[i]]; break;
        case ControlFlowKind::kNextIteration: iterations[i] = Iterations::kLater; break;
        case ControlFlowKind::kMerge: iterations[i] = OfMerge(i); break;
        default: break;
      }
    }
  }

  Iterations OfMerge(size_t i) const {
    const Node& node = *graph_.nodes[i];
    Iterations any = Iterations::kNone;
    for (const Output& input : node.inputs()) {
      if (fed_.contains(input)) return Iterations::kAll;
      const bool later = IsBackEdge(input, node);
      any = Either(any, later ? Iterations::kLater : layout_.iterations[index_.at(input.node)]);
    }
    return any;
  }

  Status FindCutLoops() {
    const std::vector<StaticFrame>& frames = layout_.frames.frames;
    std::vector<std::vector<int>> devices(frames.size());
    std::vector<std::vector<size_t>> conditions(frames.size());
    for (size_t i = 0; i < size(); ++i) {
      const int frame = layout_.frames.input_frame[i];
      AddDevices(layout_.devices[i], &devices[frame]);
      if (KindOf(*graph_.nodes[i]) == ControlFlowKind::kLoopCond) conditions[frame].push_back(i);
    }
    // A device that runs nodes of an inner loop must run the iterations of the outer loop.
    for (size_t f = frames.size(); f-- > 1;) AddDevices(devices[f], &devices[frames[f].parent]);
    for (size_t f = 1; f < frames.size(); ++f) {
      if (devices[f].size() < 2) continue;
      CutLoop loop;
      loop.frame = static_cast<int>(f);
      loop.devices = std::move(devices[f]);
      loop.entered = entered_[f];
      MS_ASSIGN_OR_RETURN(loop.condition, ConditionOf(loop, conditions[f]));
      if (loop.entered != Iterations::kAll && loop.entered != Iterations::kFirst) {
        return AnnotateWithNode(
            errors::InvalidArgument(Describe(loop), " is not entered in the first iteration of ",
                                    layout_.frames.Describe(frames[f].parent)),
            *loop.condition);
      }
      layout_.cut.push_back(std::move(loop));
    }
    return absl::OkStatus();
  }

  StatusOr<const Node*> ConditionOf(const CutLoop& loop, const std::vector<size_t>& found) const {
    if (found.size() != 1) {
      std::vector<std::string> names;
      for (const size_t i : found) names.push_back(graph_.nodes[i]->name());
      return errors::InvalidArgument(Describe(loop), " must have one LoopCond, got ", found.size(),
                                     found.empty() ? "" : ": ", absl::StrJoin(names, ", "));
    }
    const Node* const condition = graph_.nodes[found[0]];
    if (layout_.iterations[found[0]] == Iterations::kAll) return condition;
    return AnnotateWithNode(
        errors::InvalidArgument("the LoopCond must run in every iteration of ", Describe(loop)),
        *condition);
  }

  // "frame 'while' (cut over CPU:0, CPU:1)", with the devices' full names.
  std::string Describe(const CutLoop& loop) const {
    std::vector<std::string> names;
    for (const int device : loop.devices) names.push_back(devices_[device].name);
    return absl::StrCat(layout_.frames.Describe(loop.frame), " (cut over ",
                        absl::StrJoin(names, ", "), ")");
  }

  const PrunedGraph& graph_;
  const std::vector<int>& placed_;
  const DeviceSet& devices_;
  const absl::flat_hash_set<Output> fed_;
  absl::flat_hash_map<const Node*, size_t> index_;
  std::vector<Iterations> entered_;  // of each frame, by those of its parent
  LoopLayout layout_;
};

StatusOr<const Node*> AddControlNode(Graph* graph, const std::string& base, const char* op,
                                     std::vector<Output> inputs, const Output& like,
                                     AttrMap attrs) {
  NodeSpec spec;
  spec.name = graph->UniqueName(absl::StrCat(base, "/_control_loop/", op));
  spec.op = op;
  spec.inputs = std::move(inputs);
  spec.attrs = std::move(attrs);
  SetAttr(&spec.attrs, "T", AttrValue(like.dtype()));
  return graph->AddNode(std::move(spec));
}

}  // namespace

StatusOr<LoopLayout> LayOutLoops(const PrunedGraph& graph, const std::vector<int>& placed,
                                 const DeviceSet& devices, const StepSignature& signature) {
  return LoopPlanner(graph, placed, devices, signature).Run();
}

StatusOr<ControlLoop> OpenControlLoop(Graph* graph, const StaticFrame& frame,
                                      const std::string& base, const Output& start) {
  ControlLoop loop;
  AttrMap attrs;
  SetAttr(&attrs, "frame_name", AttrValue(frame.name));
  SetAttr(&attrs, "is_constant", AttrValue(false));
  SetAttr(&attrs, "parallel_iterations", AttrValue(int64_t{frame.parallel_iterations}));
  MS_ASSIGN_OR_RETURN(loop.enter,
                      AddControlNode(graph, base, "Enter", {start}, start, std::move(attrs)));
  AttrMap merge_attrs;
  SetAttr(&merge_attrs, "N", AttrValue(int64_t{2}));
  MS_ASSIGN_OR_RETURN(loop.merge,
                      AddControlNode(graph, base, "Merge", {loop.enter->output(0), Output()}, start,
                                     std::move(merge_attrs)));
  return loop;
}

StatusOr<std::vector<const Node*>> CloseControlLoop(Graph* graph, const ControlLoop& loop,
                                                    const std::string& base, const Output& pred) {
  const Output merged = loop.merge->output(0);
  MS_ASSIGN_OR_RETURN(const Node* decision,
                      AddControlNode(graph, base, "Switch", {merged, pred}, merged, {}));
  MS_ASSIGN_OR_RETURN(const Node* next, AddControlNode(graph, base, "NextIteration",
                                                       {decision->output(1)}, merged, {}));
  MS_RETURN_IF_ERROR(graph->SetBackEdge(loop.merge, 1, next));
  return std::vector<const Node*>{decision, next};
}

}  // namespace millstream
