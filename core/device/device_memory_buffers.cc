// The buffers of a device, and where their memory comes from.
#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "core/device/device_buffer.h"
#include "core/device/device_memory.h"
#include "framework/allocation_faults_for_tests.h"
#include "framework/plugin/host_status.h"
#include "framework/plugin/host_tensor.h"

namespace millstream {

// Work that used it is on the compute stream, or was waited for there.
class DeviceMemory::OwnedBuffer final : public DeviceBuffer {
 public:
  // `address` is the arena's.
  OwnedBuffer(DeviceMemory* memory, char* address, size_t size)
      : DeviceBuffer(memory, memory->regions_->PlaceOf(address, size), memory->is_opaque_, size,
                     /*writable=*/true),
        address_(address) {}

 private:
  ~OwnedBuffer() override { memory()->arena_->Release(address_, {memory()->compute_->Now()}); }
  char* const address_;
};

// Memory that the plugin pools. As above: the compute stream is the last that uses it.
class DeviceMemory::PooledBuffer final : public DeviceBuffer {
 public:
  PooledBuffer(DeviceMemory* memory, const MS_MemRef& block, size_t size)
      : DeviceBuffer(memory, memory->Own(block), memory->is_opaque_, size, /*writable=*/true),
        block_(block) {}

 private:
  ~PooledBuffer() override { memory()->FreePooled(block_); }
  const MS_MemRef block_;
};

class DeviceMemory::BorrowedBuffer final : public DeviceBuffer {
 public:
  BorrowedBuffer(DeviceMemory* memory, const MS_MemRef& place)
      : DeviceBuffer(memory, memory->Own(place), memory->is_opaque_, place.bytes,
                     /*writable=*/false) {}
};

class DeviceMemory::WrappedBuffer final : public DeviceBuffer {
 public:
  WrappedBuffer(DeviceMemory* memory, const MS_MemRef& place, std::function<void()> release)
      : DeviceBuffer(memory, memory->Own(place), memory->is_opaque_, place.bytes,
                     /*writable=*/false),
        release_(std::move(release)) {}

 private:
  ~WrappedBuffer() override { memory()->CallWhenUnused(release_); }
  const std::function<void()> release_;
};

// The caller that enqueues a copy from or to it keeps a reference until the copy is complete.
class DeviceMemory::PinnedBuffer final : public Buffer {
 public:
  PinnedBuffer(DeviceMemory* memory, void* address, size_t size)
      : Buffer(address, size, /*writable=*/true, MemorySpace::kPinned), memory_(memory) {}
  DeviceMemory* memory() const { return memory_; }

