// A session runs parts of a graph and keeps the state (variables) that they share.
#ifndef MILLSTREAM_CORE_SESSION_SESSION_H_
#define MILLSTREAM_CORE_SESSION_SESSION_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/types/span.h"
#include "core/device/arena.h"
#include "core/graph/graph.h"
#include "core/graph/step_signature.h"
#include "core/step/run_options.h"
#include "core/step/session_options.h"
#include "framework/status.h"
#include "framework/tensor.h"

namespace millstream {

class SessionGate;

// A step's signature, compiled. Thread-safe: many threads may run one callable at once. Must not
// outlive its session.
class Callable {
 public:
  virtual ~Callable() = default;
  // One step: feeds in the order of the signature, fetches likewise. A fed tensor is borrowed until
  // Run returns and never written; a fetched one is the caller's alone to write.
  virtual Status Run(absl::Span<const Tensor> feeds, absl::Span<Tensor> fetches,
                     const RunOptions& options) = 0;
  // Instructions that one step executes in the plan that ran last, for tests and benchmarks.
  virtual int64_t num_instructions() const = 0;
  // Where every node of the step runs and why, a line a node.
  virtual std::string placement_text() const = 0;
};

struct DeviceInfo {
  std::string name;          // "/job:localhost/replica:0/task:0/device:CPU:0"
  std::string type;          // "CPU"
  int64_t memory_limit = 0;  // bytes; 0: not known
  // Of a device with memory of its own: what of it this session has.
  bool has_memory = false;
  ArenaStats memory;
};

// Thread-safe.
class Session {
 public:
  // `graph` must outlive the session. Loads the installed plugins.
  static StatusOr<std::unique_ptr<Session>> Create(Graph* graph, const SessionOptions& options);
  virtual ~Session() = default;

  // One step. The compiled form is kept by signature: of the last 1,024, and of those that
  // callables hold.
  virtual Status Run(const StepSignature& signature, absl::Span<const Tensor> feeds,
                     absl::Span<Tensor> fetches, const RunOptions& options) = 0;
  virtual StatusOr<std::unique_ptr<Callable>> MakeCallable(const StepSignature& signature) = 0;
  virtual std::vector<DeviceInfo> ListDevices() const = 0;
  // Cancels the running steps and waits until they have ended, then frees the state and gives the
  // process's unused memory back to the system; later runs give FAILED_PRECONDITION. From inside
  // one of the steps (a signal handler) it returns at once, and the last step frees the state as it
  // ends. In a child that was forked from the session's process it does nothing.
  virtual Status Close() = 0;
  // Gives back to the system what is only kept so that further steps are fast: memory of steps,
  // compiled steps that no callable holds, of every device what is unused, and the unused memory of
  // the whole process. Variables stay, and running steps are not disturbed; the next step of a
  // signature is compiled again. FAILED_PRECONDITION when the session is closed.
  virtual Status Trim() = 0;
  // Drops the resources of these containers, all when there are none named; the session stays.
  // Steps that run finish with what they hold; a variable has no value afterwards.
  virtual Status ResetContainers(absl::Span<const std::string> containers) = 0;
  // Drops the resources of these containers in every session of the process, and closes the
  // sessions. Waits for no step.
  static Status ResetAll(absl::Span<const std::string> containers);
  // Closes and deletes. May be called from inside a step, unlike the destructor: the session goes
  // when the last of its steps has ended.
  static void Free(std::unique_ptr<Session> session);

 protected:
  virtual SessionGate* gate() = 0;
};

}  // namespace millstream

#endif  // MILLSTREAM_CORE_SESSION_SESSION_H_
