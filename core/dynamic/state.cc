#include "core/dynamic/state.h"

#include <algorithm>

namespace millstream {
namespace {

// An execution that ended is not used again at once, so that a kernel that says twice that it is
// done is found out.
constexpr size_t kRestingExecutions = 64;

// Mixes two numbers to one that stands for both.
uint64_t Combine(uint64_t a, uint64_t b) {
  uint64_t mixed = (a ^ (b + 0x9e3779b97f4a7c15u + (a << 6) + (a >> 2))) * 0xff51afd7ed558ccdu;
  return mixed ^ (mixed >> 32);
}

}  // namespace

void Execution::DropCopies() {
  temps.clear();
  moved.clear();
}

void ReadyQueue::Grow() {
  std::vector<ReadyNode> larger(ring_.size() * 2);
  const size_t count = tail_ - head_;
  for (size_t i = 0; i < count; ++i) larger[i] = ring_[(head_ + i) & mask_];
  ring_ = std::move(larger);
  mask_ = ring_.size() - 1;
  head_ = 0;
  tail_ = count;
}

DynamicState::DynamicState(const DynamicProgram* compiled)
    : program(*compiled),
      pools(compiled->frames.size()),
      feeds(compiled->num_feeds),
      device_feeds(compiled->memory == nullptr ? 0 : compiled->num_feeds) {
  inline_execution.input_views.resize(program.most_inputs);
  inline_execution.output_views.resize(program.most_outputs);
}

RunningFrame* DynamicState::NewFrame(uint32_t index, Iteration* parent) {
  Pool& pool = pools[index];
  const FrameProgram& compiled = program.frames[index];
  RunningFrame* frame = nullptr;
  if (pool.free_frames.empty()) {
    pool.frames.push_back(std::make_unique<RunningFrame>());
    frame = pool.frames.back().get();
    frame->program = &compiled;
    frame->invariants = std::make_unique<Value[]>(compiled.invariants.size());
    frame->invariant_states =
        std::make_unique<RunningFrame::InvariantState[]>(compiled.invariants.size());
    frame->exits = std::make_unique<RunningFrame::ExitState[]>(compiled.exits.size());
  } else {
    frame = pool.free_frames.back();
    pool.free_frames.pop_back();
  }
  frame->parent = parent;
  frame->key = parent == nullptr ? 0 : Combine(parent->key, compiled.name_hash);
  frame->oldest = nullptr;
  frame->newest = nullptr;
  frame->in_flight = 0;
  frame->next_number = 0;
  frame->awaited_enters = compiled.num_enters;
  std::fill_n(frame->invariant_states.get(), compiled.invariants.size(), RunningFrame::kAwaited);
  std::fill_n(frame->exits.get(), compiled.exits.size(), RunningFrame::kOpen);
  return frame;
}

void DynamicState::Recycle(RunningFrame* frame) {
  const size_t index = frame->program - program.frames.data();
  for (size_t i = 0; i < frame->program->invariants.size(); ++i) frame->invariants[i] = Value();
  frame->deferred.clear();
  frame->cut_off.clear();
  pools[index].free_frames.push_back(frame);
}

Iteration* DynamicState::NewIteration(RunningFrame* frame) {
  const FrameProgram& compiled = *frame->program;
  Pool& pool = pools[&compiled - program.frames.data()];
  Iteration* iteration = nullptr;
  if (pool.free_iterations.empty()) {
    pool.iterations.push_back(std::make_unique<Iteration>());
    iteration = pool.iterations.back().get();
    iteration->pending = std::make_unique<Pending[]>(compiled.pending.size());
    iteration->slots = std::make_unique<Slot[]>(compiled.num_slots);
    iteration->children = std::make_unique<RunningFrame*[]>(compiled.num_children);
  } else {
    iteration = pool.free_iterations.back();
    pool.free_iterations.pop_back();
  }
  std::copy(compiled.pending.begin(), compiled.pending.end(), iteration->pending.get());
  iteration->frame = frame;
  iteration->next = nullptr;
  iteration->number = frame->next_number++;
  iteration->key = frame->parent == nullptr ? 0 : Combine(frame->key, iteration->number + 1);
  iteration->outstanding = 0;
  iteration->begun = 0;
  if (frame->newest == nullptr) {
    frame->oldest = iteration;
  } else {
    frame->newest->next = iteration;
  }
  frame->newest = iteration;
  ++frame->in_flight;
  return iteration;
}

void DynamicState::Recycle(Iteration* iteration) {
  const FrameProgram& compiled = *iteration->frame->program;
  if (iteration->filled_slots > 0) {
    for (uint32_t i = 0; i < compiled.num_slots; ++i) {
      Slot& slot = iteration->slots[i];
      slot.uses = 0;
      if (slot.value.tensor.has_value()) slot.value.tensor = Tensor();
    }
    iteration->filled_slots = 0;
  }
  pools[&compiled - program.frames.data()].free_iterations.push_back(iteration);
}

Execution* DynamicState::NewExecution() {
  Execution* execution = nullptr;
  if (free_executions.size() <= kRestingExecutions) {
    executions.push_back(std::make_unique<Execution>());
    execution = executions.back().get();
    execution->input_views.resize(program.most_inputs);
    execution->output_views.resize(program.most_outputs);
  } else {
    execution = free_executions.front();
    free_executions.pop_front();
  }
  execution->is_active = true;
  execution->called.store(false, std::memory_order_relaxed);
  return execution;
}

void DynamicState::Recycle(Execution* execution) {
  execution->is_active = false;
  execution->DropCopies();
  execution->received = Parcel();
  execution->status = Status();
  execution->waits_for.clear();
  free_executions.push_back(execution);
}

}  // namespace millstream
