// A kernel's run in the thread of the host that computes it, when the stream is idle.
#ifndef MILLSTREAM_DEVICE_PLUGINS_SIM_AWAITED_EXECUTION_H_
#define MILLSTREAM_DEVICE_PLUGINS_SIM_AWAITED_EXECUTION_H_

#include <cstdint>

#include "device_plugins/sim/device.h"
#include "device_plugins/sim/kernel_host.h"

namespace millstream::sim {

// The real host answers everything, and what it says of device memory is turned into where that
// memory can be touched. REQUIRES: nothing that was enqueued before is left to do.
class AwaitedExecution : public KernelHost {
 public:
  // `frame` is the real host's.
  explicit AwaitedExecution(MS_Frame* frame);

  ms::Status AllocateOutput(uint32_t index, MS_Dims dims, MS_TensorView* out) override;
  ms::Status ForwardOrAllocate(const uint32_t* candidates, uint32_t n, uint32_t index, MS_Dims dims,
                               MS_TensorView* out, int32_t* which) override;
  ms::Status SetOutput(uint32_t index, MS_Tensor* tensor) override;
  ms::Status CheckCancelled() override;
  ms::Status ReserveRandom(uint64_t blocks, uint64_t* key, uint64_t counter[2]) override;
  ms::Status LockVariables(const uint32_t* inputs, const uint32_t* modes, uint32_t n,
                           MS_LockSet** out) override;
  ms::Status ViewVariable(MS_LockSet* locks, uint32_t k, MS_TensorView* out) override;
  ms::Status PrepareVariable(MS_LockSet* locks, uint32_t k, MS_TensorView* out) override;
  ms::Status ReplaceVariable(MS_LockSet* locks, uint32_t k, MS_Tensor* tensor) override;
  void UnlockVariables(MS_LockSet* locks) override;

 private:
  // What lies in host memory stays as it is.
  MS_TensorView Touchable(const MS_TensorView& view);
  ms::Status Await();

  MS_Frame* const real_frame_;
  const Memory& memory_;
};

}  // namespace millstream::sim

#endif  // MILLSTREAM_DEVICE_PLUGINS_SIM_AWAITED_EXECUTION_H_
