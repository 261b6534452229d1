// Allocators of tensor memory.
#ifndef MILLSTREAM_FRAMEWORK_ALLOCATOR_H_
#define MILLSTREAM_FRAMEWORK_ALLOCATOR_H_

#include <atomic>
#include <cstddef>
#include <cstdint>

namespace millstream {

// The alignment of every allocation, in bytes.
inline constexpr size_t kTensorAlignment = 64;

// Counts since the allocator was created. Each field is exact, but they may be of different
// instants.
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
  // Allocates at least `bytes` bytes, aligned to kTensorAlignment. Null if memory is exhausted.
  virtual void* Allocate(size_t bytes) = 0;
  // Frees `pointer`. REQUIRES: `bytes` is the argument of its Allocate.
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

// The allocator of host memory; never destroyed. It returns null for sizes beyond the machine's
// memory, so that such a request fails the step and not the process. Up to 256 MiB of freed blocks
// are kept for later requests of similar size, so that the buffers of a step need no new pages.
// Blocks of 2 MiB and more use huge pages if the system allows it. Thread-safe.
Allocator* HostAllocator();
// Returns the kept blocks, and other freed memory of the process, to the system. Returns the bytes
// of the kept blocks. May take some milliseconds. Thread-safe.
size_t TrimHostMemory();
// The bytes of the kept blocks. Thread-safe.
size_t KeptHostMemory();

}  // namespace millstream

#endif  // MILLSTREAM_FRAMEWORK_ALLOCATOR_H_
