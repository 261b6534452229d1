// What one running step of the dynamic executor owns: frames, their iterations, executions.
//
// Nothing here has a lock: the run that owns it is an actor. The one thing that other threads touch
// is an Execution that was given to them.
#ifndef MILLSTREAM_CORE_DYNAMIC_STATE_H_
#define MILLSTREAM_CORE_DYNAMIC_STATE_H_

#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "core/dynamic/program.h"
#include "core/dynamic/value.h"
#include "core/host/kernel_host.h"
#include "core/partition/rendezvous.h"
#include "core/step/step_context.h"

namespace millstream {

class DynamicRun;
struct RunningFrame;

struct Slot {
  Value value;
  uint32_t uses = 0;  // reads that are still to come; 0: empty
};

// One iteration of one running frame.
struct Iteration {
  RunningFrame* frame = nullptr;
  Iteration* next = nullptr;  // the iteration after it, once that has started
  int64_t number = 0;
  uint64_t key = 0;          // RendezvousKey::iteration
  uint32_t outstanding = 0;  // nodes that are ready or run, and child frames
  uint32_t begun = 0;        // nodes that became ready
  uint32_t filled_slots = 0;
  std::unique_ptr<Pending[]> pending;
  std::unique_ptr<Slot[]> slots;
  std::unique_ptr<RunningFrame*[]> children;  // null: not entered yet, or done

  bool HasRunAll() const;
};

// What a NextIteration gave for an iteration that cannot start yet.
struct Deferred {
  uint32_t node;
  Value value;
};

// A loop that runs. The root frame, the step itself, has one iteration.
struct RunningFrame {
  enum InvariantState : uint8_t { kAwaited, kLive, kDead };
  // kCutOff: in some iteration it waited for what could not come.
  enum ExitState : uint8_t { kOpen, kLeft, kCutOff };

  const FrameProgram* program = nullptr;
  Iteration* parent = nullptr;  // where it was entered; null for the root
  uint64_t key = 0;
  Iteration* oldest = nullptr;  // the iterations in flight, linked by `next`
  Iteration* newest = nullptr;
  int in_flight = 0;
  int64_t next_number = 0;
  uint32_t awaited_enters = 0;
  std::unique_ptr<Value[]> invariants;
  std::unique_ptr<InvariantState[]> invariant_states;
  std::unique_ptr<ExitState[]> exits;
  std::vector<Deferred> deferred;
  std::vector<std::string> cut_off;  // what waited as an Exit was first found to be cut off
};

inline bool Iteration::HasRunAll() const { return begun == frame->program->pending.size(); }

// One execution of one kernel.
struct Execution final : MS_Ctx, MS_Done, Rendezvous::Receiver {
  DynamicRun* run = nullptr;
  const NodeProgram* program = nullptr;
  Iteration* iteration = nullptr;
  MS_Frame frame{};
  std::vector<MS_TensorView> input_views;
  std::vector<MS_TensorView> output_views;
  std::vector<Tensor> temps;
  std::vector<Value> moved;  // inputs that were copied to where the kernel wants them
  bool is_active = false;
  int64_t start = 0;      // when traced
  std::string waits_for;  // OutsideWork::waits_for, of an asynchronous kernel
  // Bit i: this execution is the last to read input i (of the first 64). Set for executions on
  // other threads, who must not look at Slot::uses.
  uint64_t sole_reader = 0;

  // ---- What it brought, once it stands in the inbox ----
  Execution* next = nullptr;
  Status status;
  Parcel received;

  void Receive(Status result, Parcel parcel) override;
};

struct ReadyNode {
  Iteration* iteration;
  uint32_t node;
  bool is_dead;
};

// First in, first out.
class ReadyQueue {
 public:
  ReadyQueue() : ring_(kInitialSize) {}
  bool empty() const { return head_ == tail_; }
  void Push(const ReadyNode& node) {
    ring_[tail_ & (ring_.size() - 1)] = node;
    if (++tail_ - head_ == ring_.size()) Grow();
  }
  // REQUIRES: !empty().
  ReadyNode Pop() { return ring_[head_++ & (ring_.size() - 1)]; }
  void Clear() { head_ = tail_; }

 private:
  static constexpr size_t kInitialSize = 64;
  void Grow();

  std::vector<ReadyNode> ring_;  // the size is a power of two
  uint64_t head_ = 0;
  uint64_t tail_ = 0;
};

// Frames and iterations are recycled; all live as long as the state.
struct DynamicState {
  explicit DynamicState(const DynamicProgram* program);
  DynamicState(const DynamicState&) = delete;
  DynamicState& operator=(const DynamicState&) = delete;

  // `parent`: the iteration that enters it; null for the root.
  RunningFrame* NewFrame(uint32_t frame, Iteration* parent);
  void Recycle(RunningFrame* frame);
  // Its nodes wait for all that they wait for; its slots are empty.
  Iteration* NewIteration(RunningFrame* frame);
  void Recycle(Iteration* iteration);
  Execution* NewExecution();
  void Recycle(Execution* execution);

  struct Pool {
    std::vector<std::unique_ptr<RunningFrame>> frames;
    std::vector<std::unique_ptr<Iteration>> iterations;
    std::vector<RunningFrame*> free_frames;
    std::vector<Iteration*> free_iterations;
  };

  const DynamicProgram& program;
  std::vector<Pool> pools;  // by frame
  ReadyQueue ready;
  std::vector<Value> feeds;
  std::vector<Value> device_feeds;  // copies of those that kernels of a device have read
  Execution inline_execution;       // of kernels that run one after the other
  std::vector<std::unique_ptr<Execution>> executions;
  std::deque<Execution*> free_executions;
};

}  // namespace millstream

#endif  // MILLSTREAM_CORE_DYNAMIC_STATE_H_
