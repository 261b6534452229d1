#include "core/plan/plan.h"

#include <algorithm>
#include <iterator>
#include <limits>

#include "absl/strings/str_cat.h"
#include "core/numerics/numeric_checks.h"
#include "core/plan/step_state.h"
#include "framework/plugin/host_interfaces.h"

namespace millstream {
namespace {

// Sums of some such numbers do not overflow.
constexpr int64_t kMostStateBytes = int64_t{1} << 58;

}  // namespace

int64_t Root::bytes() const {
  if (!shape_known) return 0;
  int64_t bytes = 0;
  const bool overflow = __builtin_mul_overflow(shape.num_elements(),
                                               static_cast<int64_t>(DataTypeSize(dtype)), &bytes);
  return overflow ? std::numeric_limits<int64_t>::max() : bytes;
}

Plan::~Plan() {
  DropKeptStates();
  if (budget_ != nullptr) budget_->Remove(this);
  for (const Instruction& instruction : instructions) {
    if (instruction.shape_state == nullptr) continue;
    instruction.kernel->Unspecialize(instruction.shape_state);
  }
  if (settings == nullptr || settings->checks == nullptr) return;
  for (const auto& kernel : own_kernels) settings->checks->Forget(kernel.get());
}

// What a state has from the start, and the buffers of what escapes, which it keeps.
int64_t Plan::StateBytes() const {
  int64_t bytes = std::min(slab_bytes, kMostStateBytes);
  for (int index : escaping_roots) {
    bytes += 2 * std::min(roots[index].bytes(), kMostStateBytes / 4);
    bytes = std::min(bytes, kMostStateBytes);
  }
  return bytes + static_cast<int64_t>(instructions.size() * (sizeof(MS_Frame) + sizeof(MS_Ctx)) +
                                      num_views * sizeof(MS_TensorView));
}

void Plan::SetBudget(StateBudget* budget) {
  budget_ = budget;
  state_bytes_ = StateBytes();
  budget->Add(this);
}

void Plan::DropKeptStates() {
  for (std::atomic<StepState*>& kept : kept_) {
    delete kept.exchange(nullptr, std::memory_order_acquire);
  }
}

bool Plan::KeepsStates() const {
  return std::any_of(std::begin(kept_), std::end(kept_),
                     [](const std::atomic<StepState*>& kept) { return kept.load() != nullptr; });
}

void Plan::NoteDeleted() const {
  if (budget_ != nullptr) budget_->Free(state_bytes_);
}

void Plan::NoteNotCaptured(const Status& why) {
  if (logged_capture_.exchange(true, std::memory_order_relaxed)) return;
  // A device that cannot record is no reason to warn anybody.
  HostLog(absl::IsUnimplemented(why) ? MS_LOG_INFO : MS_LOG_WARNING,
          absl::StrCat("recorded work of a step on ", memory->name(),
                       " is not used; its kernels are called in every step: ", why.message()));
}

StatusOr<std::unique_ptr<StepState>> Plan::TakeState() {
  if (budget_ != nullptr && last_used() != budget_->time()) {
    last_used_.store(budget_->time(), std::memory_order_relaxed);
  }
  for (std::atomic<StepState*>& kept : kept_) {
    if (kept.load(std::memory_order_relaxed) == nullptr) continue;
    StepState* state = kept.exchange(nullptr, std::memory_order_acquire);
    if (state != nullptr) return std::unique_ptr<StepState>(state);
  }
  if (budget_ != nullptr) budget_->Reserve(state_bytes_);
  return StepState::Create(this);
}

void Plan::ReturnState(std::unique_ptr<StepState> state) {
  if (budget_ != nullptr && !budget_->MayKeep(state_bytes_)) return;
  StepState* raw = state.release();
  for (std::atomic<StepState*>& kept : kept_) {
    StepState* empty = nullptr;
    if (!kept.compare_exchange_strong(empty, raw)) continue;
    if (budget_ != nullptr) budget_->NoteKept();
    return;
  }
  delete raw;
}

}  // namespace millstream
