// Variables: tensors that outlive a step.
#ifndef MILLSTREAM_CORE_RESOURCES_VARIABLE_H_
#define MILLSTREAM_CORE_RESOURCES_VARIABLE_H_

#include <atomic>
#include <cstdint>
#include <optional>
#include <string>

#include "core/resources/resource.h"
#include "framework/dtype.h"
#include "framework/numeric_bounds.h"
#include "framework/plugin/plugin.h"
#include "framework/shape.h"
#include "framework/status.h"
#include "framework/tensor.h"

namespace millstream {

class DeviceMemory;

// A lock of one word. Without contention it takes one atomic operation to enter and one to leave.
// Waiting threads sleep on a futex. It guards one variable while a read copies a reference, or a
// write changes the value in place.
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
  static constexpr uint32_t kAwaited = 2;  // taken, and a thread sleeps
  void Wait();
  void WakeOne();
  std::atomic<uint32_t> word_{kFree};
};

// A named tensor in a session's resource container. A reader gets a reference to the present
// buffer. A writer changes the buffer in place if nobody else holds it; otherwise it replaces the
// buffer by a changed copy. So no reader sees a partial or later write. Thread-safe.
class Variable : public Resource {
 public:
  static constexpr char kType[] = "Variable";

  // A variable whose shape has no elements is initialized from the beginning, because it has only
  // one possible value.
  Variable(std::string container, std::string name, DataType dtype, PartialShape shape);
  const std::string& container() const { return container_; }
  const std::string& name() const { return name_; }
  DataType dtype() const { return dtype_; }
  // The static shape of the value, as the handle declares it.
  const PartialShape& shape() const { return shape_; }

  // The present value. FAILED_PRECONDITION if the variable is uninitialized.
  StatusOr<Tensor> Read();
  bool IsInitialized();
  // INVALID_ARGUMENT if `value`, the variable's value, is not in `memory`, where a kernel needs it.
  // `memory` null: host memory.
  Status CheckIsIn(const DeviceMemory* memory, const Tensor& value) const;
  // Copies `value` into the variable: into the present buffer if it fits and nobody else holds it,
  // else into a new one. Afterwards the variable is in the memory of `value`.
  Status Assign(const Tensor& value);
  // Makes `value` the variable's value, without a copy. REQUIRES: those who hold its buffer only
  // release it from now on.
  void Take(Tensor value);
  // Replaces the value by `value` if it is still `before`, which Read gave and the caller holds;
  // returns false, and does nothing, if another writer was faster. So a value that follows from the
  // present one is computed without the gate. REQUIRES: nobody else holds the buffer of `value`.
  bool ReplaceIf(const Tensor& before, Tensor value);
  // Makes the variable uninitialized. NOT_FOUND if it is so already.
  Status Destroy();
  // Makes the variable uninitialized.
  void Drop() override;
  // The same if its value is still `before`, which Read gave and the caller holds.
  void DropIf(const Tensor& before) { ReplaceIf(before, FirstValue()); }
  bool KeepsItsName() const override { return true; }

  // ---- For writers that hold the gate over several calls ----
  Gate& gate() { return gate_; }
  // REQUIRES: gate held.
  const Tensor& value() const { return value_; }
  // Copies the value if somebody else holds its buffer, so that it may be changed in place.
  // RESOURCE_EXHAUSTED if memory is short. REQUIRES: gate held.
  Status PrepareWrite();
  // Replaces the value. REQUIRES: gate held; nobody else holds the buffer of `value`.
  void Replace(Tensor value) {
    NoteWrite();
    value_ = std::move(value);
  }

  // ---- For numeric checks ----
  // Records that all elements of `value` are finite, and its bounds if they are given, until the
  // next write. REQUIRES: `value` is a result of Read that the caller still holds.
  void NoteFinite(const Tensor& value, const std::optional<NumericBounds>& bounds = std::nullopt);
  // True if the value is at these bytes and is recorded to be finite. REQUIRES: the caller holds a
  // reference to the bytes.
  bool IsKnownFinite(const MS_MemRef& place);
  // The recorded bounds of the value, and the number of writes to the variable.
  struct KnownBounds {
    std::optional<NumericBounds> bounds;
    uint64_t num_writes = 0;
  };
  KnownBounds BoundsOfValue();
  // Records the bounds after write number `num_writes` + 1. Returns false and records nothing if
  // there were other writes, because the bounds before the write are not known then.
  bool NoteBoundsAfter(uint64_t num_writes, const NumericBounds& bounds);

 private:
  Status Uninitialized() const;
  // The value before the first assignment: a tensor without elements, or none.
  Tensor FirstValue() const;
  // Releases the value; returns false if there is none.
  bool TakeValue();
  // Called when the value changes. REQUIRES: gate held.
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
  bool is_finite_ = false;  // value_ is known to be finite; false: not known
  std::optional<NumericBounds> bounds_;
};

}  // namespace millstream

#endif  // MILLSTREAM_CORE_RESOURCES_VARIABLE_H_
