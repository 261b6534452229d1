// What the dynamic executor runs: the nodes of one partition, compiled once to flat arrays.
//
// Where a value is while a step runs
//   kSlot       in the iteration in which it is used (an Enter, an Exit and a NextIteration put
//   what
//               they pass on there)
//   kInvariant  in the running frame: what an Enter with is_constant brought, for all iterations
//   kConstant   in the program: the value of a Const, the handle of a variable
//   kFeed       with the step
//
// A program never changes once it is compiled; what a step writes stands in its DynamicState.
#ifndef MILLSTREAM_CORE_DYNAMIC_PROGRAM_H_
#define MILLSTREAM_CORE_DYNAMIC_PROGRAM_H_

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

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

// Where a node wants an input.
enum class WantedSpace : uint8_t { kAnywhere, kHost, kDevice };

struct ValueSource {
  uint32_t index = 0;
  ValuePlace place = ValuePlace::kSlot;
};

// Somebody who waits for an output, or for a node to have run.
struct WaitEdge {
  static constexpr int32_t kPlain = -1;         // of a node that needs all that it waits for
  static constexpr int32_t kMergeControl = -2;  // a control edge to a Merge
  uint32_t node = 0;
  uint32_t local = 0;            // that node's place in Iteration::pending
  int32_t merge_input = kPlain;  // from 0: a data input of a Merge
};

struct OutputProgram {
  uint32_t slot = kNoIndex;  // kNoIndex: the value is not in a slot
  uint32_t uses = 0;         // how often it is read, fetches included
  uint32_t first_edge = 0;
  uint32_t num_edges = 0;
};

enum class NodeAction : uint8_t {
  kKernel,    // calls the kernel
  kAsync,     // starts the kernel, which ends by itself
  kBlocking,  // calls the kernel on a thread that it may block
  kPassOn,    // output i is input i
  kNothing,   // only its edges matter
  kLoopCond,  // as kPassOn, of a scalar
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
  bool runs_when_dead = false;  // its outputs are live, or dead, by what it does itself
  bool may_run_beside = false;  // of kKernel: on another thread, if it turns out to take long
  bool is_invariant = false;    // it is the same in every iteration of its loop
  uint32_t frame = 0;           // where its inputs are
  uint32_t output_frame = 0;
  uint32_t local = 0;  // its place in Iteration::pending
  uint32_t first_input = 0;
  uint32_t num_inputs = 0;
  uint32_t first_output = 0;
  uint32_t num_outputs = 0;
  uint32_t first_control_edge = 0;
  uint32_t num_control_edges = 0;
  uint32_t first_used_word = 0;     // of MS_Frame::outputs_used
  uint32_t child = kNoIndex;        // of an Enter: which of the iteration's children its frame is
  uint32_t invariant = kNoIndex;    // of an Enter with is_constant: which of the frame's invariants
  uint32_t exit = kNoIndex;         // of an Exit: which of its frame's
  uint32_t live_inputs_needed = 0;  // of a Merge: it is dead when so many inputs are
  MS_Status* (*compute)(void* state, MS_Frame* frame) = nullptr;
  void (*compute_async)(void* state, MS_Frame* frame, MS_Done* done) = nullptr;
  void* state = nullptr;
  KernelInstance* kernel = nullptr;
  NumericChecks* checks = nullptr;  // of kAsync: what looks at its results; null: nobody does
  const Node* node = nullptr;
  int64_t transfer_edge = -1;  // of kSend and kReceive
  bool is_peer = false;        // likewise: see kPeerAttr
};

// How far a node is from running, in one iteration.
struct Pending {
  static constexpr int32_t kNone = -1;
  // `waits` of a Merge that is ready, or ran: what comes now comes too late.
  static constexpr uint32_t kTooLate = 0xffffffffu;
  uint32_t waits = 0;    // edges that are still to come; of a Merge: control edges alone
  uint32_t dead = 0;     // dead ones that came
  int32_t live = kNone;  // of a Merge: the first live input

  // Of a Merge: whether any of its data inputs came.
  bool HasInput() const { return live != kNone || dead > 0; }
  // Whether the node is ready, or ran.
  bool HasBegun(NodeAction action) const {
    return waits == (action == NodeAction::kMerge ? kTooLate : 0);
  }
};

struct FrameProgram {
  std::string name;
  uint32_t parent = 0;
  uint32_t child = kNoIndex;  // which of the parent iteration's children it is
  int parallel_iterations = 1;
  uint64_t name_hash = 0;
  std::vector<Pending> pending;  // as an iteration starts
  uint32_t num_slots = 0;
  uint32_t num_children = 0;
  uint32_t num_enters = 0;           // that it waits for
  std::vector<uint32_t> invariants;  // Enters with is_constant, by NodeProgram::invariant
  std::vector<uint32_t> exits;       // by NodeProgram::exit
  // Those whose inputs or outputs are in it, in the program's order.
  std::vector<uint32_t> nodes;
};

struct FetchProgram {
  Output output;
  ValueSource source;
  bool may_move = true;  // the value itself may go to the caller
};

struct DynamicRequest {
  const PrunedGraph* graph = nullptr;
  const StepSignature* signature = nullptr;
  KernelCache* kernels = nullptr;
  DeviceMemory* memory = nullptr;  // of the device that will run it; null: it uses the host's
  const SessionSettings* settings = nullptr;
};

class DynamicProgram {
 public:
  // INVALID_ARGUMENT names the node: frames that are not well formed (FindFrames), no kernel, a
  // fetch or feed inside a loop.
  static StatusOr<std::unique_ptr<DynamicProgram>> Compile(const DynamicRequest& request);
  DynamicProgram() = default;
  ~DynamicProgram();  // REQUIRES: no step runs
  DynamicProgram(const DynamicProgram&) = delete;
  DynamicProgram& operator=(const DynamicProgram&) = delete;

  std::vector<FrameProgram> frames;  // 0 is the step itself
  std::vector<NodeProgram> nodes;
  std::vector<ValueSource> inputs;
  // On a device with its own memory; else empty.
  std::vector<WantedSpace> wanted;   // by input
  std::vector<bool> output_in_host;  // by output
  std::vector<OutputProgram> outputs;
  std::vector<WaitEdge> edges;
  std::vector<uint64_t> used_words;
  std::vector<Value> constants;
  std::vector<ResourceRef<Resource>> resources;  // that handles among the constants point to
  std::vector<FetchProgram> fetches;
  std::vector<uint32_t> ready_at_start;
  uint32_t num_feeds = 0;
  uint32_t most_inputs = 0;  // of one kernel
  uint32_t most_outputs = 0;
  DeviceMemory* memory = nullptr;  // of the device; null: it works in the host's
  const ResourceManager* resources_of_session = nullptr;
  bool deterministic = false;
  bool keeps_inputs = false;  // no kernel takes an input's memory over
  // Some node waits for what other threads do: the step needs a scheduler.
  bool may_wait = false;

  // How long each node's kernel took lately, in nanoseconds; 0: not known. By node; thread-safe.
  std::unique_ptr<std::atomic<uint32_t>[]> costs;

  // A step's state: one that an earlier step left, else a new one.
  std::unique_ptr<DynamicState> TakeState();
  // REQUIRES: the step went well, and every iteration was given back.
  void ReturnState(std::unique_ptr<DynamicState> state);

 private:
  static constexpr int kKeptStates = 4;
  std::atomic<DynamicState*> kept_[kKeptStates] = {};
};

}  // namespace millstream

#endif  // MILLSTREAM_CORE_DYNAMIC_PROGRAM_H_
