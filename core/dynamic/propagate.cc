// Propagates values and deadness from a node that ran to the nodes that wait for it, also into and
// out of frames. There is no recursion, because graphs may nest frames to any depth.
#include <utility>

#include "core/dynamic/activate.h"

namespace millstream {
namespace {

void Empty(Slot* slot, Iteration* iteration) {
  slot->value.tensor = Tensor();
  --iteration->filled_slots;
}

}  // namespace

const Value& DynamicRun::ValueAt(const ValueSource& source, const Iteration& iteration) const {
  switch (source.place) {
    case ValuePlace::kSlot: return iteration.slots[source.index].value;
    case ValuePlace::kInvariant: return iteration.frame->invariants[source.index];
    case ValuePlace::kConstant: return program_.constants[source.index];
    case ValuePlace::kFeed: break;
  }
  return state_->feeds[source.index];
}

// The input, moved where this is the last to read it.
Value DynamicRun::TakeInput(const NodeProgram& node, Iteration* iteration, uint32_t input) {
  const ValueSource source = program_.inputs[node.first_input + input];
  Slot* slot = source.place == ValuePlace::kSlot ? &iteration->slots[source.index] : nullptr;
  if (slot != nullptr && --slot->uses == 0) {
    Value value = std::move(slot->value);
    Empty(slot, iteration);
    return value;
  }
  Value value = ValueAt(source, *iteration);
  // It is read at a place that has other values in other iterations.
  value.view.flags &= ~static_cast<uint64_t>(MS_VIEW_CONST);
  return value;
}

// Does nothing if the input is dead, or if other readers always need it.
void DynamicRun::DropInput(const NodeProgram& node, Iteration* iteration, uint32_t input) {
  const ValueSource source = program_.inputs[node.first_input + input];
  if (source.place != ValuePlace::kSlot) return;
  Slot& slot = iteration->slots[source.index];
  if (slot.uses > 0 && --slot.uses == 0) Empty(&slot, iteration);
}

void DynamicRun::DropInputs(const NodeProgram& node, Iteration* iteration) {
  for (uint32_t i = 0; i < node.num_inputs; ++i) DropInput(node, iteration, i);
}

void DynamicRun::Fill(const OutputProgram& output, Iteration* iteration, Value value) {
  if (output.uses == 0) return;
  Slot& slot = iteration->slots[output.slot];
  slot.value = std::move(value);
  slot.uses = output.uses;
  ++iteration->filled_slots;
}

// A Merge runs at its first live input, once its control inputs have run, dead or not.
void DynamicRun::ActivateMerge(const WaitEdge& edge, Iteration* iteration, bool is_dead) {
  const NodeProgram& merge = program_.nodes[edge.node];
  Pending& pending = iteration->pending[edge.local];
  if (edge.merge_input == WaitEdge::kMergeControl) {
    --pending.waits;
  } else if (is_dead) {
    ++pending.dead;
  } else if (pending.live == Pending::kNone) {
    pending.live = edge.merge_input;
  } else {
    DropInput(merge, iteration, static_cast<uint32_t>(edge.merge_input));
  }
  if (pending.waits != 0) return;
  const bool dead = pending.live == Pending::kNone;
  if (dead && (pending.dead == 0 || pending.dead < merge.live_inputs_needed)) return;
  pending.waits = Pending::kTooLate;
  MakeReady(edge.node, iteration, dead);
}

// A node in the loop may wait for what enters later, so iterations stay until all has entered.
void DynamicRun::Enter(const NodeProgram& node, Iteration* iteration, bool is_dead) {
  RunningFrame*& child = iteration->children[node.child];
  if (child == nullptr) {
    child = state_->NewFrame(node.output_frame, iteration);
    ++iteration->outstanding;
    StartIteration(child);
  }
  RunningFrame* const frame = child;
  if (is_dead) DropInputs(node, iteration);
  if (node.invariant == kNoIndex) {
    if (!is_dead) {
      Fill(program_.outputs[node.first_output], frame->oldest, TakeInput(node, iteration, 0));
    }
    ActivateNode(node, frame->oldest, is_dead);
  } else {
    if (!is_dead) frame->invariants[node.invariant] = TakeInput(node, iteration, 0);
    frame->invariant_states[node.invariant] = is_dead ? RunningFrame::kDead : RunningFrame::kLive;
    for (Iteration* each = frame->oldest; each != nullptr; each = each->next) {
      ActivateNode(node, each, is_dead);
    }
  }
  if (--frame->awaited_enters == 0) RetireIterations(frame);
}

Status DynamicRun::Exit(const NodeProgram& node, Iteration* iteration) {
  RunningFrame* const frame = iteration->frame;
  if (frame->exits[node.exit] == RunningFrame::kLeft) {
    return errors::InvalidArgument("the Exit is live in two iterations of its loop");
  }
  frame->exits[node.exit] = RunningFrame::kLeft;
  Fill(program_.outputs[node.first_output], frame->parent, TakeInput(node, iteration, 0));
  ActivateNode(node, frame->parent, false);
  return absl::OkStatus();
}

void DynamicRun::NextIteration(const NodeProgram& node, Iteration* iteration) {
  RunningFrame* const frame = iteration->frame;
  Value value = TakeInput(node, iteration, 0);
  if (iteration->next != nullptr) {
    GiveIteration(node, iteration->next, std::move(value));
  } else if (frame->in_flight < frame->program->parallel_iterations) {
    GiveIteration(node, StartIteration(frame), std::move(value));
  } else {
    const uint32_t index = static_cast<uint32_t>(&node - program_.nodes.data());
    frame->deferred.push_back({index, std::move(value)});
  }
}

void DynamicRun::GiveIteration(const NodeProgram& node, Iteration* iteration, Value value) {
  Fill(program_.outputs[node.first_output], iteration, std::move(value));
  ActivateNode(node, iteration, false);
}

Iteration* DynamicRun::StartIteration(RunningFrame* frame) {
  Iteration* const iteration = state_->NewIteration(frame);
  const std::vector<uint32_t>& invariants = frame->program->invariants;
  for (size_t i = 0; i < invariants.size(); ++i) {
    if (frame->invariant_states[i] == RunningFrame::kAwaited) continue;
    ActivateNode(program_.nodes[invariants[i]], iteration,
                 frame->invariant_states[i] == RunningFrame::kDead);
  }
  return iteration;
}

// Recycles the iterations in which nothing can run any more, the oldest first; then the frame if it
// has no iteration left; then perhaps iterations of its parent.
void DynamicRun::RetireIterations(RunningFrame* frame) {
  while (true) {
    while (frame->oldest != nullptr && frame->oldest->outstanding == 0 &&
           frame->awaited_enters == 0) {
      if (frame->parent == nullptr) {
        finished_ = true;  // the fetches are still in the iteration
        return;
      }
      if (!frame->oldest->HasRunAll() && FailIfStuck(*frame->oldest)) return;
      Iteration* const done = std::exchange(frame->oldest, frame->oldest->next);
      if (frame->oldest == nullptr) frame->newest = nullptr;
      --frame->in_flight;
      state_->Recycle(done);
      if (frame->deferred.empty()) continue;
      Iteration* const started = StartIteration(frame);
      for (Deferred& deferred : frame->deferred) {
        GiveIteration(program_.nodes[deferred.node], started, std::move(deferred.value));
      }
      frame->deferred.clear();
    }
    if (frame->oldest != nullptr) return;
    Iteration* const parent = frame->parent;
    if (FailIfCutOff(*frame)) return;
    LeaveFrame(frame);
    if (--parent->outstanding > 0) return;
    frame = parent->frame;
  }
}

// Exits that were live in no iteration are dead outside of the loop.
void DynamicRun::LeaveFrame(RunningFrame* frame) {
  const std::vector<uint32_t>& exits = frame->program->exits;
  for (size_t i = 0; i < exits.size(); ++i) {
    if (frame->exits[i] == RunningFrame::kLeft) continue;
    ActivateNode(program_.nodes[exits[i]], frame->parent, true);
  }
  frame->parent->children[frame->program->child] = nullptr;
  state_->Recycle(frame);
}

}  // namespace millstream
