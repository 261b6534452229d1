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

// A compiled step signature. Thread-safe: several threads may run one callable at the same time. It
// must not outlive its session.
class Callable {
 public:
  virtual ~Callable() = default;
  // Runs one step. Feeds and fetches are in the order of the signature. Run borrows the fed tensors
  // until it returns, and does not write to them. The caller owns the fetched tensors. Errors are
  // those of Session::Run.
  virtual Status Run(absl::Span<const Tensor> feeds, absl::Span<Tensor> fetches,
                     const RunOptions& options) = 0;
  // Instructions that one step executes in the plan that ran last, for tests and benchmarks.
  virtual int64_t num_instructions() const = 0;
  // The device of every node of the step, and the reason, one node a line.
  virtual std::string placement_text() const = 0;
};

struct DeviceInfo {
  std::string name;          // "/job:localhost/replica:0/task:0/device:CPU:0"
  std::string type;          // "CPU"
  int64_t memory_limit = 0;  // bytes; 0: not known
  // For a device with memory of its own: true, and the memory that this session has of it.
  bool has_memory = false;
  ArenaStats memory;
};

// Thread-safe.
class Session {
 public:
  // Loads the installed plugins and registers what every session needs. Create does so itself.
  // FAILED_PRECONDITION in a forked child.
  static Status PrepareProcess();
  // Loads the installed plugins and creates a session. INVALID_ARGUMENT for wrong options;
  // FAILED_PRECONDITION in a forked child. REQUIRES: `graph` outlives the session.
  static StatusOr<std::unique_ptr<Session>> Create(Graph* graph, const SessionOptions& options);
  virtual ~Session() = default;

  // Runs one step. The session keeps the compiled steps of the last 1,024 signatures and those that
  // callables hold. Errors name the node. INVALID_ARGUMENT for a signature or feeds that do not fit
  // the graph; CANCELLED; DEADLINE_EXCEEDED after the time limit; FAILED_PRECONDITION if the
  // session is closed; and the errors of kernels. After an error `fetches` are unspecified.
  virtual Status Run(const StepSignature& signature, absl::Span<const Tensor> feeds,
                     absl::Span<Tensor> fetches, const RunOptions& options) = 0;
  // Prepares a step that runs many times: Callable::Run saves the search for the compiled step.
  // INVALID_ARGUMENT for a signature that does not fit the graph; FAILED_PRECONDITION if the
  // session is closed; and the errors of placement. REQUIRES: the session outlives the callable.
  virtual StatusOr<std::unique_ptr<Callable>> MakeCallable(const StepSignature& signature) = 0;
  // The devices of the session. The memory statistics are those of the moment.
  virtual std::vector<DeviceInfo> ListDevices() const = 0;
  // Cancels the running steps and waits until they have ended. Then frees the state and returns the
  // process's unused memory to the system. Later runs return FAILED_PRECONDITION. If a step of the
  // session calls it (in a signal handler), it returns at once, and the last step frees the state
  // when it ends. In a child that was forked from the session's process it does nothing.
  virtual Status Close() = 0;
  // Releases caches: the memory of ended steps, compiled steps that no callable holds, and unused
  // memory of devices and of the process. Variables stay, and running steps continue. The next step
  // of a signature is compiled again. FAILED_PRECONDITION if the session is closed.
  virtual Status Trim() = 0;
  // Removes the resources of the named containers, or of all containers if none is named. The
  // session stays open. Running steps continue with the resources that they hold. Variables are
  // uninitialized afterwards.
  virtual Status ResetContainers(absl::Span<const std::string> containers) = 0;
  // Removes the resources of these containers in every session of the process, and closes the
  // sessions. Does not wait for running steps.
  static Status ResetAll(absl::Span<const std::string> containers);
  // Closes and deletes the session. Unlike the destructor, it may be called from inside a step:
  // then the session is deleted when its last step has ended.
  static void Free(std::unique_ptr<Session> session);

 protected:
  virtual SessionGate* gate() = 0;
};

}  // namespace millstream

#endif  // MILLSTREAM_CORE_SESSION_SESSION_H_
