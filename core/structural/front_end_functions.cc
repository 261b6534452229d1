// PyFunc and PyFuncStateless, which call functions of the front end.
//
// A function runs on a thread of its own, so it may block, run steps and start threads. When the
// step stops, the execution ends at once. The function itself cannot be stopped: it goes on, and
// what it gives is dropped. So either the function's thread or Cancel ends an execution;
// OpenExecutions decides which.
#include <unistd.h>

#include <cstdlib>
#include <memory>
#include <string>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/container/flat_hash_map.h"
#include "absl/strings/str_cat.h"
#include "absl/synchronization/mutex.h"
#include "core/host/front_end_function.h"
#include "core/step/worker_pool.h"
#include "core/structural/host_kernel.h"
#include "core/structural/structural.h"
#include "framework/plugin/host_interfaces.h"

namespace millstream {
namespace {

// The executions of one kernel that have not ended. Functions that run on after their execution
// share it with the kernel. Thread-safe.
class OpenExecutions {
 public:
  // `call`: differs from those of all functions that still run.
  void Add(HostExecution execution, const void* call) ABSL_LOCKS_EXCLUDED(mutex_) {
    absl::MutexLock lock(&mutex_);
    calls_[execution.id()] = call;
  }
  // True if the caller is to end the execution. An id may be used again while a function that has
  // lost its execution still runs.
  bool Take(HostExecution execution, const void* call) ABSL_LOCKS_EXCLUDED(mutex_) {
    absl::MutexLock lock(&mutex_);
    const auto found = calls_.find(execution.id());
    if (found == calls_.end() || found->second != call) return false;
    calls_.erase(found);
    return true;
  }
  bool TakeAny(HostExecution execution) ABSL_LOCKS_EXCLUDED(mutex_) {
    absl::MutexLock lock(&mutex_);
    return calls_.erase(execution.id()) > 0;
  }

 private:
  absl::Mutex mutex_;
  absl::flat_hash_map<const void*, const void*> calls_ ABSL_GUARDED_BY(mutex_);  // by execution
};

// A function that runs, with all that its thread uses.
struct RunningFunction {
  std::shared_ptr<OpenExecutions> open;
  StructuralFrame frame;  // of the execution; not used after it has ended
  HostExecution execution;
  std::string node;
  FrontEndCall call;
};

Status CheckResults(const FrontEndCall& call, const DataTypeList& types) {
  if (call.results.size() != types.size()) {
    return errors::InvalidArgument(call.token, " returns ", call.results.size(),
                                   " values, but expects to see ", types.size(), " values.");
  }
  for (size_t i = 0; i < types.size(); ++i) {
    if (call.results[i].dtype() == types[i]) continue;
    return errors::InvalidArgument(i, "-th value returned by ", call.token, " is ",
                                   DataTypeName(call.results[i].dtype()), ", but expects ",
                                   DataTypeName(types[i]));
  }
  return absl::OkStatus();
}

Status SetResults(const FrontEndCall& call, StructuralFrame frame) {
  MS_RETURN_IF_ERROR(CheckResults(call, frame.call().signature->output_types));
  for (uint32_t i = 0; i < call.results.size(); ++i) {
    MS_RETURN_IF_ERROR(frame.SetOutput(i, call.results[i]));
  }
  return absl::OkStatus();
}

// In the child there is nobody to give the result to.
[[noreturn]] void EndChild(const std::string& node, const Status& status) {
  HostLog(MS_LOG_ERROR,
          absl::StrCat("node '", node, "': its function forked the process and ",
                       status.ok() ? "returned" : "failed",
                       " in the child, which ends here; a child must end itself, for example by "
                       "os._exit",
                       status.ok() ? "" : ": ", status.message()));
  _exit(EXIT_FAILURE);
}

void Run(void* argument) {
  const std::unique_ptr<RunningFunction> running(static_cast<RunningFunction*>(argument));
  const pid_t process = getpid();
  const Status status = CallFrontEnd(&running->call);
  if (getpid() != process) EndChild(running->node, status);
  if (!running->open->Take(running->execution, running.get())) return;
  running->execution.End(status.ok() ? SetResults(running->call, running->frame) : status);
}

class FunctionKernel final : public AsyncHostKernel {
 public:
  Status Init(const HostKernelInfo& info) override {
    MS_ASSIGN_OR_RETURN(token_, info.Attr<std::string>("token"));
    node_ = std::string(info.node_name());
    return absl::OkStatus();
  }
  void ComputeAsync(StructuralFrame frame, HostExecution execution) override {
    const Status begun = Begin(frame, execution);
    if (!begun.ok()) execution.End(begun);
  }
  void Cancel(const StructuralFrame&, HostExecution execution) override {
    if (!open_->TakeAny(execution)) return;
    execution.End(errors::Cancelled("the step stopped while function '", token_, "' was running"));
  }
  std::string WaitsFor(const StructuralFrame&) const override {
    return absl::StrCat("function '", token_, "'");
  }

 private:
  // After an error the execution has not ended.
  Status Begin(const StructuralFrame& frame, HostExecution execution) {
    auto running =
        std::make_unique<RunningFunction>(RunningFunction{open_, frame, execution, node_, {}});
    running->call.token = token_;
    for (uint32_t i = 0; i < frame.num_inputs(); ++i) {
      MS_ASSIGN_OR_RETURN(Tensor argument, frame.BorrowInput(i).DeepCopy());
      running->call.arguments.push_back(std::move(argument));
    }
    open_->Add(execution, running.get());
    if (WorkerPool::Global()->RunBlocking(&Run, running.get())) {
      running.release();  // Run owns it
      return absl::OkStatus();
    }
    open_->TakeAny(execution);
    return errors::ResourceExhausted("the system provides no thread for function '", token_, "'");
  }

  const std::shared_ptr<OpenExecutions> open_ = std::make_shared<OpenExecutions>();
  std::string token_;
  std::string node_;
};

MILLSTREAM_HOST_KERNEL("PyFunc", FunctionKernel);
MILLSTREAM_HOST_KERNEL("PyFuncStateless", FunctionKernel);

}  // namespace
}  // namespace millstream
