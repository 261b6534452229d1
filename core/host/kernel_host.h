// What stands behind a kernel while it runs: its execution (MS_Ctx), and the executor that runs it
// (KernelHost). The host interfaces (host_ctx.cc) and the structural kernels reach inputs, outputs
// and the step through these, whichever executor it is.
#ifndef MILLSTREAM_CORE_HOST_KERNEL_HOST_H_
#define MILLSTREAM_CORE_HOST_KERNEL_HOST_H_

#include <cstddef>
#include <cstdint>

#include "absl/container/inlined_vector.h"
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
}  // namespace millstream

// Variables that a kernel holds (ms.resource/1); at most one set a kernel execution.
struct MS_LockSet {
  // More than an optimizer's step on one variable has take memory of their own.
  using Variables = absl::InlinedVector<millstream::Variable*, 4>;

  // Both stay when the set is released: the next execution mostly wants the same ones, whose order
  // is known then.
  Variables variables;
  // The same without repetition in the order in which the gates are entered.
  Variables entered;
  // That the kernel works in; null: the host's.
  const millstream::DeviceMemory* memory = nullptr;
  bool held = false;
};

// The host's side of one kernel execution. Used by one thread at a time.
struct MS_Ctx {
  millstream::KernelHost* host = nullptr;
  const millstream::Node* node = nullptr;  // for messages; null: a call without a node
  millstream::KernelInstance* kernel = nullptr;
  uint32_t index = 0;  // the executor's own number for the execution
  // It runs while the part that started it goes on, so the step's permit is not for it.
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

  // The step in progress. Set before the first kernel runs.
  StepContext* step = nullptr;
  // Of the device that the kernels run on; null: they work in the host's memory. Constant.
  DeviceMemory* memory = nullptr;

  // Whether output `output` is wanted in host memory. REQUIRES: memory != nullptr.
  virtual bool OutputIsInHost(const MS_Ctx& ctx, uint32_t output) const = 0;

  // True when the output has memory already, of the shape that inference found; the kernel then
  // writes there and nowhere else.
  virtual bool HasPlannedOutput(const MS_Ctx& ctx, uint32_t output) const = 0;
  // That memory. REQUIRES: HasPlannedOutput.
  virtual Tensor PlannedOutput(const MS_Ctx& ctx, uint32_t output) const = 0;
  // What inference found of the output's shape; null when it is not known in full.
  virtual const Shape* KnownOutputShape(const MS_Ctx& ctx, uint32_t output) const = 0;
  // Gives an output that has no planned memory. Also writes frame->outputs[output].
  virtual void SetOutput(MS_Frame* frame, uint32_t output, Tensor tensor) = 0;
  // The input as a tensor that may be kept beyond the kernel: shared where it has a buffer of its
  // own, else copied.
  virtual StatusOr<Tensor> InputTensor(const MS_Ctx& ctx, uint32_t input) const = 0;
  // The input's tensor when this execution is the last to read it and nobody else holds its buffer,
  // so that an output may take the buffer over; else null.
  virtual const Tensor* TakeableInput(const MS_Ctx& ctx, uint32_t input) const = 0;
  // Keeps `tensor` until the execution ends; the view is valid as long.
  virtual StatusOr<MS_TensorView> KeepTemp(const MS_Ctx& ctx, Tensor tensor) = 0;
};

}  // namespace millstream

#endif  // MILLSTREAM_CORE_HOST_KERNEL_HOST_H_
