// The host allocator: allocates blocks of size classes, and keeps freed blocks for later steps.
//
// 1. Every block has the full size of its class, so that any request of the class can reuse it.
// 2. A kept block's first word links to the next one of its class. Its other bytes are not
// accessed.
// 3. kept_bytes_ is the sum over all kept blocks and at most kMaxKeptBytes.
// 4. No lock is taken while another is held; none at all in a child of a fork.
#include "framework/allocator.h"

#include <malloc.h>
#include <pthread.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <limits>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "framework/allocation_faults_for_tests.h"

namespace millstream {
namespace {

// What freed blocks may add up to. Enough for the buffers of a step of the usual models; more
// would be missed by the rest of the machine.
constexpr size_t kMaxKeptBytes = size_t{256} << 20;
// Blocks from this size on get pages of this size, where the system grants them.
constexpr size_t kHugePage = size_t{2} << 20;

// Under the address sanitizer every block goes back at once, so that late uses are seen.
#if defined(__SANITIZE_ADDRESS__)
constexpr bool kKeepBlocks = false;
#else
constexpr bool kKeepBlocks = true;
#endif

// Classes: multiples of 64 bytes up to 512, then eight to each doubling: at most an eighth of a
// block is waste.
constexpr int kClassesPerDoubling = 8;
constexpr int kSmallestLog = 9;
constexpr int kLargestLog = 47;
constexpr int kNumClasses = (kLargestLog - kSmallestLog + 1) * kClassesPerDoubling;
constexpr size_t kLargestBlock = size_t{1} << kLargestLog;

struct SizeClass {
  int index;
  size_t block;  // bytes
};

// REQUIRES: bytes <= kLargestBlock.
SizeClass ClassOf(size_t bytes) {
  if (bytes <= (size_t{1} << kSmallestLog)) {
    const size_t lines = std::max<size_t>(1, (bytes + kTensorAlignment - 1) / kTensorAlignment);
    return {static_cast<int>(lines) - 1, lines * kTensorAlignment};
  }
  const int log = 63 - __builtin_clzll(bytes - 1);  // 2^log < bytes <= 2^(log+1)
  const size_t step = size_t{1} << (log - 3);
  const size_t steps = (bytes + step - 1) / step;  // 9 .. 16
  return {(log - kSmallestLog + 1) * kClassesPerDoubling + static_cast<int>(steps) - 9,
          steps * step};
}

// The number in a control group's file, or the largest when there is none ("max", no such file).
size_t ReadLimitFile(const char* path) {
  std::FILE* file = std::fopen(path, "re");
  if (file == nullptr) return std::numeric_limits<size_t>::max();
  unsigned long long limit = 0;  // NOLINT: fscanf's type
  const bool found = std::fscanf(file, "%llu", &limit) == 1 && limit > 0;
  std::fclose(file);
  return found ? limit : std::numeric_limits<size_t>::max();
}

size_t MemoryOfMachine() {
  const int64_t pages = sysconf(_SC_PHYS_PAGES);
  const int64_t page = sysconf(_SC_PAGESIZE);
  size_t limit = kLargestBlock;
  if (pages > 0 && page > 0) limit = std::min(limit, static_cast<size_t>(pages) * page);
  limit = std::min(limit, ReadLimitFile("/sys/fs/cgroup/memory.max"));
  return std::min(limit, ReadLimitFile("/sys/fs/cgroup/memory/memory.limit_in_bytes"));
}

class CachingHostAllocator : public Allocator {
 public:
  CachingHostAllocator() : limit_(MemoryOfMachine()) {
    pthread_atfork(
        nullptr, nullptr, +[] { is_forked_.store(true, std::memory_order_relaxed); });
  }

  const char* name() const override { return "host"; }

  void* Allocate(size_t bytes) override {
    // Beyond the machine's memory the system might grant the pages and kill the process later.
    if (bytes > limit_ || AllocationFaults::FailsNext()) return nullptr;
    const SizeClass size_class = ClassOf(bytes);
    void* block = IsForked() ? nullptr : TakeKept(size_class);
    if (block == nullptr) block = NewBlock(size_class.block);
    if (block == nullptr) {
      Trim();  // what is kept in other classes may be what is missing
      block = NewBlock(size_class.block);
    }
    if (block != nullptr) counter_.Add(bytes);
    return block;
  }

  void Deallocate(void* pointer, size_t bytes) override {
    if (pointer == nullptr) return;
    counter_.Remove(bytes);
    const SizeClass size_class = ClassOf(bytes);
    if (!kKeepBlocks || IsForked() || size_class.block > kMaxKeptBytes) {
      std::free(pointer);
      return;
    }
    MakeRoom(size_class);
    Keep(pointer, size_class);
  }

  AllocatorStats stats() const override {
    AllocatorStats stats = counter_.Snapshot();
    stats.bytes_limit = static_cast<int64_t>(limit_);
    return stats;
  }

  // Gives all kept blocks back; returns their bytes.
  size_t Trim() {
    size_t released = 0;
    if (IsForked()) return released;
    for (int i = 0; i < kNumClasses; ++i) {
      while (const size_t bytes = ReleaseOne(i)) released += bytes;
    }
    return released;
  }

