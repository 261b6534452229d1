// The record of a step, node by node. It is made only if the options of the run ask for it.
#ifndef MILLSTREAM_CORE_STEP_STEP_TRACE_H_
#define MILLSTREAM_CORE_STEP_STEP_TRACE_H_

#include <cstdint>
#include <deque>
#include <string>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "framework/dtype.h"
#include "framework/shape.h"

namespace millstream {

struct TracedOutput {
  int index = 0;
  DataType dtype = DataType::kInvalid;
  Shape shape;
  int64_t bytes = 0;
  bool allocated = false;  // memory of its own; false: planned memory, another's, or a constant's
};

// One execution of one node. Times are nanoseconds of the clock that StepTrace::Now reads.
struct TracedNode {
  std::string name;
  std::string op;
  std::vector<std::string> fused_ops;  // the ops of a fused node, in order
  std::vector<std::string> inputs;     // node names
  int64_t start = 0;
  int64_t end = 0;
  uint32_t thread = 0;        // numbered in the order in which threads were first traced
  std::string lane;           // the device's stream that ran it; empty: `thread` ran it
  uint32_t stream = 0;        // the number of that stream
  int64_t scratch_bytes = 0;  // memory that the kernel had while it ran
  std::vector<TracedOutput> outputs;
};

// The record of one part of the step. The thread that advances the part writes it.
struct TracedPart {
  std::string device;
  std::vector<TracedNode> nodes;
};

// A named range of a node's execution, or of the work of a device.
struct TracedRange {
  std::string node;    // the node; empty for the work of a device
  std::string device;  // empty: the device that runs the node
  std::string name;
  int64_t start = 0;
  int64_t end = 0;
  uint32_t lane = 0;  // thread, or the device's stream
  std::vector<std::pair<std::string, std::string>> args;
};

// Is told of the executions of a traced step, on the threads that make them.
class ExecutionListener {
 public:
  virtual ~ExecutionListener() = default;
  // `id` is not 0, and no other execution of the step has it.
  virtual void BeginExecution(uint64_t id) = 0;
  virtual void EndExecution() = 0;
};

// The record of one step. The driving thread calls AddPart and set_listener before the parts run,
// and the other members after they have ended. AddRange, BeginExecution, EndExecution and NodeOf
// are thread-safe.
class StepTrace {
 public:
  StepTrace();
  // Null: nobody.
  void set_listener(ExecutionListener* listener) { listener_ = listener; }

  // A kernel of `node` is about to be called on this thread, and has returned. What the thread
  // enqueues on devices between them belongs to the execution: its id is MS_Frame.correlation_id.
  uint64_t BeginExecution(const std::string& node) ABSL_LOCKS_EXCLUDED(executions_mutex_);
  void EndExecution();
  // Empty for an id that no execution has.
  std::string NodeOf(uint64_t id) const ABSL_LOCKS_EXCLUDED(executions_mutex_);
  TracedPart* AddPart(std::string device);
  const std::deque<TracedPart>& parts() const { return parts_; }

  void AddRange(TracedRange range) ABSL_LOCKS_EXCLUDED(ranges_mutex_);
  std::vector<TracedRange> ranges() const ABSL_LOCKS_EXCLUDED(ranges_mutex_);

  // The present time in nanoseconds of a monotonic clock.
  static int64_t Now();
  // The number of the calling thread.
  static uint32_t ThisThread();
  // `time` as nanoseconds since 1970.
  int64_t WallTime(int64_t time) const { return time + wall_minus_monotonic_; }

 private:
  std::deque<TracedPart> parts_;
  int64_t wall_minus_monotonic_;
  mutable absl::Mutex ranges_mutex_;
  std::vector<TracedRange> ranges_ ABSL_GUARDED_BY(ranges_mutex_);
  ExecutionListener* listener_ = nullptr;
  mutable absl::Mutex executions_mutex_;
  // By id, from 1 on.
  std::vector<std::string> executions_ ABSL_GUARDED_BY(executions_mutex_);
};

// The requested reports of a run, and their results.
struct StepReport {
  bool want_trace = false;
  bool want_partition_graphs = false;
  StepTrace trace;
  std::vector<std::string> partition_graphs;  // GraphDef bytes, one a device
};

}  // namespace millstream

#endif  // MILLSTREAM_CORE_STEP_STEP_TRACE_H_
