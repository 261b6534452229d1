#include "kernels/common/streamed_output.h"

#include <unistd.h>

#include <algorithm>
#include <cstring>

#if defined(__SSE2__)
#include <immintrin.h>

#include "kernels/simd/instruction_set.h"
#endif

namespace millstream::kernels {
namespace {

#if defined(__SSE2__)

constexpr int64_t kLineBytes = 64;

// Larger caches are shared by many cores, so that a tensor cannot count on all of one.
constexpr int64_t kMostCache = int64_t{32} << 20;

// What the last cache holds; without a known size, that of a small one.
int64_t LastCacheBytes() {
  static const int64_t bytes = [] {
    const int64_t known = sysconf(_SC_LEVEL3_CACHE_SIZE);
    return std::min(known > 0 ? known : int64_t{8} << 20, kMostCache);
  }();
  return bytes;
}

// Whole lines. The processor collects stores to one line before it writes it; the fewer they are,
// the better. (By hand, because compilers have no such store for vectors of any width.)
struct CopyLines {
  static void InBaseline(const char* from, int64_t bytes, char* to) {
    for (int64_t i = 0; i < bytes; i += 16) {
      _mm_stream_si128(reinterpret_cast<__m128i*>(to + i),
                       _mm_loadu_si128(reinterpret_cast<const __m128i*>(from + i)));
    }
  }
  __attribute__((target("avx2"), noinline)) static void InAvx2(const char* from, int64_t bytes,
                                                               char* to) {
    for (int64_t i = 0; i < bytes; i += 32) {
      _mm256_stream_si256(reinterpret_cast<__m256i*>(to + i),
                          _mm256_loadu_si256(reinterpret_cast<const __m256i*>(from + i)));
    }
  }
};

#endif

}  // namespace

#if defined(__SSE2__)

bool IsStreamed(int64_t read, int64_t written) {
  return written >= kStreamedTileBytes && read + written >= LastCacheBytes();
}

void StreamCopy(const void* from, int64_t bytes, void* to) {
  const char* source = static_cast<const char*>(from);
  char* target = static_cast<char*>(to);
  const int64_t over = static_cast<int64_t>(reinterpret_cast<uintptr_t>(target) % kLineBytes);
  const int64_t head = std::min(bytes, over == 0 ? 0 : kLineBytes - over);
  std::memcpy(target, source, static_cast<size_t>(head));
  const int64_t lines = (bytes - head) / kLineBytes * kLineBytes;
  if (ChosenInstructionSet() >= InstructionSet::kAvx2) {
    CopyLines::InAvx2(source + head, lines, target + head);
  } else {
    CopyLines::InBaseline(source + head, lines, target + head);
  }
  const int64_t done = head + lines;
  std::memcpy(target + done, source + done, static_cast<size_t>(bytes - done));
}

void EndStreaming() { _mm_sfence(); }

#else

bool IsStreamed(int64_t /*read*/, int64_t /*written*/) { return false; }

void StreamCopy(const void* from, int64_t bytes, void* to) {
  std::memcpy(to, from, static_cast<size_t>(bytes));
}

void EndStreaming() {}

#endif

}  // namespace millstream::kernels
