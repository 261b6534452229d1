// A plan: a pruned graph, compiled for one set of feed shapes to a flat list of instructions.
//
// Invariants
//  1. Instructions are in an order in which every data and control edge points forward.
//  2. Every tensor that an instruction reads is a view of a *root value*: a constant, a feed, a
//     resource handle, a place in the slab, or a *slot* (a Tensor of the step). Nodes that only
//     rename memory (Identity, Reshape) make no instruction: their outputs are views of their
//     input's root.
//  3. Places in the slab are assigned when the plan is built. Roots that share bytes never live at
//     the same time, except for an output that is written in place over its input.
//  4. A plan does not change after it is built. A step writes only to its StepState. The frames of
//     a StepState are built once and reused by later steps.
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
#include "core/graph/prune.h"
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

// The place of a root value's bytes.
enum class RootKind : uint8_t {
  kConstant,  // in `constant`
  kFeed,      // in the caller's tensor `index`
  kHandle,    // a resource handle: the Resource at `resource`
  kPlanned,   // in the slab, at `offset`
  kEscaping,  // in slot `index`, allocated before the step begins, because it leaves the step
  kSlot,      // in slot `index`, allocated by the instruction that computes it
};

// A view of a root in a StepState.
struct ViewPlace {
  int view;          // index into StepState::views
  bool dims_follow;  // the plan does not know the view's dims; a step sets them to the root's
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
  int first = -1;  // instruction that computes it; -1: it exists before the first
  int last = -1;   // last instruction that reads it
  std::vector<ViewPlace> places;
  // The size of the value; 0 if the shape is not known, the largest int64_t on overflow.
  int64_t bytes() const;
};

// The value of an edge of the graph: a root under a shape.
struct ValueRef {
  int root = -1;
  bool shape_known = false;
  Shape shape;
};

// The kind of instructions that the executor runs itself, without a kernel.
enum class TransferKind : uint8_t {
  kNone,  // the instruction calls the node's kernel
  kSend,
  kReceive,
  kToDevice,  // starts a copy of its input to the device
  kToHost,    // starts a copy of its input to the host; kAwaitHost or the step's end waits for it
  kAwaitHost  // waits for the copies to the host that were started before
};

// The data of an instruction that the executor's loop does not read. Plan::calls has the rest.
struct Instruction {
  const Node* node = nullptr;
  KernelInstance* kernel = nullptr;
  std::vector<ValueRef> inputs;
  std::vector<ValueRef> outputs;
  std::vector<uint64_t> outputs_used;
  bool prepares_constants = false;  // see StepOp
  // The checks of its results; null: none. With checks, outputs never overwrite inputs.
  NumericChecks* checks = nullptr;
  int first_input_view = 0;  // into StepState::views
  int first_output_view = 0;
  void* shape_state = nullptr;
  int64_t scratch_bytes = 0;
  int64_t scratch_offset = -1;
  std::vector<int> release;  // slots whose tensors are released after the instruction
  int captured_row = -1;     // the row of Plan::captured_rows that it begins; -1: none
  int64_t edge = -1;         // of a Send or Receive: see RendezvousKey
  bool is_peer = false;      // of a Send or Receive: see kPeerAttr
  TransferKind transfer = TransferKind::kNone;
  // The values of the program that it reads, if a pass made the node. Empty: the node's inputs.
  std::vector<Output> reads;
};

// The data of an instruction that the executor's loop reads.
struct Call {
  MS_Status* (*compute)(void* state, MS_Frame* frame);
  void* state;
  // The work of the executor after the call, as bits kAfter...; 0: none.
  uint32_t after;
  uint32_t pad;
};
inline constexpr uint32_t kAfterOutputs = 1;
inline constexpr uint32_t kAfterRelease = 2;
inline constexpr uint32_t kAfterLocks = 4;
inline constexpr uint32_t kAfterCheck =
    8;  // the call may have taken long: check for cancellation and the time limit
inline constexpr uint32_t kAfterWait = 16;  // it may end after its call returns: see PlanRun

// How a fetch leaves the step.
struct FetchPlan {
  ValueRef value;
  bool move = false;  // the last fetch of its slot: the tensor is moved to the caller
};

// Consecutive instructions whose work a device can record: see plan_capture.h.
struct CapturedRow {
  int begin = 0;
  int end = 0;
  // Those of [begin, end) that are not recorded, and run before the others in every step.
  std::vector<int> first;
  // The roots that the recorded instructions use and whose places may change from step to step.
  std::vector<int> moving_roots;
};

class Plan {
 public:
  static constexpr int kKeptStates = 4;  // the most states that are kept for later steps

  Plan() = default;
  ~Plan();  // frees shape states and step states; REQUIRES: no step runs
  Plan(const Plan&) = delete;
  Plan& operator=(const Plan&) = delete;

  std::vector<Shape> feed_shapes;
  // The nodes and kernels of operations that passes made. Destroyed after the members that use
  // them.
  std::unique_ptr<Graph> own_nodes;
  std::vector<std::unique_ptr<KernelInstance>> own_kernels;
  std::vector<Root> roots;
  std::vector<Instruction> instructions;
  std::vector<Call> calls;
  std::vector<FetchPlan> fetches;
  std::vector<int> feed_roots;      // root of each feed; -1: the feed is not used
  std::vector<int> escaping_roots;  // allocated when a step begins
  std::vector<CapturedRow> captured_rows;
  // Feeds [0, num_carried) belong to the step, which may write over those that nobody else has. Of
  // plans inside of loops and branches.
  int num_carried = 0;
  int num_views = 0;
  int num_slots = 0;
  int64_t slab_bytes = 0;
  bool may_wait = false;  // some call has kAfterWait: the plan needs a StepScheduler
  // The memory of the device that runs the plan; null: it uses host memory only.
  DeviceMemory* memory = nullptr;
  const SessionSettings* settings = nullptr;         // of the session; set by the compiler
  std::string device_name;                           // for reports of the running instruction
  std::shared_ptr<const NodeIterations> iterations;  // for reports; null: see PrunedGraph

  // ---- Thread-safe ----
  // Returns a state for a step: a kept one, or a new one. RESOURCE_EXHAUSTED names the plan's
  // largest tensors.
  StatusOr<std::unique_ptr<StepState>> TakeState();
  // Keeps the state for a later step, or deletes it if the budget is exceeded.
  void ReturnState(std::unique_ptr<StepState> state);
  // Sets the budget for kept states. Without a budget a plan keeps states of any size. REQUIRES: no
  // step has run.
  void SetBudget(StateBudget* budget);
  // Deletes the kept states.
  void DropKeptStates();
  bool KeepsStates() const;  // true if a state is kept at this moment
  void NoteDeleted() const;  // a state of this plan was deleted
  // Logs, once a plan, why recorded work is not used.
  void NoteNotCaptured(const Status& why);
  int64_t state_bytes() const { return state_bytes_; }  // of one state; 0 without a budget
  uint64_t last_used() const { return last_used_.load(std::memory_order_relaxed); }

 private:
  int64_t StateBytes() const;

  std::atomic<StepState*> kept_[kKeptStates] = {};
  StateBudget* budget_ = nullptr;
  int64_t state_bytes_ = 0;
  std::atomic<uint64_t> last_used_{0};  // the budget's time
  std::atomic<bool> logged_capture_{false};
};

}  // namespace millstream

#endif  // MILLSTREAM_CORE_PLAN_PLAN_H_
