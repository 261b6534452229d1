// The compiled form that the dynamic executor runs: the nodes of one partition as flat arrays.
//
// The place of a value while a step runs is one of
//   kSlot       in the iteration that uses it (Enter, Exit and NextIteration write it there)
//   kInvariant  in the running frame, for all iterations: the value of an Enter with is_constant
//   kConstant   in the program: the value of a Const, the handle of a variable
//   kFeed       in the step
//
// A program does not change after it is compiled. A step writes only to its DynamicState.
#ifndef MILLSTREAM_CORE_DYNAMIC_PROGRAM_H_
#define MILLSTREAM_CORE_DYNAMIC_PROGRAM_H_

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "core/device/device_memory.h"
#include "core/device/kernel_instance.h"
#include "core/dynamic/value.h"
#include "core/graph/graph.h"
#include "core/graph/prune.h"
#include "core/graph/step_signature.h"
#include "core/numerics/numeric_checks.h"
#include "core/resources/resource.h"
#include "core/resources/resource_manager.h"
#include "core/step/session_settings.h"
#include "framework/plugin/plugin.h"
#include "framework/status.h"

namespace millstream {

struct DynamicState;

inline constexpr uint32_t kNoIndex = 0xffffffffu;

enum class ValuePlace : uint8_t { kSlot, kInvariant, kConstant, kFeed };

// The memory in which a node needs an input.
enum class WantedSpace : uint8_t { kAnywhere, kHost, kDevice };

struct ValueSource {
  uint32_t index = 0;
  ValuePlace place = ValuePlace::kSlot;
};

// An edge to a node that waits for an output, or for the end of a node.
struct WaitEdge {
  static constexpr int32_t kPlain = -1;         // to a node that needs all its inputs
  static constexpr int32_t kMergeControl = -2;  // a control edge to a Merge
  uint32_t node = 0;
  uint32_t local = 0;            // index of that node in Iteration::pending
  int32_t merge_input = kPlain;  // from 0: a data input of a Merge
};

struct OutputProgram {
  uint32_t slot = kNoIndex;  // kNoIndex: the value is not in a slot
  uint32_t uses = 0;         // number of reads, including fetches
  uint32_t first_edge = 0;
  uint32_t num_edges = 0;
};

enum class NodeAction : uint8_t {
  kKernel,    // calls the kernel
  kAsync,     // starts an asynchronous kernel
  kBlocking,  // calls the kernel on a thread that it may block
  kPassOn,    // output i is input i
  kNothing,   // has only control edges
  kLoopCond,  // like kPassOn, for a scalar
  kSwitch,
  kMerge,
  kEnter,
  kExit,
  kNextIteration,
  kSend,
  kReceive,
};

struct NodeProgram {
  NodeAction action = NodeAction::kNothing;
  bool runs_when_dead = false;  // it runs with dead inputs, and decides which outputs are dead
  bool may_run_beside = false;  // a kKernel that may run on another thread if it takes long
  bool is_invariant = false;    // its outputs are the same in every iteration of its loop
  uint32_t frame = 0;           // the frame of its inputs
  uint32_t output_frame = 0;
  uint32_t local = 0;  // its index in Iteration::pending
  uint32_t first_input = 0;
  uint32_t num_inputs = 0;
  uint32_t first_output = 0;
  uint32_t num_outputs = 0;
  uint32_t first_control_edge = 0;
  uint32_t num_control_edges = 0;
  uint32_t first_used_word = 0;     // of MS_Frame::outputs_used
  uint32_t child = kNoIndex;        // of an Enter: index of its frame in Iteration::children
  uint32_t invariant = kNoIndex;    // of an Enter with is_constant: index in the frame's invariants
  uint32_t exit = kNoIndex;         // of an Exit: index in the frame's exits
  uint32_t live_inputs_needed = 0;  // of a Merge: it is dead if this number of inputs is dead
  MS_Status* (*compute)(void* state, MS_Frame* frame) = nullptr;
  void (*compute_async)(void* state, MS_Frame* frame, MS_Done* done) = nullptr;
  void* state = nullptr;
  KernelInstance* kernel = nullptr;
  NumericChecks* checks = nullptr;  // of kAsync: the checks of its results; null: none
  const Node* node = nullptr;
  int64_t transfer_edge = -1;  // of kSend and kReceive
  bool is_peer = false;        // of kSend and kReceive: see kPeerAttr
};

// The edges that a node still waits for, in one iteration.
struct Pending {
  static constexpr int32_t kNone = -1;
  // `waits` of a Merge that is ready or has run: it ignores later inputs.
  static constexpr uint32_t kTooLate = 0xffffffffu;
  uint32_t waits = 0;    // edges that have not arrived; of a Merge: only control edges
  uint32_t dead = 0;     // dead edges that have arrived
  int32_t live = kNone;  // of a Merge: the first live input

