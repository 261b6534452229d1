#include "core/graph/frames.h"

#include <utility>

#include "absl/container/flat_hash_map.h"
#include "core/graph/control_flow.h"

namespace millstream {
namespace {

class FrameFinder {
 public:
  FrameFinder(const PrunedGraph& graph, const absl::flat_hash_set<Output>& fed)
      : graph_(graph), fed_(fed) {
    tree_.frames.push_back(StaticFrame{"", -1, 1});
  }

  StatusOr<FrameTree> Run() {
    for (size_t i = 0; i < graph_.nodes.size(); ++i) {
      Status placed = Place(i);
      if (!placed.ok()) return AnnotateWithNode(placed, *graph_.nodes[i]);
    }
    for (const Node* node : graph_.nodes) {
      Status closed = CheckBackEdges(*node);
      if (!closed.ok()) return AnnotateWithNode(closed, *node);
    }
    return std::move(tree_);
  }

 private:
  // What a node was found to depend on first, to be told when another input disagrees.
  struct Source {
    const Node* node = nullptr;
    int frame = StaticFrame::kRoot;
  };

  Status Follow(const Node* node, Source* source) const {
    auto found = outputs_.find(node);
    if (found == outputs_.end()) return absl::OkStatus();  // fed: waiting for it is done at once
    if (source->node == nullptr) {
      *source = Source{node, found->second};
      return absl::OkStatus();
    }
    if (found->second == source->frame) return absl::OkStatus();
    return errors::InvalidArgument("the inputs are in different loops: '", source->node->name(),
                                   "' is in ", tree_.Describe(source->frame), ", '", node->name(),
                                   "' is in ", tree_.Describe(found->second),
                                   "; what is used in a loop enters it through an Enter node");
  }

  Status Place(size_t i) {
    const Node& node = *graph_.nodes[i];
    Source source;
    for (const Output& input : node.inputs()) {
      if (fed_.contains(input) || IsBackEdge(input, node)) continue;
      MS_RETURN_IF_ERROR(Follow(input.node, &source));
    }
    for (const Node* control : graph_.controls[i]) MS_RETURN_IF_ERROR(Follow(control, &source));
    tree_.input_frame.push_back(source.frame);
    int output = source.frame;
    switch (KindOf(node)) {
      case ControlFlowKind::kEnter: {
        MS_ASSIGN_OR_RETURN(output, ChildFrame(node, source.frame));
        break;
      }
      case ControlFlowKind::kExit:
        if (source.frame == StaticFrame::kRoot) {
          return errors::InvalidArgument("the Exit is in no loop: its input '",
                                         node.input(0).name(), "' did not come from an Enter");
        }
        output = tree_.frames[source.frame].parent;
        break;
      case ControlFlowKind::kNextIteration:
        if (source.frame == StaticFrame::kRoot) {
          return errors::InvalidArgument("the NextIteration is in no loop: its input '",
                                         node.input(0).name(), "' did not come from an Enter");
        }
        break;
      default: break;
    }
    tree_.output_frame.push_back(output);
    outputs_[&node] = output;
    return absl::OkStatus();
  }

  StatusOr<int> ChildFrame(const Node& enter, int parent) {
    MS_ASSIGN_OR_RETURN(std::string name, enter.Attr<std::string>("frame_name"));
    MS_ASSIGN_OR_RETURN(const int64_t parallel, enter.Attr<int64_t>("parallel_iterations"));
    if (name.empty()) return errors::InvalidArgument("attribute 'frame_name' of Enter is empty");
    if (parallel < 1 || parallel > kMaxParallelIterations) {
      return errors::InvalidArgument("attribute 'parallel_iterations' of Enter must be in [1, ",
                                     kMaxParallelIterations, "], got ", parallel);
    }
    auto [found, added] = children_.try_emplace(std::make_pair(parent, name), 0);
    if (added) {
      found->second = static_cast<int>(tree_.frames.size());
      tree_.frames.push_back(StaticFrame{std::move(name), parent, static_cast<int>(parallel)});
    } else if (tree_.frames[found->second].parallel_iterations != parallel) {
      return errors::InvalidArgument("attribute 'parallel_iterations' is ", parallel,
                                     ", another Enter of ", tree_.Describe(found->second), " has ",
                                     tree_.frames[found->second].parallel_iterations);
    }
    return found->second;
  }

  Status CheckBackEdges(const Node& node) const {
    for (const Output& input : node.inputs()) {
      if (fed_.contains(input) || !IsBackEdge(input, node)) continue;
      const int from = outputs_.at(input.node);
      const int to = outputs_.at(&node);
      if (from == to) continue;
      return errors::InvalidArgument("the NextIteration '", input.node->name(), "' is in ",
                                     tree_.Describe(from), ", the Merge that it goes to in ",
                                     tree_.Describe(to));
    }
    return absl::OkStatus();
  }

  static constexpr int64_t kMaxParallelIterations = 1 << 20;

  const PrunedGraph& graph_;
  const absl::flat_hash_set<Output>& fed_;
  FrameTree tree_;
  absl::flat_hash_map<const Node*, int> outputs_;
  absl::flat_hash_map<std::pair<int, std::string>, int> children_;
};

}  // namespace

std::string FrameTree::Describe(int frame) const {
  if (frame == StaticFrame::kRoot) return "no loop";
  return absl::StrCat("frame '", frames[frame].name, "'");
}

StatusOr<FrameTree> FindFrames(const PrunedGraph& graph, const absl::flat_hash_set<Output>& fed) {
  return FrameFinder(graph, fed).Run();
}

}  // namespace millstream
