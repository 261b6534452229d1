// Where tensor memory comes from.
#ifndef MILLSTREAM_FRAMEWORK_ALLOCATOR_H_
#define MILLSTREAM_FRAMEWORK_ALLOCATOR_H_

#include <atomic>
#include <cstddef>
#include <cstdint>

namespace millstream {

// Every allocation starts on a multiple of this.
inline constexpr size_t kTensorAlignment = 64;

// Counts since the allocator was made; a snapshot, each field exact, not all of one instant.
struct AllocatorStats {
  int64_t num_allocations = 0;
  int64_t bytes_in_use = 0;
  int64_t peak_bytes_in_use = 0;
  int64_t largest_allocation = 0;
  int64_t bytes_limit = 0;  // 0: none
};

// Thread-safe.
class Allocator {
 public:
  virtual ~Allocator() = default;
  virtual const char* name() const = 0;
  // At least `bytes` bytes, aligned to kTensorAlignment; null when there is no memory.
  virtual void* Allocate(size_t bytes) = 0;
  // `bytes` as it was asked for.
  virtual void Deallocate(void* pointer, size_t bytes) = 0;
  virtual AllocatorStats stats() const = 0;
};

// Counts allocations for stats(); a member of allocators.
class AllocationCounter {
 public:
  void Add(size_t bytes);
  void Remove(size_t bytes);
  AllocatorStats Snapshot() const;

 private:
  std::atomic<int64_t> allocations_{0};
  std::atomic<int64_t> in_use_{0};
  std::atomic<int64_t> peak_{0};
  std::atomic<int64_t> largest_{0};
};

// Host memory for the process; lives for ever. Refuses sizes beyond the machine's memory, so that
// an absurd request fails the step and not the process. Freed blocks, up to 256 MiB of them in the
// process, are kept for the next request of about their size: the buffers of a step come back
// without touching fresh pages. Blocks from 2 MiB on use huge pages where the system grants them.
Allocator* HostAllocator();
// Gives the kept blocks back to the system, and what else the process has freed and not returned;
// returns how many bytes the blocks were. Takes some milliseconds when there is much.
size_t TrimHostMemory();
// Bytes that are kept now.
size_t KeptHostMemory();

}  // namespace millstream

#endif  // MILLSTREAM_FRAMEWORK_ALLOCATOR_H_