  // Of a Merge: true if a data input has arrived.
  bool HasInput() const { return live != kNone || dead > 0; }
  // True if the node is ready, runs or has run.
  bool HasBegun(NodeAction action) const {
    return waits == (action == NodeAction::kMerge ? kTooLate : 0);
  }
};

struct FrameProgram {
  std::string name;
  uint32_t parent = 0;
  uint32_t child = kNoIndex;  // its index in the parent's Iteration::children
  int parallel_iterations = 1;
  uint64_t name_hash = 0;
  std::vector<Pending> pending;  // at the start of an iteration
  uint32_t num_slots = 0;
  uint32_t num_children = 0;
  uint32_t num_enters = 0;           // the number of Enters that it waits for
  std::vector<uint32_t> invariants;  // Enters with is_constant, by NodeProgram::invariant
  std::vector<uint32_t> exits;       // by NodeProgram::exit
  // The nodes whose inputs or outputs are in the frame, in program order.
  std::vector<uint32_t> nodes;
};

struct FetchProgram {
  Output output;
  ValueSource source;
  bool may_move = true;  // the tensor may be moved to the caller
};

// How to run a node that has graphs of its own: as a kernel.
struct InnerCall {
  MS_Status* (*compute)(void* state, MS_Frame* frame) = nullptr;
  void* state = nullptr;
};

struct DynamicRequest {
  const PrunedGraph* graph = nullptr;
  const StepSignature* signature = nullptr;
  KernelCache* kernels = nullptr;
  DeviceMemory* memory = nullptr;  // of the device that runs it; null: it uses host memory
  const SessionSettings* settings = nullptr;
  absl::flat_hash_map<const Node*, InnerCall> inner;  // for the _Loop and _Branch nodes
};

class DynamicProgram {
 public:
  // Compiles a partition. INVALID_ARGUMENT names the node: frames that are not well formed
  // (FindFrames), no kernel, a fetch or feed inside a loop.
  static StatusOr<std::unique_ptr<DynamicProgram>> Compile(const DynamicRequest& request);
  DynamicProgram() = default;
  ~DynamicProgram();  // REQUIRES: no step runs
  DynamicProgram(const DynamicProgram&) = delete;
  DynamicProgram& operator=(const DynamicProgram&) = delete;

  std::vector<FrameProgram> frames;  // 0 is the step itself
  std::vector<NodeProgram> nodes;
  std::vector<ValueSource> inputs;
  // Empty unless the device has its own memory.
  std::vector<WantedSpace> wanted;   // by input
  std::vector<bool> output_in_host;  // by output
  std::vector<OutputProgram> outputs;
  std::vector<WaitEdge> edges;
  std::vector<uint64_t> used_words;
  std::vector<Value> constants;
  std::vector<ResourceRef<Resource>> resources;  // of the handles among the constants
  std::vector<FetchProgram> fetches;
  std::vector<uint32_t> ready_at_start;
  uint32_t num_feeds = 0;
  uint32_t most_inputs = 0;  // the most inputs of one kernel
  uint32_t most_outputs = 0;
  DeviceMemory* memory = nullptr;       // of the device; null: it uses host memory
  MS_DeviceContext device = kNoDevice;  // for the kernels
  const ResourceManager* resources_of_session = nullptr;
  bool deterministic = false;
  bool keeps_inputs = false;  // outputs never overwrite inputs
  // Some node may wait for another thread, so the step needs a scheduler.
  bool may_wait = false;

  // The recent time of each node's kernel in nanoseconds; 0: not known. By node; thread-safe.
  std::unique_ptr<std::atomic<uint32_t>[]> costs;

  // Returns a state for a step: a kept one, or a new one. Thread-safe.
  std::unique_ptr<DynamicState> TakeState();
  // Keeps the state for a later step. REQUIRES: the step succeeded, and its iterations were
  // recycled.
  void ReturnState(std::unique_ptr<DynamicState> state);

 private:
  static constexpr int kKeptStates = 4;
  std::atomic<DynamicState*> kept_[kKeptStates] = {};
};

}  // namespace millstream

#endif  // MILLSTREAM_CORE_DYNAMIC_PROGRAM_H_
