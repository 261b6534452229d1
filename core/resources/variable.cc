#include "core/resources/variable.h"

#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <utility>

#include "core/device/device_memory.h"
#include "framework/plugin/host_tensor.h"

namespace millstream {
namespace {

// Holds a gate for a scope.
class GateHolder {
 public:
  explicit GateHolder(Gate* gate) : gate_(gate) { gate_->Enter(); }
  ~GateHolder() { gate_->Leave(); }
  GateHolder(const GateHolder&) = delete;
  GateHolder& operator=(const GateHolder&) = delete;

 private:
  Gate* const gate_;
};

// Null: the host's memory.
const DeviceMemory* OwnerOf(const Tensor& value) {
  return value.is_on_device() ? MemoryOf(value) : nullptr;
}

}  // namespace

// The three-state futex lock of U. Drepper, "Futexes Are Tricky" (2011), section 6.
void Gate::Wait() {
  while (word_.exchange(kAwaited, std::memory_order_acquire) != kFree) {
    syscall(SYS_futex, reinterpret_cast<uint32_t*>(&word_), FUTEX_WAIT_PRIVATE, kAwaited, nullptr,
            nullptr, 0);
  }
}

void Gate::WakeOne() {
  syscall(SYS_futex, reinterpret_cast<uint32_t*>(&word_), FUTEX_WAKE_PRIVATE, 1, nullptr, nullptr,
          0);
}

Variable::Variable(std::string container, std::string name, DataType dtype, PartialShape shape)
    : Resource(kType),
      container_(std::move(container)),
      name_(std::move(name)),
      dtype_(dtype),
      shape_(std::move(shape)),
      value_(FirstValue()) {}

Tensor Variable::FirstValue() const {
  if (!shape_.IsFullyKnown() || shape_.num_elements() != 0) return Tensor();
  return Tensor::Create(dtype_, shape_.ToShape()).value_or(Tensor());
}

Status Variable::Uninitialized() const {
  return errors::FailedPrecondition("Attempting to use uninitialized value ", name_,
                                    ": run its initializer first");
}

StatusOr<Tensor> Variable::Read() {
  GateHolder holder(&gate_);
  if (!value_.has_value()) return Uninitialized();
  return value_;
}

bool Variable::IsInitialized() {
  GateHolder holder(&gate_);
  return value_.has_value();
}

Status Variable::CheckIsIn(const DeviceMemory* memory, const Tensor& value) const {
  const DeviceMemory* const present = OwnerOf(value);
  // Of what is in the host's memory a kernel is told so, by the view's space.
  if (present == nullptr || present == memory) return absl::OkStatus();
  return errors::InvalidArgument("the value of variable '", name_, "' is on ", present->name(),
                                 ", where it was assigned, and not on ",
                                 memory == nullptr ? std::string("the host") : memory->name(),
                                 "; give the variable a device, so that all that use it run there");
}

Status Variable::Assign(const Tensor& value) {
  GateHolder holder(&gate_);
  NoteWrite();
  const bool fits = value_.has_value() && value_.shape() == value.shape() &&
                    OwnerOf(value_) == OwnerOf(value) && value_.buffer()->IsUnique() &&
                    value_.buffer()->writable();
  if (fits) return CopyElements(value, value_);
  MS_ASSIGN_OR_RETURN(value_, CopyOf(value));
  return absl::OkStatus();
}

// The memory of the value before is given back outside of the gate.
void Variable::Take(Tensor value) {
  GateHolder holder(&gate_);
  NoteWrite();
  std::swap(value, value_);
}

// Memory that the caller holds is written by nobody, so the same memory is the same value.
bool Variable::ReplaceIf(const Tensor& before, Tensor value) {
  GateHolder holder(&gate_);
  const bool is_same =
      value_.has_value() && value_.shape() == before.shape() && IsAt(value_, PlaceOf(before));
  if (!is_same) return false;
  NoteWrite();
  std::swap(value, value_);
  return true;
}

// The memory is given back outside of the gate.
bool Variable::TakeValue() {
  Tensor value = FirstValue();
  GateHolder holder(&gate_);
  std::swap(value, value_);
  NoteWrite();
  return value.has_value();
}

Status Variable::Destroy() {
  if (TakeValue()) return absl::OkStatus();
  return errors::NotFound("variable '", name_, "' does not exist: it has no value");
}

void Variable::Drop() { TakeValue(); }

Status Variable::PrepareWrite() {
  if (!value_.has_value()) return Uninitialized();
  NoteWrite();
  if (!value_.buffer()->IsUnique() || !value_.buffer()->writable()) {
    MS_ASSIGN_OR_RETURN(value_, CopyOf(value_));
  }
  return absl::OkStatus();
}

// Nobody has written over memory that the caller keeps.
void Variable::NoteFinite(const Tensor& value, const std::optional<NumericBounds>& bounds) {
  GateHolder holder(&gate_);
  if (!value_.has_value() || !IsAt(value_, PlaceOf(value))) return;
  is_finite_ = true;
  if (bounds) bounds_ = bounds;
}

bool Variable::IsKnownFinite(const MS_MemRef& place) {
  GateHolder holder(&gate_);
  return is_finite_ && IsAt(value_, place) && place.bytes <= value_.bytes();
}

Variable::KnownBounds Variable::BoundsOfValue() {
  GateHolder holder(&gate_);
  return {bounds_, num_writes_};
}

bool Variable::NoteBoundsAfter(uint64_t num_writes, const NumericBounds& bounds) {
  GateHolder holder(&gate_);
  if (!value_.has_value() || num_writes_ != num_writes + 1) return false;
  is_finite_ = true;
  bounds_ = bounds;
  return true;
}

}  // namespace millstream
