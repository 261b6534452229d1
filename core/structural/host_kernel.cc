#include "core/structural/host_kernel.h"

#include <utility>

#include "framework/plugin/host_interfaces.h"
#include "framework/plugin/host_status.h"
#include "framework/plugin/kernel_registry.h"

namespace millstream {
namespace {

// The argument `user` of the registry's functions; never destroyed.
struct Factory {
  HostKernelRegistration::Make make;
};

MS_Status* Create(void* user, const MS_KernelInfo* info, void** out_state) {
  std::unique_ptr<HostKernel> kernel = static_cast<const Factory*>(user)->make();
  const Status made = kernel->Init(HostKernelInfo(info));
  if (!made.ok()) return ToAbiStatus(made);
  *out_state = kernel.release();
  return nullptr;
}

void Destroy(void* state) { delete static_cast<HostKernel*>(state); }

template <typename Kernel>
Kernel* As(void* state) {
  return static_cast<Kernel*>(static_cast<HostKernel*>(state));
}

MS_Status* Compute(void* state, MS_Frame* frame) {
  StructuralFrame wrapped(frame);
  const Status status = As<SyncHostKernel>(state)->Compute(&wrapped);
  return status.ok() ? nullptr : ToAbiStatus(status);
}

void ComputeAsync(void* state, MS_Frame* frame, MS_Done* done) {
  As<AsyncHostKernel>(state)->ComputeAsync(StructuralFrame(frame), HostExecution(done));
}

void Cancel(void* state, MS_Frame* frame, MS_Done* done) {
  As<AsyncHostKernel>(state)->Cancel(StructuralFrame(frame), HostExecution(done));
}

std::string WaitsFor(void* state, MS_Frame* frame) {
  return As<AsyncHostKernel>(state)->WaitsFor(StructuralFrame(frame));
}

}  // namespace

void HostExecution::End(const Status& status) const {
  if (done_->called.exchange(true, std::memory_order_acq_rel)) {
    HostLog(MS_LOG_ERROR, "a host kernel ended one execution twice; the second end is ignored");
    return;
  }
  done_->complete(done_, status);
}

HostKernelRegistration::HostKernelRegistration(const char* op, bool is_async, Make make,
                                               const char* type_attr, DataType type) {
  KernelRegistration kernel;
  kernel.op = op;
  kernel.device_type = kAnyDevice;
  kernel.plugin = "core";
  kernel.user = new Factory{make};
  kernel.has_all_in_host = true;
  if (type_attr != nullptr) kernel.constraints.push_back({type_attr, {type}});
  kernel.create = &Create;
  kernel.destroy = &Destroy;
  if (is_async) {
    // Another node of the step may have to run before it ends.
    kernel.flags = MS_KERNEL_ASYNC | MS_KERNEL_BLOCKING;
    kernel.compute_async = &ComputeAsync;
    kernel.cancel = &Cancel;
    kernel.waits_for = &WaitsFor;
  } else {
    kernel.compute = &Compute;
  }
  AddStructuralKernel(std::move(kernel));
}

}  // namespace millstream