  size_t kept_bytes() const { return kept_bytes_.load(std::memory_order_relaxed); }

 private:
  // In a child of a fork the locks of the lists may be taken, by threads that are not there.
  static bool IsForked() { return is_forked_.load(std::memory_order_relaxed); }

  struct FreeBlock {
    FreeBlock* next;
  };
  struct alignas(64) FreeList {
    absl::Mutex mutex;
    FreeBlock* head ABSL_GUARDED_BY(mutex) = nullptr;
    size_t block ABSL_GUARDED_BY(mutex) = 0;  // bytes of each
  };

  static void* NewBlock(size_t block) {
    const bool huge = block >= kHugePage;
    void* pointer = nullptr;
    if (posix_memalign(&pointer, huge ? kHugePage : kTensorAlignment, block) != 0) return nullptr;
    // Advice only: where the system has no huge pages, small ones do.
    if (huge) madvise(pointer, block, MADV_HUGEPAGE);
    return pointer;
  }

  void* TakeKept(const SizeClass& size_class) {
    FreeList& list = lists_[size_class.index];
    absl::MutexLock lock(&list.mutex);
    FreeBlock* block = list.head;
    if (block == nullptr) return nullptr;
    list.head = block->next;
    kept_bytes_.fetch_sub(size_class.block, std::memory_order_relaxed);
    return block;
  }

  void Keep(void* pointer, const SizeClass& size_class) {
    const size_t before = kept_bytes_.fetch_add(size_class.block, std::memory_order_relaxed);
    if (before + size_class.block > kMaxKeptBytes) {  // others filled the room that was made
      kept_bytes_.fetch_sub(size_class.block, std::memory_order_relaxed);
      std::free(pointer);
      return;
    }
    FreeList& list = lists_[size_class.index];
    absl::MutexLock lock(&list.mutex);
    list.block = size_class.block;
    list.head = new (pointer) FreeBlock{list.head};
  }

  // Releases blocks of the other classes, going round, until one of `wanted` may be kept: what is
  // kept follows what is used.
  void MakeRoom(const SizeClass& wanted) {
    for (int tried = 0; tried < kNumClasses; ++tried) {
      if (kept_bytes() + wanted.block <= kMaxKeptBytes) return;
      const int index = evict_next_.fetch_add(1, std::memory_order_relaxed) % kNumClasses;
      if (index == wanted.index) continue;
      while (kept_bytes() + wanted.block > kMaxKeptBytes && ReleaseOne(index) > 0) {
      }
    }
  }

  // Frees one kept block of the class; returns its bytes, or 0 when there is none.
  size_t ReleaseOne(int index) {
    FreeList& list = lists_[index];
    FreeBlock* block = nullptr;
    size_t bytes = 0;
    {
      absl::MutexLock lock(&list.mutex);
      block = list.head;
      if (block == nullptr) return 0;
      list.head = block->next;
      bytes = list.block;
    }
    kept_bytes_.fetch_sub(bytes, std::memory_order_relaxed);
    std::free(block);
    return bytes;
  }

  static inline std::atomic<bool> is_forked_{false};
  const size_t limit_;
  AllocationCounter counter_;
  std::array<FreeList, kNumClasses> lists_;
  std::atomic<size_t> kept_bytes_{0};
  std::atomic<uint32_t> evict_next_{0};
};

CachingHostAllocator* TheHostAllocator() {
  static auto* const allocator = new CachingHostAllocator;
  return allocator;
}

void RaiseTo(std::atomic<int64_t>* maximum, int64_t value) {
  int64_t seen = maximum->load(std::memory_order_relaxed);
  while (seen < value && !maximum->compare_exchange_weak(seen, value, std::memory_order_relaxed)) {
  }
}

}  // namespace

void AllocationCounter::Add(size_t bytes) {
  const int64_t size = static_cast<int64_t>(bytes);
  allocations_.fetch_add(1, std::memory_order_relaxed);
  RaiseTo(&peak_, in_use_.fetch_add(size, std::memory_order_relaxed) + size);
  RaiseTo(&largest_, size);
}

void AllocationCounter::Remove(size_t bytes) {
  in_use_.fetch_sub(static_cast<int64_t>(bytes), std::memory_order_relaxed);
}

AllocatorStats AllocationCounter::Snapshot() const {
  AllocatorStats stats;
  stats.num_allocations = allocations_.load(std::memory_order_relaxed);
  stats.bytes_in_use = in_use_.load(std::memory_order_relaxed);
  stats.peak_bytes_in_use = peak_.load(std::memory_order_relaxed);
  stats.largest_allocation = largest_.load(std::memory_order_relaxed);
  return stats;
}

Allocator* HostAllocator() { return TheHostAllocator(); }

size_t TrimHostMemory() {
  const size_t released = TheHostAllocator()->Trim();
  malloc_trim(0);
  return released;
}

size_t KeptHostMemory() { return TheHostAllocator()->kept_bytes(); }

}  // namespace millstream
