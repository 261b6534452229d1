// Mutexes, which one step holds at a time. A kernel that must wait does so in the StepMutex. The
// lock is a tensor: it is released when it is consumed, or when a step ends that has not done so.
#include <atomic>
#include <memory>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "core/resources/resource_handle.h"
#include "core/resources/step_mutex.h"
#include "core/structural/host_kernel.h"
#include "core/structural/structural.h"
#include "framework/opaque_cell.h"

namespace millstream {
namespace {

// A lock that is held, until Release or until nobody has the object any more.
class HeldLock final : public OpaqueObject {
 public:
  explicit HeldLock(ResourceRef<StepMutex> mutex) : mutex_(std::move(mutex)) {}
  ~HeldLock() override { Release(); }
  HeldLock(const HeldLock&) = delete;
  HeldLock& operator=(const HeldLock&) = delete;
  std::string DebugString() const override {
    return absl::StrCat("lock of mutex '", mutex_->name(), "'");
  }
  // False if it was released before.
  bool Release() {
    if (is_released_.exchange(true)) return false;
    mutex_->Unlock();
    return true;
  }

 private:
  const ResourceRef<StepMutex> mutex_;
  std::atomic<bool> is_released_{false};
};

StatusOr<ResourceRef<Resource>> FindMutex(const Node& node, ResourceManager* resources) {
  MS_ASSIGN_OR_RETURN(const ResourceName name, ResourceNameOf(node));
  MS_ASSIGN_OR_RETURN(ResourceRef<StepMutex> mutex,
                      resources->LookupOrCreate<StepMutex>(
                          name.container, name.name, [&]() -> StatusOr<ResourceRef<StepMutex>> {
                            return MakeResource<StepMutex>(name.name);
                          }));
  return ResourceRef<Resource>(std::move(mutex));
}

// Of input 0.
StatusOr<StepMutex*> MutexOf(const StructuralFrame& frame) {
  auto* const mutex = ResourceAs<StepMutex>(frame.handle(0));
  if (mutex != nullptr) return mutex;
  return errors::InvalidArgument("argument 'mutex' is no handle of a mutex");
}

Status SetLock(StructuralFrame frame, std::shared_ptr<HeldLock> lock) {
  MS_ASSIGN_OR_RETURN(const Tensor output, frame.AllocateOutput(0, Shape()));
  *output.data<OpaqueCell>() = std::move(lock);
  return absl::OkStatus();
}

class MutexLockKernel final : public AsyncHostKernel {
 public:
  void ComputeAsync(StructuralFrame frame, HostExecution execution) override {
    const StatusOr<StepMutex*> found = MutexOf(frame);
    if (!found.ok()) return execution.End(found.status());
    const auto mutex = ResourceRef<StepMutex>::Share(*found);
    mutex->Lock(execution.id(), [mutex, frame, execution](const Status& status) {
      execution.End(status.ok() ? SetLock(frame, std::make_shared<HeldLock>(mutex)) : status);
    });
  }
  void Cancel(const StructuralFrame& frame, HostExecution execution) override {
    const StatusOr<StepMutex*> mutex = MutexOf(frame);
    if (mutex.ok()) (*mutex)->Cancel(execution.id());
  }
  std::string WaitsFor(const StructuralFrame& frame) const override {
    const StatusOr<StepMutex*> mutex = MutexOf(frame);
    return mutex.ok() ? absl::StrCat("mutex '", (*mutex)->name(), "'") : "";
  }
};

Status ConsumeMutexLock(StructuralFrame* frame) {
  const Tensor input = frame->BorrowInput(0);
  if (input.num_elements() == 1) {
    auto* const lock = dynamic_cast<HeldLock*>(input.data<OpaqueCell>()->get());
    if (lock != nullptr && lock->Release()) return absl::OkStatus();
    if (lock != nullptr) {
      return errors::InvalidArgument("argument 'mutex_lock': the ", lock->DebugString(),
                                     " was consumed before");
    }
  }
  return errors::InvalidArgument("argument 'mutex_lock' must be what MutexLock gives");
}

MILLSTREAM_RESOURCE_HANDLE("MutexV2", FindMutex);
MILLSTREAM_STRUCTURAL("MutexV2", StructuralRole::kHandle, nullptr);
MILLSTREAM_HOST_KERNEL("MutexLock", MutexLockKernel);
MILLSTREAM_HOST_KERNEL("ConsumeMutexLock", HostFunction<&ConsumeMutexLock>);

}  // namespace
}  // namespace millstream
