// What one running step owns: the slab, the frames and the tensors that are not in the slab.
#ifndef MILLSTREAM_CORE_STEP_STATE_H_
#define MILLSTREAM_CORE_STEP_STATE_H_

#include <array>
#include <cstdint>
#include <memory>
#include <vector>

#include "absl/types/span.h"
#include "core/plan.h"
#include "core/session.h"
#include "core/variable.h"
#include "framework/buffer.h"
#include "framework/plugin/plugin.h"
#include "framework/tensor.h"

namespace millstream {
inline constexpr int kMaxLockedVariables = 16;
}  // namespace millstream

// Variables that a kernel holds (ms.resource/1); at most one set a kernel execution.
struct MS_LockSet {
  millstream::Variable* variables[millstream::kMaxLockedVariables];
  // The same without repetition in the order in which the gates were entered.
  millstream::Variable* entered[millstream::kMaxLockedVariables];
  uint32_t count = 0;
  uint32_t num_entered = 0;
  bool held = false;
};

// The host's side of one instruction's executions in one StepState.
struct MS_Ctx {
  millstream::StepState* step = nullptr;
  const millstream::Instruction* instruction = nullptr;
  MS_LockSet locks;
};

namespace millstream {

// Used by one step at a time. Frames point into `views`; neither moves once Create returned.
struct StepState {
  static StatusOr<std::unique_ptr<StepState>> Create(const Plan* plan);
  StepState() = default;
  StepState(const StepState&) = delete;
  StepState& operator=(const StepState&) = delete;

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
  const RunOptions* options = nullptr;
  bool holds_permit = false;
  uint64_t step_id = 0;

  // Memory for an escaping root that nobody else holds; null when there is none.
  BufferRef EscapingBuffer(const Root& root);
  // Points every view of `root` at `data`, and where dims follow, at `shape`.
  void PointViews(const Root& root, void* data, const Tensor* shape_of);
  // The tensor behind an input: shared when it has a buffer of its own, copied when it stands in
  // the slab.
  StatusOr<Tensor> InputTensor(const Instruction& instruction, int input) const;
};

}  // namespace millstream

#endif  // MILLSTREAM_CORE_STEP_STATE_H_
