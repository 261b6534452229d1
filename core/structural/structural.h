// Structural ops move or name tensors, or compute integer shapes. Core has their kernels for every
// device (type "*"), so plugins do not register them. No structural op computes on floating-point
// values, but for sums of tensor lists, and of what is written to arrays of gradients. To add one,
// write in core/structural/<category>.cc:
//
//   Status Reshape(StructuralFrame* frame) { ... }
//   MILLSTREAM_STRUCTURAL("Reshape", StructuralRole::kReshape, Reshape);
#ifndef MILLSTREAM_CORE_STRUCTURAL_STRUCTURAL_H_
#define MILLSTREAM_CORE_STRUCTURAL_STRUCTURAL_H_

#include <cstdint>
#include <functional>

#include "core/graph/structural_role.h"
#include "core/host/kernel_host.h"
#include "framework/plugin/plugin.h"
#include "framework/status.h"
#include "framework/tensor.h"

namespace millstream {

// The interface of a structural kernel to one execution. Numbers of inputs and outputs must be in
// range. For the thread of the kernel alone, but for ParallelFor.
class StructuralFrame {
 public:
  explicit StructuralFrame(MS_Frame* frame) : frame_(frame) {}
  const OpCall& call() const { return frame_->ctx->call(); }
  uint32_t num_inputs() const { return frame_->n_in; }
  uint32_t num_outputs() const { return frame_->n_out; }
  const MS_TensorView& input(uint32_t i) const { return frame_->inputs[i]; }
  Shape input_shape(uint32_t i) const {
    return Shape(absl::MakeConstSpan(frame_->inputs[i].dims, frame_->inputs[i].rank));
  }
  // The input as a tensor that may be kept. Copied if it is in the plan's slab.
  StatusOr<Tensor> InputTensor(uint32_t i) const;
  // The input's tensor if the kernel may keep its buffer and change it, because this execution is
  // its last reader and nobody else holds it; else null. Valid until the kernel returns.
  const Tensor* TakeableInput(uint32_t i) const {
    return frame_->ctx->host->TakeableInput(*frame_->ctx, i);
  }
  // The input as a tensor that is valid until the kernel returns. Handles have their resource as
  // their element.
  Tensor BorrowInput(uint32_t i) const;
  // The elements of an input of int32 or int64, in row-major order. INVALID_ARGUMENT for other
  // types. REQUIRES: the input is in host memory.
  StatusOr<std::vector<int64_t>> Integers(uint32_t i) const;
  // The value of an integer scalar. Takes no memory, because loops do this often.
  StatusOr<int64_t> Integer(uint32_t i) const;
  // The options of the step.
  const RunOptions& run_options() const { return frame_->ctx->host->step->options(); }
  // The container of resources that are freed at the end of the step.
  StepContainer* step_container() const { return frame_->ctx->host->step->container(); }
  // The memory of the node's device; null: host memory.
  const DeviceMemory* memory() const { return frame_->ctx->host->memory; }
  // The resource of a handle; null if the input is no handle.
  Resource* handle(uint32_t i) const;
  // The variable of a handle. INVALID_ARGUMENT if the input is none.
  StatusOr<Variable*> variable(uint32_t i) const;
  // Sets output i: copies the tensor into planned memory if there is some, else shares its memory.
  // INVALID_ARGUMENT if the plan knows another shape of the output; errors of copying. REQUIRES:
  // the tensor has the output's type.
  Status SetOutput(uint32_t i, const Tensor& tensor);
  // Sets output `output` to input `input` under another shape. Shares the memory if neither is in
  // the slab, else copies it once. Errors are those of SetOutput and InputTensor. REQUIRES: the
  // shape has as many elements as the input.
  Status PassOn(uint32_t input, uint32_t output, const Shape& shape);
  // A tensor to fill for output i: planned memory, or new.
  StatusOr<Tensor> AllocateOutput(uint32_t i, const Shape& shape);
  // Calls `function` once for each of [0, total), on several threads if the step has them.
  // `cost_ns`: about what one call takes.
  void ParallelFor(uint64_t total, uint64_t cost_ns,
                   const std::function<void(uint64_t)>& function) const;

 private:
  Status CheckOutputShape(uint32_t i, const Shape& shape) const;
  MS_Frame* frame_;
};

struct KernelRegistration;

using StructuralFunction = Status (*)(StructuralFrame* frame);

// Adds the structural kernels to the kernel registry. Every session calls it first. Idempotent.
Status RegisterStructuralKernels();

// Adds a kernel of core. REQUIRES: main() has not begun.
void AddStructuralKernel(KernelRegistration kernel);

// Registers at start-up. `function` null: nodes with this role never run.
class StructuralRegistration {
 public:
  StructuralRegistration(const char* op, StructuralRole role, StructuralFunction function);
};

}  // namespace millstream

#define MS_STRUCTURAL_CONCAT_INNER(a, b) a##b
#define MS_STRUCTURAL_CONCAT(a, b) MS_STRUCTURAL_CONCAT_INNER(a, b)
#define MILLSTREAM_STRUCTURAL(op, role, function)                         \
  static const ::millstream::StructuralRegistration MS_STRUCTURAL_CONCAT( \
      structural_, __COUNTER__)(op, role, function)

#endif  // MILLSTREAM_CORE_STRUCTURAL_STRUCTURAL_H_
