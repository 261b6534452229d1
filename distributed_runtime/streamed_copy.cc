#include "distributed_runtime/streamed_copy.h"

#include <algorithm>
#include <cstdint>
#include <cstring>

#if defined(__SSE2__)
#include <emmintrin.h>
#endif

namespace millstream {

#if defined(__SSE2__)

namespace {

constexpr size_t kLine = 64;
constexpr size_t kVector = 16;

void CopyVector(const char* from, char* to) {
  _mm_stream_si128(reinterpret_cast<__m128i*>(to),
                   _mm_loadu_si128(reinterpret_cast<const __m128i*>(from)));
}

}  // namespace

// Whole lines are streamed: the processor collects the stores to a line before it writes it.
void StreamCopy(const char* from, size_t size, char* to) {
  const size_t over = reinterpret_cast<uintptr_t>(to) % kLine;
  const size_t head = over == 0 ? 0 : std::min(size, kLine - over);
  const size_t end = head + (size - head) / kLine * kLine;
  std::memcpy(to, from, head);
  for (size_t i = head; i < end; i += kLine) {
    for (size_t k = 0; k < kLine; k += kVector) CopyVector(from + i + k, to + i + k);
  }
  std::memcpy(to + end, from + end, size - end);
}

void EndStreaming() { _mm_sfence(); }

#else

void StreamCopy(const char* from, size_t size, char* to) { std::memcpy(to, from, size); }

void EndStreaming() {}

#endif

}  // namespace millstream
