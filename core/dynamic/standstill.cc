#include "core/dynamic/standstill.h"

#include "absl/algorithm/container.h"
#include "absl/types/span.h"
#include "core/graph/control_flow.h"

namespace millstream {
namespace {

// Why a node has not run. The nodes that it waits for may have several reasons.
enum Reason : uint8_t {
  kHasRun = 0,
  kIsDead = 1,    // it depends on a dead loop variable
  kIsCutOff = 2,  // it depends on values of other iterations
  kIsLost = 4,    // it depends on neither
};

class Finder {
 public:
  Finder(const DynamicProgram& program, const Iteration& iteration)
      : program_(program),
        iteration_(iteration),
        frame_(static_cast<uint32_t>(iteration.frame->program - program.frames.data())),
        marks_(iteration.frame->program->pending.size()),
        inner_(program.frames.size(), kHasRun) {}

  // Every edge points forward, except back edges, which go to another iteration.
  Standstill Run() {
    for (const uint32_t i : iteration_.frame->program->nodes) {
      const NodeProgram& node = program_.nodes[i];
      if (node.frame == frame_) {
        const Reason reason = ReasonOf(node);
        Note(i, reason);
        if (node.action == NodeAction::kEnter) inner_[node.output_frame] |= reason;
        if (node.output_frame == frame_ && node.action != NodeAction::kNextIteration) {
          PassOn(node, reason, marks_[node.local].waits);
        }
      } else {
        const bool is_enter = node.action == NodeAction::kEnter;
        PassOn(node, is_enter ? OfEnter(node) : inner_[node.frame], false);
      }
    }
    return std::move(found_);
  }

 private:
  struct Mark {
    uint8_t missing = kHasRun;  // the reasons of its missing inputs
    bool got_some = false;      // it got an input that does not arrive in every iteration
    bool waits = false;         // it got such an input, or waits for a node that waits
  };

  Reason ReasonOf(const NodeProgram& node) const {
    const Pending& pending = iteration_.pending[node.local];
    if (pending.HasBegun(node.action)) return kHasRun;
    if (node.action == NodeAction::kMerge && ClosesLoop(*node.node) && !pending.HasInput()) {
      if (iteration_.number > 0) return kIsDead;
      if (node.live_inputs_needed == 0) return kIsCutOff;
    }
    const uint8_t missing = marks_[node.local].missing;
    if ((missing & kIsLost) != 0) return kIsLost;
    if ((missing & kIsDead) != 0) return kIsDead;
    return (missing & kIsCutOff) != 0 ? kIsCutOff : kIsLost;
  }

  static bool ClosesLoop(const Node& merge) {
    return absl::c_any_of(merge.inputs(),
                          [&](const Output& input) { return IsBackEdge(input, merge); });
  }

  uint8_t OfEnter(const NodeProgram& enter) const {
    return enter.invariant == kNoIndex && iteration_.number > 0 ? kIsCutOff : kHasRun;
  }

  void Note(uint32_t i, Reason reason) {
    const NodeProgram& node = program_.nodes[i];
    Mark& mark = marks_[node.local];
    const bool decides = node.action == NodeAction::kLoopCond;
    mark.waits = reason == kIsLost || (reason == kIsCutOff && (mark.got_some || mark.waits));
    if (reason == kIsCutOff && decides) mark.waits = true;
    if (!mark.waits) return;
    found_.waiting.push_back(i);
    if (node.action == NodeAction::kExit) found_.exits.push_back(node.exit);
    found_.is_stuck |= reason == kIsLost || decides || node.node->op().is_stateful ||
                       node.action == NodeAction::kNextIteration;
  }

  void PassOn(const NodeProgram& node, uint8_t reason, bool waits) {
    for (uint32_t k = 0; k < node.num_outputs; ++k) {
      const OutputProgram& output = program_.outputs[node.first_output + k];
      Tell(node, reason, waits, output.first_edge, output.num_edges);
    }
    Tell(node, reason, waits, node.first_control_edge, node.num_control_edges);
  }

  void Tell(const NodeProgram& from, uint8_t reason, bool waits, uint32_t first_edge,
            uint32_t count) {
    for (const WaitEdge& edge : absl::MakeSpan(program_.edges).subspan(first_edge, count)) {
      Mark& mark = marks_[edge.local];
      mark.missing |= reason;
      mark.waits |= reason != kHasRun && waits;
      mark.got_some |= reason == kHasRun && !from.is_invariant;
    }
  }

  const DynamicProgram& program_;
  const Iteration& iteration_;
  const uint32_t frame_;
  std::vector<Mark> marks_;     // by NodeProgram::local
  std::vector<uint8_t> inner_;  // by frame: why it was not entered
  Standstill found_;
};

}  // namespace

Standstill FindStandstill(const DynamicProgram& program, const Iteration& iteration) {
  return Finder(program, iteration).Run();
}

}  // namespace millstream
