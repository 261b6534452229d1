#include "kernels/common/vector_copy.h"

#include <cstring>

#include "kernels/simd/vector.h"

namespace millstream::kernels {
namespace {

// Bytes of the vectors of AVX2: wider ones copied no faster.
constexpr int64_t kLeast = 32;

template <int kBytes>
struct CopyVectors {
  // REQUIRES: bytes >= kBytes.
  static void Run(const char* from, int64_t bytes, char* to) {
    constexpr int64_t kTogether = 4;
    int64_t at = 0;
    for (; at <= bytes - kTogether * kBytes; at += kTogether * kBytes) {
      Vector<char, kBytes> vectors[kTogether];
#pragma GCC unroll 4
      for (int64_t i = 0; i < kTogether; ++i) vectors[i] = Load<kBytes>(from + at + i * kBytes);
#pragma GCC unroll 4
      for (int64_t i = 0; i < kTogether; ++i) Store(vectors[i], to + at + i * kBytes);
    }
    for (; at <= bytes - kBytes; at += kBytes) Store(Load<kBytes>(from + at), to + at);
    // The last vector takes some of the bytes before the rest once more.
    if (at < bytes) Store(Load<kBytes>(from + bytes - kBytes), to + bytes - kBytes);
  }
};

}  // namespace

void VectorCopy(const void* from, int64_t bytes, void* to) {
  if (bytes < kLeast) {
    std::memcpy(to, from, static_cast<size_t>(bytes));
    return;
  }
  RunVectorLoopUpTo<InstructionSet::kAvx2, CopyVectors>(static_cast<const char*>(from), bytes,
                                                        static_cast<char*>(to));
}

}  // namespace millstream::kernels
