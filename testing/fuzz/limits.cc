// The C library's allocation functions are replaced by ones that count and hand on.
#include "testing/fuzz/limits.h"

#include <malloc.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstddef>
#include <cstring>
#include <ctime>

#include "absl/strings/str_cat.h"

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__) || defined(__clang__)
#define MS_COUNTS_ALLOCATIONS 0
#else
#define MS_COUNTS_ALLOCATIONS 1
#endif

namespace millstream::fuzz {
namespace {

std::atomic<int64_t> g_bytes{0};
std::atomic<int64_t> g_peak{0};
std::atomic<int64_t> g_allocations{0};

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr double kSlowdown = 10;
#else
constexpr double kSlowdown = 1;
#endif

double ProcessSeconds() {
  timespec now = {};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

#if MS_COUNTS_ALLOCATIONS
void* Counted(void* pointer) {
  if (pointer == nullptr) return nullptr;
  g_allocations.fetch_add(1, std::memory_order_relaxed);
  const auto size = static_cast<int64_t>(malloc_usable_size(pointer));
  const int64_t now = g_bytes.fetch_add(size, std::memory_order_relaxed) + size;
  int64_t peak = g_peak.load(std::memory_order_relaxed);
  while (now > peak && !g_peak.compare_exchange_weak(peak, now, std::memory_order_relaxed)) {
  }
  return pointer;
}

void Uncount(void* pointer) {
  if (pointer == nullptr) return;
  g_bytes.fetch_sub(static_cast<int64_t>(malloc_usable_size(pointer)), std::memory_order_relaxed);
}
#endif

}  // namespace

Cost CostOf(absl::FunctionRef<void()> call) {
  const int64_t before = g_bytes.load();
  g_peak.store(before);
  const int64_t allocations = g_allocations.load();
  const double start = ProcessSeconds();
  call();
  const double seconds = (ProcessSeconds() - start) / kSlowdown;
  return {g_peak.load() - before, g_allocations.load() - allocations, seconds};
}

std::string Excess(const Cost& cost) {
  std::string text;
  if (cost.bytes > kMaxBytes) {
    absl::StrAppend(&text, cost.bytes, " bytes of memory, of ", kMaxBytes, " at the most; ");
  }
  if (cost.allocations > kMaxAllocations) {
    absl::StrAppend(&text, cost.allocations, " allocations, of ", kMaxAllocations,
                    " at the most; ");
  }
  if (cost.seconds > kGuardSeconds) {
    absl::StrAppend(&text, cost.seconds, " s of processor time: the guard against hanging is ",
                    kGuardSeconds, " s; ");
  }
  return text;
}

}  // namespace millstream::fuzz

#if MS_COUNTS_ALLOCATIONS

using millstream::fuzz::Counted;
using millstream::fuzz::Uncount;

extern "C" {

// The C library's own, by the names under which it keeps them.
void* __libc_malloc(size_t size);                      // NOLINT(bugprone-reserved-identifier)
void __libc_free(void* pointer);                       // NOLINT(bugprone-reserved-identifier)
void* __libc_calloc(size_t count, size_t size);        // NOLINT(bugprone-reserved-identifier)
void* __libc_realloc(void* pointer, size_t size);      // NOLINT(bugprone-reserved-identifier)
void* __libc_memalign(size_t alignment, size_t size);  // NOLINT(bugprone-reserved-identifier)

void* malloc(size_t size) { return Counted(__libc_malloc(size)); }
void free(void* pointer) {
  Uncount(pointer);
  __libc_free(pointer);
}
void* calloc(size_t count, size_t size) { return Counted(__libc_calloc(count, size)); }
void* realloc(void* pointer, size_t size) {
  Uncount(pointer);
  void* const moved = __libc_realloc(pointer, size);
  if (moved == nullptr && size > 0) {
    Counted(pointer);  // it stays where it was
    return nullptr;
  }
  return Counted(moved);
}
void* memalign(size_t alignment, size_t size) { return Counted(__libc_memalign(alignment, size)); }
void* aligned_alloc(size_t alignment, size_t size) {
  return Counted(__libc_memalign(alignment, size));
}
int posix_memalign(void** out, size_t alignment, size_t size) {
  void* const pointer = Counted(__libc_memalign(alignment, size));
  if (pointer == nullptr) return ENOMEM;
  *out = pointer;
  return 0;
}

}  // extern "C"

#endif  // MS_COUNTS_ALLOCATIONS
