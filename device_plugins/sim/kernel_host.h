// What kernels of simulated devices have for a host.
//
// The kernels are those of //kernels, which know nothing of streams. They call the host by the
// tables of plugin.hpp, which here lead to whoever runs the kernel: to a KernelHost that the
// thread has entered, and to the real host otherwise.
#ifndef MILLSTREAM_DEVICE_PLUGINS_SIM_KERNEL_HOST_H_
#define MILLSTREAM_DEVICE_PLUGINS_SIM_KERNEL_HOST_H_

#include <cstdint>
#include <deque>
#include <memory>
#include <vector>

#include "device_plugins/sim/memory.h"
#include "framework/plugin/plugin.hpp"

namespace millstream::sim {

// Puts the tables that ask the KernelHost first into ms::host_tables, where those of the real host
// are; does nothing when they are there. REQUIRES: no kernel is running.
void InterposeHostTables();
// What ms::host_tables was before.
const ms::HostTables& RealHost();

// One execution of one kernel, in one thread: it has one thread at any time. The functions are
// those of ms.ctx/1 and ms.resource/1.
class KernelHost {
 public:
  // A copy of what `frame` says, for derived classes to point at other memory.
  explicit KernelHost(const MS_Frame& frame);
  virtual ~KernelHost() = default;
  KernelHost(const KernelHost&) = delete;
  KernelHost& operator=(const KernelHost&) = delete;

  // What compute returns on the copy of the frame, in this thread and with this host.
  ms::Status Run(const MS_KernelDef& kernel, void* state);

  virtual ms::Status AllocateOutput(uint32_t index, MS_Dims dims, MS_TensorView* out) = 0;
  virtual ms::Status ForwardOrAllocate(const uint32_t* candidates, uint32_t n, uint32_t index,
                                       MS_Dims dims, MS_TensorView* out, int32_t* which) = 0;
  virtual ms::Status SetOutput(uint32_t index, MS_Tensor* tensor) = 0;
  virtual ms::Status CheckCancelled() = 0;
  virtual ms::Status ReserveRandom(uint64_t blocks, uint64_t* key, uint64_t counter[2]) = 0;
  virtual ms::Status LockVariables(const uint32_t* inputs, const uint32_t* modes, uint32_t n,
                                   MS_LockSet** out) = 0;
  virtual ms::Status ViewVariable(MS_LockSet* locks, uint32_t k, MS_TensorView* out) = 0;
  virtual ms::Status PrepareVariable(MS_LockSet* locks, uint32_t k, MS_TensorView* out) = 0;
  virtual ms::Status ReplaceVariable(MS_LockSet* locks, uint32_t k, MS_Tensor* tensor) = 0;
  virtual void UnlockVariables(MS_LockSet* locks) = 0;

  // Memory of the host's heap until this goes, 64-byte aligned and never null.
  ms::Status AllocateTemp(MS_DType dtype, MS_Dims dims, MS_TensorView* out);

 protected:
  bool IsUsed(uint32_t output) const {
    return (frame_.outputs_used[output / 64] >> (output % 64)) & 1;
  }
  // A view of the same elements elsewhere; its dims are kept here.
  MS_TensorView Moved(const MS_TensorView& view, void* address);
  void* Heap(uint64_t bytes);

  MS_Frame frame_;  // its arrays are the vectors below
  std::vector<MS_TensorView> inputs_;
  std::vector<MS_TensorView> outputs_;

 private:
  const int64_t* KeptDims(const int64_t* dims, uint32_t rank);

  struct FreeHeap {
    void operator()(void* memory) const;
  };
  std::vector<uint64_t> outputs_used_;
  std::deque<std::vector<int64_t>> dims_;
  std::vector<std::unique_ptr<void, FreeHeap>> heap_;
};

// Where the device's threads find the frame's scratch memory; null if it has none.
void* LocalScratch(const MS_Frame& frame, const Memory& memory);

// What a tensor of these dims takes.
uint64_t BytesOf(MS_DType dtype, MS_Dims dims);

}  // namespace millstream::sim

#endif  // MILLSTREAM_DEVICE_PLUGINS_SIM_KERNEL_HOST_H_
