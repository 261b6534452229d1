// What must be had from the host before a kernel's work can wait in a stream's queue.
#ifndef MILLSTREAM_DEVICE_PLUGINS_SIM_PREPARATION_H_
#define MILLSTREAM_DEVICE_PLUGINS_SIM_PREPARATION_H_

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "device_plugins/sim/device.h"
#include "device_plugins/sim/kernel_host.h"

namespace millstream::sim {

// What a kernel got of its host while it was prepared, for its later run.
struct Granted {
  struct Random {
    uint64_t blocks;
    uint64_t key;
    std::array<uint64_t, 2> counter;
  };
  struct Variable {
    uint32_t input;
    bool is_viewed = false;
    MS_TensorView view{};  // as the host knows it
  };
  std::vector<Random> random;
  std::vector<Variable> variables;  // as they were locked
};

// Runs a kernel in the thread that enqueues it, until it has asked the real host for all that it
// needs of it: memory for its outputs, its variables, random numbers. It sees the true shapes and
// the true values of host arguments, but zeros where the device's memory is; what it asks for last
// is answered with an error, so that it ends before it does any work. That is wrong only for
// kernels whose outputs have shapes that depend on values (see adapted_kernel.cc); their later run
// finds another shape, and fails.
//
// Variables stay locked until this goes.
class Preparation : public KernelHost {
 public:
  // `frame` is the real host's.
  Preparation(MS_Frame* frame, bool is_random);
  ~Preparation() override;

  // Whether there is anything to ask for.
  bool IsNeeded() const;
  // False when the kernel did not come to its end this way: zeros may be no sensible values.
  bool Prepare(const MS_KernelDef& kernel, void* state);
  Granted& granted() { return granted_; }
  // The host had no memory, which is the kernel's error: nobody asks again.
  bool is_out_of_memory() const { return is_out_of_memory_; }
  const std::string& host_message() const { return host_message_; }

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
  bool IsWanted(uint32_t output) const { return IsUsed(output) && !is_planned_[output]; }
  // The rest of every function above: the status that ends the kernel when nothing is missing.
  ms::Status StopWhenComplete();
  // What the real host answered; keeps that it has no memory.
  ms::Status Answer(MS_Status* status);
  ms::Status KeepVariable(uint32_t k, const MS_TensorView& view, MS_TensorView* out);

  MS_Frame* const real_frame_;
  std::vector<bool> is_planned_;  // one an output
  uint32_t missing_outputs_ = 0;
  bool has_variables_ = false;
  bool misses_random_;
  bool is_stopped_ = false;
  bool is_out_of_memory_ = false;
  std::string host_message_;
  MS_LockSet* locks_ = nullptr;
  Granted granted_;
};

}  // namespace millstream::sim

#endif  // MILLSTREAM_DEVICE_PLUGINS_SIM_PREPARATION_H_
