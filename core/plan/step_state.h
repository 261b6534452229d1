// The memory of one running step: the slab, the frames, and the tensors that are not in the slab.
#ifndef MILLSTREAM_CORE_PLAN_STEP_STATE_H_
#define MILLSTREAM_CORE_PLAN_STEP_STATE_H_

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/types/span.h"
#include "core/host/kernel_host.h"
#include "core/plan/plan.h"
#include "core/plan/plan_capture.h"
#include "core/resources/memory_report.h"
#include "core/step/relaxed.h"
#include "framework/buffer.h"
#include "framework/plugin/plugin.h"
#include "framework/tensor.h"

namespace millstream {

class PlanRun;

// One step at a time uses it. Frames point into `views`; neither moves after Create returns.
struct StepState final : public KernelHost {
  static StatusOr<std::unique_ptr<StepState>> Create(const Plan* plan);
  StepState() = default;
  ~StepState() override;
  StepState(const StepState&) = delete;
  StepState& operator=(const StepState&) = delete;

  // ---- KernelHost ----
  bool OutputIsInHost(const MS_Ctx& ctx, uint32_t output) const override;
  bool HasPlannedOutput(const MS_Ctx& ctx, uint32_t output) const override;
  Tensor PlannedOutput(const MS_Ctx& ctx, uint32_t output) const override;
  const Shape* KnownOutputShape(const MS_Ctx& ctx, uint32_t output) const override;
  void SetOutput(MS_Frame* frame, uint32_t output, Tensor tensor) override;
  StatusOr<Tensor> InputTensor(const MS_Ctx& ctx, uint32_t input) const override;
  const Tensor* TakeableInput(const MS_Ctx& ctx, uint32_t input) const override;
  StatusOr<MS_TensorView> KeepTemp(const MS_Ctx& ctx, Tensor tensor) override;

  const Plan* plan = nullptr;
  BufferRef slab;
  std::vector<MS_Frame> frames;  // one an instruction
  std::vector<MS_Ctx> contexts;  // one an instruction
  std::vector<MS_TensorView> views;
  std::vector<Tensor> slots;
  // Buffers of the slots that escape. A later step reuses a buffer that the caller has released.
  // There are two a slot, because callers often hold the result of one step during the next.
  std::vector<std::array<BufferRef, 2>> kept_buffers;
  std::vector<Tensor> temps;         // of the running instruction
  bool has_run = false;              // a step with this state has ended well
  std::vector<RowGraph> row_graphs;  // one a row of Plan::captured_rows

  // ---- The step in progress ----
  absl::Span<const Tensor> feeds;
  PlanRun* run = nullptr;
  Relaxed<int> position = 0;         // the next instruction, or the waiting one
  Relaxed<bool> runs_alone = false;  // the step has only this plan and no scheduler

  // The tensors that are in the plan's memory while `instruction` runs.
  std::vector<LiveTensor> LiveTensors(int instruction) const;
  // Describes the instruction at `position` if runs_alone; else, and after the last instruction,
  // returns an empty string. Any thread may call it.
  std::string RunsAlone() const;
  // Returns a buffer for an escaping root that nobody else holds. RESOURCE_EXHAUSTED if memory is
  // short.
  StatusOr<BufferRef> EscapingBuffer(const Root& root);
  // Sets the place of every view of `root` to that of `tensor`. Views whose dims follow get its
  // dims.
  void PointViews(const Root& root, const Tensor& tensor);

 private:
  const Root& OutputRoot(const MS_Ctx& ctx, uint32_t output) const {
    return plan->roots[plan->instructions[ctx.index].outputs[output].root];
  }
};

}  // namespace millstream

#endif  // MILLSTREAM_CORE_PLAN_STEP_STATE_H_
