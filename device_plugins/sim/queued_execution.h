// A kernel's run in a stream's thread, after its compute has returned to the host.
#ifndef MILLSTREAM_DEVICE_PLUGINS_SIM_QUEUED_EXECUTION_H_
#define MILLSTREAM_DEVICE_PLUGINS_SIM_QUEUED_EXECUTION_H_

#include <cstdint>

#include "device_plugins/sim/kernel_host.h"
#include "device_plugins/sim/preparation.h"

namespace millstream::sim {

// Holds all that the run needs, by value: where inputs, outputs, scratch and variables are in the
// device's memory, copies of host arguments, and what the kernel was granted. The real host is not
// asked any more.
class QueuedExecution : public KernelHost {
 public:
  // `frame` has all outputs that are used.
  QueuedExecution(const MS_Frame& frame, Granted granted);

  ms::Status AllocateOutput(uint32_t index, MS_Dims dims, MS_TensorView* out) override;
  ms::Status ForwardOrAllocate(const uint32_t* candidates, uint32_t n, uint32_t index, MS_Dims dims,
                               MS_TensorView* out, int32_t* which) override;
  ms::Status SetOutput(uint32_t index, MS_Tensor* tensor) override;
  ms::Status CheckCancelled() override { return ms::Status(); }
  ms::Status ReserveRandom(uint64_t blocks, uint64_t* key, uint64_t counter[2]) override;
  ms::Status LockVariables(const uint32_t* inputs, const uint32_t* modes, uint32_t n,
                           MS_LockSet** out) override;
  ms::Status ViewVariable(MS_LockSet* locks, uint32_t k, MS_TensorView* out) override;
  ms::Status PrepareVariable(MS_LockSet* locks, uint32_t k, MS_TensorView* out) override;
  ms::Status ReplaceVariable(MS_LockSet* locks, uint32_t k, MS_Tensor* tensor) override;
  void UnlockVariables(MS_LockSet*) override {}

 private:
  MS_TensorView Captured(const Memory& memory, const MS_TensorView& view);

  Granted granted_;
  size_t next_random_ = 0;
};

}  // namespace millstream::sim

#endif  // MILLSTREAM_DEVICE_PLUGINS_SIM_QUEUED_EXECUTION_H_
