#include "core/plan.h"

#include <limits>

#include "core/step_state.h"

namespace millstream {

int64_t Root::bytes() const {
  if (!shape_known) return 0;
  int64_t bytes = 0;
  const bool overflow = __builtin_mul_overflow(shape.num_elements(),
                                               static_cast<int64_t>(DataTypeSize(dtype)), &bytes);
  return overflow ? std::numeric_limits<int64_t>::max() : bytes;
}

Plan::~Plan() {
  for (std::atomic<StepState*>& kept : kept_) delete kept.exchange(nullptr);
  for (const Instruction& instruction : instructions) {
    if (instruction.shape_state == nullptr) continue;
    instruction.kernel->registration().unspecialize(instruction.kernel->state(),
                                                    instruction.shape_state);
  }
}

StatusOr<std::unique_ptr<StepState>> Plan::TakeState() {
  for (std::atomic<StepState*>& kept : kept_) {
    if (kept.load(std::memory_order_relaxed) == nullptr) continue;
    StepState* state = kept.exchange(nullptr, std::memory_order_acquire);
    if (state != nullptr) return std::unique_ptr<StepState>(state);
  }
  return StepState::Create(this);
}

void Plan::ReturnState(std::unique_ptr<StepState> state) {
  StepState* raw = state.release();
  for (std::atomic<StepState*>& kept : kept_) {
    StepState* empty = nullptr;
    if (kept.compare_exchange_strong(empty, raw, std::memory_order_release)) return;
  }
  delete raw;
}

}  // namespace millstream
