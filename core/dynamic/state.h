// The memory of one running step of the dynamic executor: frames, iterations and executions.
//
// Nothing here needs a lock, because the run that owns it is an actor. Other threads access only
// the Execution that was passed to them.
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
  uint32_t uses = 0;  // remaining reads; 0: the slot is empty
};

// One iteration of one running frame.
struct Iteration {
  RunningFrame* frame = nullptr;
  Iteration* next = nullptr;  // the next iteration, after it has started
  int64_t number = 0;
  uint64_t key = 0;          // RendezvousKey::iteration
  uint32_t outstanding = 0;  // number of ready and running nodes and of child frames
  uint32_t begun = 0;        // nodes that became ready
  uint32_t filled_slots = 0;
  std::unique_ptr<Pending[]> pending;
  std::unique_ptr<Slot[]> slots;
  std::unique_ptr<RunningFrame*[]> children;  // null: not entered yet, or finished

  bool HasRunAll() const;
};

// The value of a NextIteration for an iteration that cannot start yet.
struct Deferred {
  uint32_t node;
  Value value;
};

// A running loop. The root frame is the step itself and has one iteration.
struct RunningFrame {
  enum InvariantState : uint8_t { kAwaited, kLive, kDead };
  // kCutOff: in some iteration, the Exit waited for an input that cannot arrive.
  enum ExitState : uint8_t { kOpen, kLeft, kCutOff };

  const FrameProgram* program = nullptr;
  Iteration* parent = nullptr;  // the iteration that entered it; null for the root
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
  std::vector<std::string> cut_off;  // the waiting nodes when the first Exit was cut off
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
  std::vector<Value> moved;  // copies of inputs in the memory that the kernel needs
  bool is_active = false;
  int64_t start = 0;      // when traced
  std::string waits_for;  // OutsideWork::waits_for, of an asynchronous kernel
  // Bit i is set if this execution is the last reader of input i (of the first 64). For executions
  // on other threads, which must not access Slot::uses.
  uint64_t sole_reader = 0;

  // ---- The result, when it is in the inbox ----
  Execution* next = nullptr;
  Status status;
  Parcel received;

  void DropCopies();
  void Receive(Status result, Parcel parcel) override;
};

struct ReadyNode {
  Iteration* iteration;
  uint32_t node;
  bool is_dead;
};

// A first-in, first-out queue. Not thread-safe.
class ReadyQueue {
 public:
  ReadyQueue() : ring_(kInitialSize) {}
  bool empty() const { return head_ == tail_; }
  void Push(const ReadyNode& node) {
    ring_[tail_ & mask_] = node;
    if (++tail_ - head_ > mask_) Grow();
  }
  // REQUIRES: !empty().
  ReadyNode Pop() { return ring_[head_++ & mask_]; }
  void Clear() { head_ = tail_; }

 private:
  static constexpr size_t kInitialSize = 64;
  void Grow();

  std::vector<ReadyNode> ring_;  // the size is a power of two
  uint64_t mask_ = kInitialSize - 1;
  uint64_t head_ = 0;
  uint64_t tail_ = 0;
};

// Owns frames and iterations and recycles them. All live as long as the state.
struct DynamicState {
  explicit DynamicState(const DynamicProgram* program);
  DynamicState(const DynamicState&) = delete;
  DynamicState& operator=(const DynamicState&) = delete;

  // `parent`: the iteration that enters it; null for the root.
  RunningFrame* NewFrame(uint32_t frame, Iteration* parent);
  void Recycle(RunningFrame* frame);
  // The nodes of the new iteration wait for all their edges, and its slots are empty.
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
  std::vector<Value> device_feeds;  // copies in device memory of feeds that kernels have read
  Execution inline_execution;       // of kernels on the thread of the run
  std::vector<std::unique_ptr<Execution>> executions;
  std::deque<Execution*> free_executions;
};

}  // namespace millstream

#endif  // MILLSTREAM_CORE_DYNAMIC_STATE_H_
