// The plan: a pruned graph for one set of feed shapes, compiled to a flat list of instructions.
//
// Invariants
//  1. Instructions are in an order in which every data and control edge points forward.
//  2. Every tensor that an instruction reads is a view of a *root value*: a constant, a feed, a
//     resource handle, a place in the slab, or a *slot* (a Tensor of the step). Nodes that only
//     rename memory (Identity, Reshape) make no instruction: their outputs are views of their
//     input's root.
//  3. The slab is laid out when the plan is built. Roots that share bytes never live at the same
//     time, except for an output that takes over its input in place.
//  4. A plan never changes once it is built. What a step writes is in its StepState: its frames are
//     built once per StepState, and reused by later steps.
#ifndef MILLSTREAM_CORE_PLAN_PLAN_H_
#define MILLSTREAM_CORE_PLAN_PLAN_H_

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "core/device/device_memory.h"
#include "core/device/kernel_instance.h"
#include "core/graph/graph.h"
#include "core/plan/state_budget.h"
#include "core/resources/resource.h"
#include "core/resources/resource_manager.h"
#include "core/step/session_settings.h"
#include "framework/plugin/plugin.h"
#include "framework/shape.h"
#include "framework/tensor.h"

namespace millstream {

class NumericChecks;
class RunningSteps;
struct StepState;

// Where a root value's bytes are.
enum class RootKind : uint8_t {
  kConstant,  // in `constant`
  kFeed,      // in the caller's tensor `index`
  kHandle,    // a resource handle: the Resource at `resource`
  kPlanned,   // in the slab, at `offset`
  kEscaping,  // in slot `index`, allocated before the step begins because the caller gets it
  kSlot,      // in slot `index`, made by the instruction that computes it
};

// A place in a StepState where a view of some root stands.
struct ViewPlace {
  int view;          // index into StepState::views
  bool dims_follow;  // the view's dims are the root's, not known in the plan
};

struct Root {
  Output source;  // for messages
  RootKind kind = RootKind::kPlanned;
  bool in_host = true;  // false: in the memory of the plan's device
  DataType dtype = DataType::kInvalid;
  bool shape_known = false;
  Shape shape;
  Tensor constant;         // in host memory
  Tensor device_constant;  // not in_host: the same on the device
  ResourceRef<Resource> resource;
  int index = -1;
  int64_t offset = -1;
  int first = -1;  // instruction that computes it; -1: there before the first
  int last = -1;   // last instruction that reads it
  std::vector<ViewPlace> places;
  // 0 when the shape is not known; the largest number there is when they are more.
  int64_t bytes() const;
};

// What an edge of the graph became.
struct ValueRef {
  int root = -1;
  bool shape_known = false;
  Shape shape;
};

// Instructions that the executor does itself.
enum class TransferKind : uint8_t {
  kNone,  // it calls the node's kernel
  kSend,
  kReceive,
  kToDevice,  // its output is its input in the device's memory
  kToHost,    // likewise in the host's, in time for kAwaitHost or the step's end
  kAwaitHost  // what was copied to the host before it has its values
};

// Cold data of an instruction; the hot part is in Plan::calls.
struct Instruction {
  const Node* node = nullptr;
  KernelInstance* kernel = nullptr;
  std::vector<ValueRef> inputs;
  std::vector<ValueRef> outputs;
  std::vector<uint64_t> outputs_used;
  bool prepares_constants = false;  // see StepOp
  // What looks at its results; its outputs then take over no input's memory. Null: nobody does.
  NumericChecks* checks = nullptr;
  int first_input_view = 0;  // into StepState::views
  int first_output_view = 0;
  void* shape_state = nullptr;
  int64_t scratch_bytes = 0;
  int64_t scratch_offset = -1;
  std::vector<int> release;  // slots whose tensors are dropped afterwards
  int64_t edge = -1;         // of a Send or Receive: see RendezvousKey
  bool is_peer = false;      // likewise: see kPeerAttr
  TransferKind transfer = TransferKind::kNone;
  // What it reads, by the program's names, where a pass made the node; else empty: as the node
  // says.
  std::vector<Output> reads;
};

// What the executor's loop reads, nothing else.
struct Call {
  MS_Status* (*compute)(void* state, MS_Frame* frame);
  void* state;
  // Nonzero when the executor has work to do besides: outputs to pass on, slots to release, locks
  // to check.
  uint32_t after;
  uint32_t pad;
};
inline constexpr uint32_t kAfterOutputs = 1;
inline constexpr uint32_t kAfterRelease = 2;
inline constexpr uint32_t kAfterLocks = 4;
inline constexpr uint32_t kAfterCheck =
    8;  // it may have taken long: look at cancellation and clock
inline constexpr uint32_t kAfterWait = 16;  // it ends later than its call: see PlanRun

// How a fetch leaves the step.
struct FetchPlan {
  ValueRef value;
  bool move = false;  // the slot's last fetch: the tensor itself may go to the caller
};

class Plan {
 public:
  static constexpr int kKeptStates = 4;  // at most

  Plan() = default;
  ~Plan();  // frees shape states and step states; REQUIRES: no step runs
  Plan(const Plan&) = delete;
  Plan& operator=(const Plan&) = delete;

  std::vector<Shape> feed_shapes;
  // Of the operations that passes made: their nodes and kernels. Destroyed after what uses them.
  std::unique_ptr<Graph> own_nodes;
  std::vector<std::unique_ptr<KernelInstance>> own_kernels;
  std::vector<Root> roots;
  std::vector<Instruction> instructions;
  std::vector<Call> calls;
  std::vector<FetchPlan> fetches;
  std::vector<int> feed_roots;      // root of each feed; -1: the feed is not used
  std::vector<int> escaping_roots;  // allocated as a step begins
  int num_views = 0;
  int num_slots = 0;
  int64_t slab_bytes = 0;
  bool may_wait = false;  // some call has kAfterWait: the plan needs a StepScheduler
  // Of the device that runs it; null: everything is in host memory.
  DeviceMemory* memory = nullptr;
  const SessionSettings* settings = nullptr;  // of the session; set by the compiler
  std::string device_name;                    // for reports of what a step is at

  // A step's state: one that an earlier step left, else a new one. RESOURCE_EXHAUSTED names the
  // plan's largest tensors.
  StatusOr<std::unique_ptr<StepState>> TakeState();
  void ReturnState(std::unique_ptr<StepState> state);
  // Before the first step. A plan without budget keeps its states whatever they take.
  void SetBudget(StateBudget* budget);
  void DropKeptStates();
  bool KeepsStates() const;                             // some state, at this moment
  void NoteDeleted() const;                             // a state of this plan
  int64_t state_bytes() const { return state_bytes_; }  // of each state, once it has a budget
  uint64_t last_used() const { return last_used_.load(std::memory_order_relaxed); }

 private:
  int64_t StateBytes() const;

  std::atomic<StepState*> kept_[kKeptStates] = {};
  StateBudget* budget_ = nullptr;
  int64_t state_bytes_ = 0;
  std::atomic<uint64_t> last_used_{0};  // the budget's time
};

}  // namespace millstream

#endif  // MILLSTREAM_CORE_PLAN_PLAN_H_
