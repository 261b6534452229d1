// The interface between a running kernel and its executor: the execution (MS_Ctx) and the executor
// (KernelHost). The host interfaces (host_ctx.cc) and the structural kernels access inputs, outputs
// and the step through it. Both executors implement it.
#ifndef MILLSTREAM_CORE_HOST_KERNEL_HOST_H_
#define MILLSTREAM_CORE_HOST_KERNEL_HOST_H_

#include <cstddef>
#include <cstdint>

#include "absl/container/inlined_vector.h"
#include "absl/synchronization/mutex.h"
#include "core/device/device_memory.h"
#include "core/device/kernel_instance.h"
#include "core/graph/graph.h"
#include "core/resources/variable.h"
#include "core/step/step_context.h"
#include "framework/op_call.h"
#include "framework/plugin/plugin.h"
#include "framework/shape.h"
#include "framework/status.h"
#include "framework/tensor.h"

namespace millstream {
class KernelHost;
struct TracedPart;
}  // namespace millstream

// The variables that a kernel has locked (ms.resource/1). There is at most one set for an
// execution.
struct MS_LockSet {
  // The inline size is enough for an optimizer's update of one variable.
  using Variables = absl::InlinedVector<millstream::Variable*, 4>;

  // Both lists stay after the release, because the next execution mostly locks the same variables,
  // and then their order is known.
  Variables variables;
  // The same without duplicates, in the order in which the gates are entered.
  Variables entered;
  // The memory of the kernel's device; null: host memory.
  const millstream::DeviceMemory* memory = nullptr;
  bool held = false;
};

// The host's side of one kernel execution. Used by one thread at a time.
struct MS_Ctx {
  millstream::KernelHost* host = nullptr;
  const millstream::Node* node = nullptr;  // for messages; null: a call without a node
  millstream::KernelInstance* kernel = nullptr;
  uint32_t index = 0;  // for use by the executor
  // The kernel runs at the same time as the part that started it, so it must not use the step's
  // permit.
  bool is_beside = false;
  MS_LockSet locks;

  // REQUIRES: it is a kernel that runs, and not the executor itself.
  const millstream::OpCall& call() const { return kernel->call(); }
};

namespace millstream {

// Temporary memory that one kernel may ask for, in pieces.
inline constexpr size_t kMaxTemps = 64;

// An executor as its kernels see it. One object a part of a step; its methods are called by the
// thread that runs the kernel of `ctx`.
class KernelHost {
 public:
  virtual ~KernelHost() = default;

  // The running step. Set before the first kernel runs.
  StepContext* step = nullptr;
  // The trace of the step's part; null: it is not traced. For the thread that advances the part.
  TracedPart* trace = nullptr;
  // The memory of the device that runs the kernels; null: host memory. Constant.
  DeviceMemory* memory = nullptr;

  // True if output `output` must be in host memory. REQUIRES: memory != nullptr.
  virtual bool OutputIsInHost(const MS_Ctx& ctx, uint32_t output) const = 0;

  // True if the plan has memory for the output, of the inferred shape. The kernel must write there.
  virtual bool HasPlannedOutput(const MS_Ctx& ctx, uint32_t output) const = 0;
  // The planned memory. REQUIRES: HasPlannedOutput.
  virtual Tensor PlannedOutput(const MS_Ctx& ctx, uint32_t output) const = 0;
  // The inferred shape of the output; null unless it is fully known.
  virtual const Shape* KnownOutputShape(const MS_Ctx& ctx, uint32_t output) const = 0;
  // Sets an output that has no planned memory, and frame->outputs[output].
  virtual void SetOutput(MS_Frame* frame, uint32_t output, Tensor tensor) = 0;
  // The input as a tensor that may live longer than the kernel runs. Shares the input's buffer if
  // it has its own, else copies it.
  virtual StatusOr<Tensor> InputTensor(const MS_Ctx& ctx, uint32_t input) const = 0;
  // The input's tensor if this execution is its last reader and nobody else holds its buffer, so
  // that an output may use the buffer; else null.
  virtual const Tensor* TakeableInput(const MS_Ctx& ctx, uint32_t input) const = 0;
  // Guards KeepTemp: threads of one kernel may ask for temporary memory at the same time.
  absl::Mutex temps_mutex;
  // Keeps `tensor` until the execution ends; the view is valid as long. REQUIRES: the mutex is
  // locked.
  virtual StatusOr<MS_TensorView> KeepTemp(const MS_Ctx& ctx, Tensor tensor) = 0;
};

}  // namespace millstream

#endif  // MILLSTREAM_CORE_HOST_KERNEL_HOST_H_
