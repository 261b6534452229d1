// Variables: the state that outlives a step.
#ifndef MILLSTREAM_CORE_RESOURCES_VARIABLE_H_
#define MILLSTREAM_CORE_RESOURCES_VARIABLE_H_

#include <atomic>
#include <cstdint>
#include <optional>
#include <string>

#include "core/resources/numeric_bounds.h"
#include "core/resources/resource.h"
#include "framework/dtype.h"
#include "framework/shape.h"
#include "framework/status.h"
#include "framework/tensor.h"

namespace millstream {

class DeviceMemory;

// A lock of one word: one compare-and-swap each way while nobody else wants it; waiters sleep in
// the kernel. It guards one variable, for as long as it takes to copy a reference (a read) or to
// change the value in place (a write).
class Gate {
 public:
  void Enter() {
    uint32_t expected = kFree;
    if (!word_.compare_exchange_strong(expected, kTaken, std::memory_order_acquire)) Wait();
  }
  void Leave() {
    if (word_.exchange(kFree, std::memory_order_release) == kAwaited) WakeOne();
  }

 private:
  static constexpr uint32_t kFree = 0;
  static constexpr uint32_t kTaken = 1;
  static constexpr uint32_t kAwaited = 2;  // taken, and somebody sleeps
  void Wait();
  void WakeOne();
  std::atomic<uint32_t> word_{kFree};
};

// A named tensor in a session's resource container. A reader gets a reference to the buffer of the
// moment; a writer changes the buffer in place when nobody else holds it and replaces it by a
// changed copy when somebody does, so that no reader sees a torn or later value. Thread-safe.
class Variable : public Resource {
 public:
  static constexpr char kType[] = "Variable";

  // A variable whose shape has no elements has a value from the beginning: there is but one.
  Variable(std::string container, std::string name, DataType dtype, PartialShape shape);
  const std::string& container() const { return container_; }
  const std::string& name() const { return name_; }
  DataType dtype() const { return dtype_; }
  // What the handle says of the value's shape.
  const PartialShape& shape() const { return shape_; }

  // The value of the moment; FAILED_PRECONDITION when none was assigned yet.
  StatusOr<Tensor> Read();
  bool IsInitialized();
  // INVALID_ARGUMENT when `value`, which is the variable's, is in the memory of another device
  // than the one that wants it. `memory`: that one's; null: it works in the host's.
  Status CheckIsIn(const DeviceMemory* memory, const Tensor& value) const;
  // Copies `value` in, into the present buffer when that fits and nobody else holds it: from then
  // on the variable is where the value is.
  Status Assign(const Tensor& value);
  // Drops the value: the variable is as before the first assignment; NOT_FOUND when there is none.
  Status Destroy();
  // The same, whether there is a value or not.
  void Drop() override;
  bool KeepsItsName() const override { return true; }

  // ---- For writers that hold the gate over several calls ----
  Gate& gate() { return gate_; }
  // REQUIRES: gate held.
  const Tensor& value() const { return value_; }
  // Puts the value into memory that nobody else holds. REQUIRES: gate held.
  Status PrepareWrite();
  // REQUIRES: gate held; `value` is the variable's alone.
  void Replace(Tensor value) {
    NoteWrite();
    value_ = std::move(value);
  }

  // ---- For who looks for NaN and infinities ----
  // `value`, which Read gave and the caller still has, holds none: until it is written the variable
  // knows. So it does of the bounds, where they are given.
  void NoteFinite(const Tensor& value, const std::optional<NumericBounds>& bounds = std::nullopt);
  // Whether that is known of the value, and these bytes are its. REQUIRES: the caller keeps them.
  bool IsKnownFinite(const void* address, size_t bytes);
  // What is known of the value's bounds, and how often the variable has been written.
  struct KnownBounds {
    std::optional<NumericBounds> bounds;
    uint64_t num_writes = 0;
  };
  KnownBounds BoundsOfValue();
  // The bounds after one more write than `num_writes`. False, and nothing is noted, when there were
  // others: nobody knows then what it was that the write changed.
  bool NoteBoundsAfter(uint64_t num_writes, const NumericBounds& bounds);

 private:
  Status Uninitialized() const;
  // The value before the first assignment: the one without elements, or none.
  Tensor FirstValue() const;
  // Gives up the value; false when there is none.
  bool TakeValue();
  // The value is another from now on. REQUIRES: gate held.
  void NoteWrite() {
    ++num_writes_;
    is_finite_ = false;
    bounds_.reset();
  }

  const std::string container_;
  const std::string name_;
  const DataType dtype_;
  const PartialShape shape_;
  Gate gate_;
  // Guarded by gate_:
  Tensor value_;
  uint64_t num_writes_ = 0;
  bool is_finite_ = false;  // what was found out about value_; false: it may be
  std::optional<NumericBounds> bounds_;
};

}  // namespace millstream

#endif  // MILLSTREAM_CORE_RESOURCES_VARIABLE_H_