 private:
  ~PinnedBuffer() override { memory_->pinned_arena_->Release(static_cast<char*>(data()), {}); }
  DeviceMemory* const memory_;
};

void DeviceMemory::FreePooled(const MS_MemRef& block) {
  if (compute_->raw() != nullptr) {
    device_.functions->free_on_stream(compute_->raw(), &block);
    return;
  }
  // The streams are gone, and what was enqueued on them with them. A device that is lost gives no
  // other stream; it is about to go, with its memory.
  MS_Stream* last = nullptr;
  const Status created =
      TakeAbiStatus(device_.functions->stream_create(device_.device, MS_STREAM_COMPUTE, 0, &last));
  if (!created.ok() || last == nullptr) return;
  device_.functions->free_on_stream(last, &block);
  device_.functions->stream_destroy(last);
}

StatusOr<BufferRef> DeviceMemory::AllocatePooled(DeviceStream* stream, size_t bytes) {
  const size_t wanted = rules_.RegionSize(std::max<size_t>(bytes, 1));
  if (wanted > rules_.largest_region || AllocationFaults::FailsNext()) {
    return errors::ResourceExhausted("no memory for ", bytes, " bytes: the device gives at most ",
                                     rules_.largest_region, " at once");
  }
  MS_MemRef block = {};
  const auto allocate = [&] {
    return Describe(TakeAbiStatus(device_.functions->alloc_on_stream(
                        stream->raw(), MS_SPACE_DEVICE, wanted, rules_.alignment, &block)),
                    "alloc_on_stream");
  };
  Status allocated = allocate();
  if (absl::IsResourceExhausted(allocated) && reclaim_) {
    reclaim_();
    allocated = allocate();
  }
  // What was freed on streams is free once they come to it.
  if (absl::IsResourceExhausted(allocated) && AwaitIdle()) allocated = allocate();
  MS_RETURN_IF_ERROR(allocated);
  const auto address = reinterpret_cast<uintptr_t>(block.base) + block.offset;
  const bool is_aligned = is_opaque_ || address % rules_.alignment == 0;
  if (block.base == nullptr || block.bytes < wanted || !is_aligned) {
    if (block.base != nullptr) FreePooled(block);
    return errors::Internal("plugin ", device_.plugin->name, ", device ", name_,
                            ", alloc_on_stream: asked were ", wanted, " bytes aligned to ",
                            rules_.alignment, ", given were ", block.bytes, " at 0x",
                            absl::Hex(address));
  }
  return BufferRef::Adopt(new PooledBuffer(this, block, bytes));
}

ArenaStats DeviceMemory::PooledStats() const {
  ArenaStats stats;
  stats.limit = arena_->stats().limit;
  MS_MemStats given = {};
  given.head.size = sizeof(given);
  if (!MS_HAS(device_.functions, mem_stats) ||
      !TakeAbiStatus(device_.functions->mem_stats(device_.device, &given)).ok()) {
    return stats;
  }
  const auto valid = [&given](int field, uint64_t value) {
    return (given.valid_mask >> field & 1) != 0 ? value : 0;
  };
  stats.in_use = valid(0, given.in_use);
  stats.peak_in_use = valid(1, given.peak);
  stats.reserved = std::max(stats.in_use, valid(2, given.reserved));
  stats.peak_reserved = std::max(stats.peak_in_use, valid(3, given.peak_reserved));
  stats.largest_free = valid(7, given.largest_free);
  stats.allocations = static_cast<int64_t>(valid(5, given.num_allocs));
  return stats;
}

StatusOr<BufferRef> DeviceMemory::AllocateFor(DeviceStream* stream, size_t bytes) {
  if (is_pooled_) return AllocatePooled(stream, bytes);
  // Empty tensors have an address, too, by which planned memory is known.
  const size_t wanted = std::max<size_t>(bytes, 1);
  StatusOr<Arena::Allocation> allocation = arena_->Allocate(wanted, stream->number());
  if (absl::IsResourceExhausted(allocation.status()) && reclaim_) {
    reclaim_();
    allocation = arena_->Allocate(wanted, stream->number());
  }
  MS_RETURN_IF_ERROR(allocation.status());
  BufferRef buffer = BufferRef::Adopt(new OwnedBuffer(this, allocation->address, bytes));
  for (const StreamPoint& point : allocation->waits) {
    const StatusOr<EventRef> event = StreamOf(point)->EventAt(point);
    const Status waited = event.ok() ? stream->Wait(*event) : event.status();
    if (!waited.ok()) return Describe(waited, "wait for memory");
  }
  return buffer;
}

StatusOr<BufferRef> DeviceMemory::AllocateBuffer(size_t bytes) {
  return AllocateFor(compute_.get(), bytes);
}

StatusOr<Tensor> DeviceMemory::AllocateTensor(DeviceStream* stream, DataType dtype,
                                              const Shape& shape) {
  MS_RETURN_IF_ERROR(ValidateShape(shape));
  const int64_t count = shape.num_elements();
  size_t bytes = 0;
  if (!IsPlainData(dtype) || __builtin_mul_overflow(count, DataTypeSize(dtype), &bytes)) {
    return errors::InvalidArgument("a device has no memory for ", DataTypeName(dtype),
                                   shape.ToString());
  }
  StatusOr<BufferRef> buffer = AllocateFor(stream, bytes);
  if (!buffer.ok()) {
    return Status(buffer.status().code(),
                  absl::StrCat(buffer.status().message(), ", for ", DataTypeName(dtype),
                               shape.ToString(), " on ", name_));
  }
  return Tensor(dtype, shape, *std::move(buffer));
}

StatusOr<Tensor> DeviceMemory::Allocate(DataType dtype, const Shape& shape) {
  return AllocateTensor(compute_.get(), dtype, shape);
}

// The place, as of this device.
MS_MemRef DeviceMemory::Own(MS_MemRef place) const {
  place.device_index = ordinal_;
  return place;
}

Tensor DeviceMemory::Borrow(DataType dtype, const Shape& shape, const MS_MemRef& place) {
  return Tensor(dtype, shape, BufferRef::Adopt(new BorrowedBuffer(this, place)));
}

Tensor DeviceMemory::Wrap(DataType dtype, const Shape& shape, const MS_MemRef& place,
                          std::function<void()> release) {
  return Tensor(dtype, shape, BufferRef::Adopt(new WrappedBuffer(this, place, std::move(release))));
}

// Of a device without pinned memory: the host's.
StatusOr<Tensor> DeviceMemory::AllocatePinned(DataType dtype, const Shape& shape) {
  if (pinned_arena_ == nullptr) return Tensor::Create(dtype, shape);
  const size_t bytes = shape.num_elements() * DataTypeSize(dtype);
  StatusOr<Arena::Allocation> allocation =
      pinned_arena_->Allocate(std::max<size_t>(bytes, 1), kHostStream);
  if (!allocation.ok()) return Tensor::Create(dtype, shape);  // slower, and no reason to fail
  return Tensor(dtype, shape, BufferRef::Adopt(new PinnedBuffer(this, allocation->address, bytes)));
}

// Memory that another device has pinned is host memory like any other for this one.
MS_MemRef DeviceMemory::OwnPlaceOf(const Tensor& tensor) const {
  MS_MemRef place = Own(PlaceOf(tensor));
  if (tensor.space() != MemorySpace::kPinned) return place;
  const auto& pinned = static_cast<const PinnedBuffer&>(*tensor.buffer().get());
  if (pinned.memory() != this) place.space = MS_SPACE_HOST;
  return place;
}

}  // namespace millstream
