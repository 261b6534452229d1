#include "core/dynamic/program.h"

#include "core/dynamic/state.h"

namespace millstream {

DynamicProgram::~DynamicProgram() {
  for (std::atomic<DynamicState*>& entry : kept_) delete entry.load(std::memory_order_acquire);
}

std::unique_ptr<DynamicState> DynamicProgram::TakeState() {
  for (std::atomic<DynamicState*>& entry : kept_) {
    if (entry.load(std::memory_order_relaxed) == nullptr) continue;
    DynamicState* const state = entry.exchange(nullptr, std::memory_order_acq_rel);
    if (state != nullptr) return std::unique_ptr<DynamicState>(state);
  }
  return std::make_unique<DynamicState>(this);
}

void DynamicProgram::ReturnState(std::unique_ptr<DynamicState> state) {
  for (std::atomic<DynamicState*>& entry : kept_) {
    DynamicState* expected = nullptr;
    if (entry.compare_exchange_strong(expected, state.get(), std::memory_order_acq_rel)) {
      (void)state.release();
      return;
    }
  }
}

}  // namespace millstream
