// What the kernels of collective operations have in common.
#ifndef MILLSTREAM_CORE_STRUCTURAL_COLLECTIVE_KERNEL_H_
#define MILLSTREAM_CORE_STRUCTURAL_COLLECTIVE_KERNEL_H_

#include <string>

#include "core/resources/collectives.h"
#include "core/structural/host_kernel.h"
#include "core/structural/structural.h"
#include "framework/status.h"
#include "framework/tensor.h"

namespace millstream {

// The collective operations that the step of an execution takes part in.
StatusOr<ResourceRef<Collectives>> CollectivesOf(const StructuralFrame& frame);
// Reads the attributes merge_op and final_op of a reduction. INVALID_ARGUMENT if merge_op is none
// of Add, Mul, Max and Min.
Status ReadMergeAttrs(const HostKernelInfo& info, CollectiveSpec* spec);

// A kernel whose executions take part in operations of the device's group.
class CollectiveKernel : public AsyncHostKernel {
 public:
  Status Init(const HostKernelInfo& info) override {
    device_ = std::string(info.device_name());
    return ReadAttrs(info);
  }
  void ComputeAsync(StructuralFrame frame, HostExecution execution) final {
    const Status begun = Begin(frame, execution);
    if (!begun.ok()) execution.End(begun);
  }
  void Cancel(const StructuralFrame& frame, HostExecution execution) final {
    const auto collectives = CollectivesOf(frame);
    if (collectives.ok()) (*collectives)->Cancel(execution.id());
  }

 protected:
  virtual Status ReadAttrs(const HostKernelInfo& info) = 0;
  // Begins an execution, which it has not ended where it gives an error. The execution and the
  // kernel may have ended when it returns.
  virtual Status Begin(const StructuralFrame& frame, HostExecution execution) const = 0;
  // What the execution gives to the operation, whose other members may keep it for longer than the
  // memory of this one's device lives.
  static StatusOr<Tensor> Given(const StructuralFrame& frame);
  // Joins the operation, whose work threads of the execution share out.
  static void Join(const StructuralFrame& frame, Collectives* collectives,
                   const CollectiveSpec& spec, CollectiveMember member);
  const std::string& device() const { return device_; }

 private:
  std::string device_;
};

}  // namespace millstream

#endif  // MILLSTREAM_CORE_STRUCTURAL_COLLECTIVE_KERNEL_H_
