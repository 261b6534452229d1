// The host that plugins under test see: the runtime's own handshake and tables where those only
// read, and tables over plain memory for what kernels do while they run. It counts what it gives
// out, and fails on purpose.
#ifndef MILLSTREAM_FRAMEWORK_PLUGIN_CHECK_CHECK_HOST_H_
#define MILLSTREAM_FRAMEWORK_PLUGIN_CHECK_CHECK_HOST_H_

#include <array>
#include <atomic>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "framework/op_def.h"
#include "framework/plugin/check/check_session.h"
#include "framework/plugin/check/frame_copy.h"
#include "framework/plugin/check/memory_block.h"
#include "framework/plugin/host_tensor.h"
#include "framework/plugin/plugin.h"
#include "framework/status.h"

namespace millstream::plugin_check {

// What entry points are called with; static.
const MS_HostBase* CheckHost();

// Statuses that a plugin has made or been given, and not yet returned or freed.
size_t LiveStatuses();
// What a plugin function returned.
Status Take(MS_Status* status);
// A status for a plugin, counted.
MS_Status* Give(const Status& status);

// While an object lives, the statuses that this thread makes are not counted: the runtime's own
// code takes them.
class UncountedStatuses {
 public:
  UncountedStatuses();
  UncountedStatuses(const UncountedStatuses&) = delete;
  UncountedStatuses& operator=(const UncountedStatuses&) = delete;
  ~UncountedStatuses();
};

// The n-th registration from now on, counted from 1, fails with RESOURCE_EXHAUSTED; 0: none. Gives
// how many are left until the one that was to fail before: 0 when it did.
int FailRegistration(int n);

// A variable as the kit keeps it: null `value` when it was never assigned.
struct CheckVariable {
  std::string name;
  DataType dtype = DataType::kInvalid;
  std::unique_ptr<PlacedTensor> value;
};

}  // namespace millstream::plugin_check

// The host's own types, which plugin.h leaves open.

// One execution.
struct MS_Ctx {
  using PlacedTensor = millstream::plugin_check::PlacedTensor;
  // A function that the plugin gave, and what it is called with.
  struct Call {
    void (*fn)(void* user);
    void* user;
  };

  // Given.
  const millstream::OpDef* op = nullptr;
  const millstream::NodeSignature* signature = nullptr;
  millstream::plugin_check::CheckSession* session = nullptr;
  uint64_t step_id = 0;
  bool is_cancelled = false;  // the step is stopping
  bool is_traced = false;
  uint32_t threads = 1;
  bool may_forward = false;
  uint8_t fill = 0;
  int fail_allocation = 0;                // the n-th allocation fails; 0: none
  millstream::plugin_check::Place place;  // of outputs and temporaries
  std::vector<bool> output_on_host;       // and of these outputs
  std::vector<MS_DType> output_dtypes;
  std::vector<PlacedTensor*> inputs;                                // null for variables
  std::vector<millstream::plugin_check::CheckVariable*> variables;  // null for other inputs
  uint64_t philox_key = 0;
  std::array<uint64_t, 2> philox_counter{};

  std::unique_ptr<millstream::plugin_check::FrameCopy>
      frame;  // as the kernel got it; null: it is gone

  // Found.
  std::mutex mutex;
  std::vector<std::unique_ptr<PlacedTensor>> outputs;
  std::vector<int> taken_inputs;  // of each output: the input it lies over, or -1
  std::deque<std::unique_ptr<PlacedTensor>> temporaries;
  std::map<uint64_t, Call> cancel_calls;  // by token: registered, and not called
  std::vector<Call> deferred;
  std::map<std::thread::id, std::vector<std::string>> open_parts;  // of a trace, by thread
  bool has_wrapped = false;  // the kernel gave memory of its own
  int allocations = 0;
  int held_lock_sets = 0;
  std::vector<std::shared_ptr<MS_LockSet>> lock_sets;  // all, those that are unlocked included
};

// One asynchronous completion.
struct MS_Done {
  explicit MS_Done(MS_Ctx* execution) : ctx(execution) {}

  MS_Ctx* const ctx;
  std::mutex mutex;
  int calls = 0;
  absl::Status status;
};

#endif  // MILLSTREAM_FRAMEWORK_PLUGIN_CHECK_CHECK_HOST_H_
