// What one running step owns: the slab, the frames and the tensors that are not in the slab.
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
#include "core/resources/memory_report.h"
#include "core/step/relaxed.h"
#include "framework/buffer.h"
#include "framework/plugin/plugin.h"
#include "framework/tensor.h"

namespace millstream {

class PlanRun;

// Used by one step at a time. Frames point into `views`; neither moves once Create returned.
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
  // Of each slot that escapes, reused when the caller dropped them. Two, since a caller often holds
  // the result of one step until the next has run.
  std::vector<std::array<BufferRef, 2>> kept_buffers;
  std::vector<Tensor> temps;  // of the running instruction

  // ---- The step in progress ----
  absl::Span<const Tensor> feeds;
  PlanRun* run = nullptr;
  Relaxed<int> position = 0;         // the next instruction, or the one that waits
  Relaxed<bool> runs_alone = false;  // in a step of this plan alone, without a scheduler

  // What is in the memory that the plan uses, while that instruction runs.
  std::vector<LiveTensor> LiveTensors(int instruction) const;
  // What stands at `position` of a step of this plan alone; empty: there is no such step, or it has
  // run all. Any thread.
  std::string RunsAlone() const;
  // Memory for an escaping root that nobody else holds. RESOURCE_EXHAUSTED.
  StatusOr<BufferRef> EscapingBuffer(const Root& root);
  // Points every view of `root` at `data`, and where dims follow, at `shape`.
  void PointViews(const Root& root, void* data, const Tensor* shape_of);

 private:
  const Root& OutputRoot(const MS_Ctx& ctx, uint32_t output) const {
    return plan->roots[plan->instructions[ctx.index].outputs[output].root];
  }
};

}  // namespace millstream

#endif  // MILLSTREAM_CORE_PLAN_STEP_STATE_H_
