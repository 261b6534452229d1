// What a step did, node by node: recorded when the run's options ask for it, free when they do not.
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
  std::vector<std::string> fused_ops;  // what a node that stands for several does, in order
  std::vector<std::string> inputs;     // node names
  int64_t start = 0;
  int64_t end = 0;
  uint32_t thread = 0;        // of this process, numbered as threads were first traced
  std::string lane;           // the device's stream that ran it; empty: `thread` did
  uint32_t stream = 0;        // the number of that stream
  int64_t scratch_bytes = 0;  // memory that the kernel had while it ran
  std::vector<TracedOutput> outputs;
};

// What one part of the step did. Written by the thread that advances the part.
struct TracedPart {
  std::string device;
  std::vector<TracedNode> nodes;
};

// A named part of a node's execution, or what a device did.
struct TracedRange {
  std::string node;    // whose execution it is part of; empty for a device's
  std::string device;  // empty: the one that runs the node
  std::string name;
  int64_t start = 0;
  int64_t end = 0;
  uint32_t lane = 0;  // thread, or the device's stream
  std::vector<std::pair<std::string, std::string>> args;
};

// One step's record. AddPart is called by the driving thread before parts run; the rest when they
// have ended. AddRange is thread-safe.
class StepTrace {
 public:
  StepTrace();
  TracedPart* AddPart(std::string device);
  const std::deque<TracedPart>& parts() const { return parts_; }

  void AddRange(TracedRange range) ABSL_LOCKS_EXCLUDED(ranges_mutex_);
  std::vector<TracedRange> ranges() const ABSL_LOCKS_EXCLUDED(ranges_mutex_);

  // Monotonic.
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
};

// What a run is asked to report besides its fetches, and the report.
struct StepReport {
  bool want_trace = false;
  bool want_partition_graphs = false;
  StepTrace trace;
  std::vector<std::string> partition_graphs;  // GraphDef bytes, one a device
};

}  // namespace millstream

#endif  // MILLSTREAM_CORE_STEP_STEP_TRACE_H_
