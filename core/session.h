// A session runs parts of a graph and keeps the state (variables) that they share.
#ifndef MILLSTREAM_CORE_SESSION_H_
#define MILLSTREAM_CORE_SESSION_H_

#include <atomic>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/types/span.h"
#include "core/cancel_listeners.h"
#include "core/device_memory/arena.h"
#include "core/graph.h"
#include "core/step_trace.h"
#include "framework/forbidden_ops.h"
#include "framework/status.h"
#include "framework/tensor.h"

namespace millstream {

class SessionGate;

struct SessionOptions {
  int intra_op_threads = 0;  // inside one kernel; 0: what affinity and cgroups allow
  // Parts of one step that may run at the same time; 0: one, on the caller's thread, which leaves
  // the cores to the kernels.
  int inter_op_threads = 0;
  std::map<std::string, int> device_count;  // logical devices by type, "CPU"; absent: what there is
  bool optimize = true;                     // false: the graph runs as written, node by node
  std::vector<std::string> disabled_passes;  // those of OptimizationNames that are off
  // Results are the same bits for any number of threads, and for any of logical CPUs.
  bool deterministic = false;
  // Steps fail at the first node that makes NaN or an infinity of inputs without; see
  // core/numeric_checks.h.
  bool check_numerics = false;
  std::string check_numerics_folder;  // where inputs are saved; empty: nowhere
  bool allow_soft_placement = false;
  bool log_device_placement = false;
  // Above 0: what requests leave open is placed by costs (core/placer_costs.h), and again every so
  // many steps, as long as that makes them shorter.
  int placement_period = 0;
  int64_t build_cost_model = 1;      // how many of these are measured, the last ones; at least one
  int64_t operation_timeout_ms = 0;  // 0: none
  // How long a step that is to end, or Close, waits for kernels that do not heed it before a
  // warning in the log names them; it goes on waiting. A step warns only while its own thread is in
  // none.
  int64_t late_kernel_warning_ms = 10000;
  ForbiddenOps forbidden_ops;  // a step that has one of them is not built
};

// Stops a running step from another thread. Thread-safe.
class Cancellation {
 public:
  void Cancel() {
    cancelled_.store(true, std::memory_order_release);
    listeners_.Fire();
  }
  bool IsCancelled() const { return cancelled_.load(std::memory_order_acquire); }
  // Who wants to be told.
  CancelListeners* listeners() const { return &listeners_; }

 private:
  std::atomic<bool> cancelled_{false};
  mutable CancelListeners listeners_;
};

// What one Run may be told besides its signature.
struct RunOptions {
  StepReport* report = nullptr;  // what is asked of it is filled in, also when the step fails
  const Cancellation* cancellation = nullptr;
  const Cancellation* closing = nullptr;  // of the session, which sets it
  int64_t timeout_ms = 0;                 // 0: the session's
  // Called now and then on the running thread; true stops the step (Ctrl-C of a front end).
  bool (*should_stop)(void* argument) = nullptr;
  void* should_stop_argument = nullptr;
};

// Which tensors a step is given, which it gives back, and which nodes it runs besides.
struct StepSignature {
  std::vector<Output> feeds;
  std::vector<Output> fetches;
  std::vector<const Node*> targets;

  friend bool operator==(const StepSignature& a, const StepSignature& b) {
    return a.feeds == b.feeds && a.fetches == b.fetches && a.targets == b.targets;
  }
  template <typename H>
  friend H AbslHashValue(H h, const StepSignature& signature) {
    return H::combine(std::move(h), signature.feeds, signature.fetches, signature.targets);
  }
};

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

#endif  // MILLSTREAM_CORE_SESSION_H_
