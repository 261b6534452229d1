#include "framework/plugin/check/check_dlpack.h"

#include <functional>
#include <memory>
#include <utility>

#include "framework/plugin/check/check_ctx.h"
#include "framework/plugin/check/check_session.h"

namespace millstream::plugin_check {
namespace {

// What the import sees: the kernel's struct with a deleter of ours.
struct Loan {
  DLManagedTensorVersioned seen;
  DLManagedTensorVersioned* lent;
  void (*deleter)(DLManagedTensorVersioned* self);  // of the lender
};

// In the place of the lender's deleter while the host has the memory.
void NoteDeletion(DLManagedTensorVersioned*) {
  NoteMisuse("KERNEL-REFERENCES", "it deleted a DLPack tensor that it had given to the host");
}

void EndLoan(DLManagedTensorVersioned* seen) {
  const std::unique_ptr<const Loan> loan(static_cast<Loan*>(seen->manager_ctx));
  loan->lent->deleter = loan->deleter;
  if (loan->deleter != nullptr) loan->deleter(loan->lent);
}

Tensor TensorIn(const Place& place, DataType dtype, const Shape& shape, void* data, size_t bytes,
                std::function<void()> release) {
  const MS_MemRef memory = {data, 0, bytes, MS_SPACE_DEVICE, place.ordinal};
  return TensorOver(PlacedTensor::In(Block::Wrap(place, memory, bytes, std::move(release)), dtype,
                                     shape, place.on_host()));
}

}  // namespace

StatusOr<Tensor> ImportLent(DLManagedTensorVersioned* managed, const Place& place) {
  if (managed == nullptr) return ImportDLPack(nullptr);
  if (managed->deleter == &NoteDeletion) {
    return Misuse("KERNEL-REFERENCES", "it gave one DLPack tensor to the host twice");
  }
  auto loan = std::make_unique<Loan>(Loan{*managed, managed, managed->deleter});
  loan->seen.manager_ctx = loan.get();
  loan->seen.deleter = &EndLoan;
  managed->deleter = &NoteDeletion;
  DLPackDevice device;
  device.type = place.dlpack_device_type;
  device.id = static_cast<int32_t>(place.ordinal);
  device.wrap = [place](DataType dtype, const Shape& shape, void* data, size_t bytes,
                        std::function<void()> release) {
    return TensorIn(place, dtype, shape, data, bytes, std::move(release));
  };
  StatusOr<Tensor> tensor = ImportDLPack(&loan->seen, device);
  if (tensor.ok()) {
    static_cast<void>(loan.release());  // until EndLoan
  } else {
    managed->deleter = loan->deleter;
  }
  return tensor;
}

}  // namespace millstream::plugin_check
