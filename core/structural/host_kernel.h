// Host kernels: structural ops whose kernel is an object. There is one object for each node and
// session. It reads the node's attributes and may keep state between steps. All its tensors are in
// host memory.
//
//   class Count final : public SyncHostKernel {
//    public:
//     Status Compute(StructuralFrame* frame) override { ... }
//   };
//   MILLSTREAM_HOST_KERNEL("Count", Count);
//
// A kernel that waits for an event outside of its step is an AsyncHostKernel. It holds no thread
// while it waits.
#ifndef MILLSTREAM_CORE_STRUCTURAL_HOST_KERNEL_H_
#define MILLSTREAM_CORE_STRUCTURAL_HOST_KERNEL_H_

#include <memory>
#include <string>
#include <type_traits>

#include "absl/strings/string_view.h"
#include "core/step/step_context.h"
#include "core/structural/structural.h"
#include "framework/attr_value.h"
#include "framework/dtype.h"
#include "framework/op_call.h"
#include "framework/plugin/kernel_info.h"
#include "framework/status.h"

namespace millstream {

// The call that a kernel is made for. Valid while Init runs.
class HostKernelInfo {
 public:
  explicit HostKernelInfo(const MS_KernelInfo* info) : info_(info) {}
  const OpCall& call() const { return info_->call; }
  absl::string_view op() const { return info_->call.op->name; }
  absl::string_view node_name() const { return info_->call.name; }
  absl::string_view device_name() const { return info_->device_name; }
  template <typename T>
  StatusOr<T> Attr(absl::string_view name) const {
    return info_->call.Attr<T>(name);
  }

 private:
  const MS_KernelInfo* const info_;
};

// The base of both kinds of host kernels. Steps call one object from several threads at the same
// time.
class HostKernel {
 public:
  HostKernel() = default;
  virtual ~HostKernel() = default;
  HostKernel(const HostKernel&) = delete;
  HostKernel& operator=(const HostKernel&) = delete;
  // Reads the attributes, once, before the first execution. An error ends the step that needs the
  // kernel; the runtime adds the node to it.
  virtual Status Init(const HostKernelInfo&) { return absl::OkStatus(); }
};

// A kernel whose work is complete when Compute returns.
class SyncHostKernel : public HostKernel {
 public:
  // Reads the inputs of `frame` and sets its outputs.
  virtual Status Compute(StructuralFrame* frame) = 0;
};

// Identifies one execution of an AsyncHostKernel, to end or cancel it. A copyable value.
class HostExecution {
 public:
  explicit HostExecution(MS_Done* done) : done_(done) {}
  // Ends the execution. Any thread may call it, once, after the outputs are set. Neither the
  // execution nor its frame may be used afterwards. REQUIRES: the caller holds no lock that
  // WaitsFor or Cancel takes.
  void End(const Status& status) const;
  // Differs from the ids of all other executions that have not ended.
  const void* id() const { return done_; }
  friend bool operator==(HostExecution a, HostExecution b) { return a.done_ == b.done_; }

 private:
  MS_Done* done_;
};

// A kernel that may end after ComputeAsync has returned. Such a node runs on the dynamic executor,
// and the other nodes of the step continue.
class AsyncHostKernel : public HostKernel {
 public:
  // Begins an execution and does not block. The kernel must call `execution.End` once, here or
  // later. `frame` may be copied, and is valid until that call.
  virtual void ComputeAsync(StructuralFrame frame, HostExecution execution) = 0;
  // Called when the step stops: the execution must end as soon as possible, with an error. Does
  // nothing for an execution that has ended or is ending. A thread that runs the step calls it, at
  // most once for an execution, after ComputeAsync.
  virtual void Cancel(const StructuralFrame& frame, HostExecution execution) = 0;
  // Describes what an execution with this frame waits for ("an element of queue 'q'"), for messages
  // about a step that does not end; empty: not known. Called before ComputeAsync, and then any
  // number of times until the step has taken the result: by any thread, also while another one is
  // in Cancel or End for the same execution, or in any function for another one. The answer is that
  // of the moment. The kernel may read what Init has set, the inputs of the frame, and what locks
  // guard. It must not block: the step stands still meanwhile. For its locks, see End.
  virtual std::string WaitsFor(const StructuralFrame& frame) const = 0;
};

// A kernel that is a function and has neither attributes nor state.
template <Status (*function)(StructuralFrame* frame)>
class HostFunction final : public SyncHostKernel {
 public:
  Status Compute(StructuralFrame* frame) override { return function(frame); }
};

// Registers at start-up.
class HostKernelRegistration {
 public:
  using Make = std::unique_ptr<HostKernel> (*)();
  // For nodes whose attribute `type_attr` is `type`; null: for all nodes.
  HostKernelRegistration(const char* op, bool is_async, Make make, const char* type_attr,
                         DataType type);
  template <typename Kernel>
  static HostKernelRegistration Of(const char* op, const char* type_attr = nullptr,
                                   DataType type = DataType::kInvalid) {
    constexpr bool kIsAsync = std::is_base_of_v<AsyncHostKernel, Kernel>;
    static_assert(kIsAsync != std::is_base_of_v<SyncHostKernel, Kernel>,
                  "derive from SyncHostKernel or AsyncHostKernel");
    return HostKernelRegistration(
        op, kIsAsync, []() -> std::unique_ptr<HostKernel> { return std::make_unique<Kernel>(); },
        type_attr, type);
  }
};

}  // namespace millstream

#define MILLSTREAM_HOST_KERNEL(op, Kernel)                                \
  static const ::millstream::HostKernelRegistration MS_STRUCTURAL_CONCAT( \
      host_kernel_, __COUNTER__) = ::millstream::HostKernelRegistration::Of<Kernel>(op)
// The same for nodes whose attribute `attr` is the DataType `type`. Plugins have the kernels for
// other types.
#define MILLSTREAM_HOST_KERNEL_OF_TYPE(op, attr, type, Kernel)                          \
  static const ::millstream::HostKernelRegistration MS_STRUCTURAL_CONCAT(host_kernel_,  \
                                                                         __COUNTER__) = \
      ::millstream::HostKernelRegistration::Of<Kernel>(op, attr, type)

#endif  // MILLSTREAM_CORE_STRUCTURAL_HOST_KERNEL_H_
