// Short vectors for kernels whose speed hangs on them.
//
// They are the compiler's own vector types: +, *, comparison and ?: work element by element. Their
// width is a parameter of the loops that use them, each of which runs in the instruction set whose
// vectors are that wide (RunVectorLoop, instruction_set.h).
#ifndef MILLSTREAM_KERNELS_SIMD_VECTOR_H_
#define MILLSTREAM_KERNELS_SIMD_VECTOR_H_

#include <cstdint>
#include <cstring>

#include "kernels/simd/instruction_set.h"

namespace millstream::kernels {

template <typename T, int kBytes>
struct VectorOf {
  typedef T type __attribute__((vector_size(kBytes)));
};
template <typename T, int kBytes>
using Vector = typename VectorOf<T, kBytes>::type;

template <typename T, int kBytes>
inline constexpr int kLanes = kBytes / static_cast<int>(sizeof(T));

// `address` needs the alignment of T alone.
template <int kBytes, typename T>
inline Vector<T, kBytes> Load(const T* address) {
  Vector<T, kBytes> vector;
  std::memcpy(&vector, address, sizeof(vector));
  return vector;
}
template <typename V, typename T>
inline void Store(V vector, T* address) {
  std::memcpy(address, &vector, sizeof(vector));
}
template <int kBytes, typename T>
inline Vector<T, kBytes> Broadcast(T value) {
  return value - Vector<T, kBytes>{};
}

// All elements as one: combine(low half, high half), on vectors down to 16 bytes and then on
// elements.
template <int kBytes, typename T, typename Combine>
inline T FoldHalves(Vector<T, kBytes> vector, Combine combine) {
  if constexpr (kBytes > 16) {
    Vector<T, kBytes / 2> halves[2];
    std::memcpy(halves, &vector, sizeof(halves));
    return FoldHalves<kBytes / 2, T>(combine(halves[0], halves[1]), combine);
  } else {
    constexpr int kCount = kLanes<T, kBytes>;
    T values[kCount];
    std::memcpy(values, &vector, sizeof(values));
    for (int step = kCount / 2; step > 0; step /= 2) {
      for (int i = 0; i < step; ++i) values[i] = combine(values[i], values[i + step]);
    }
    return values[0];
  }
}

// Whether a comparison held for any element; `mask` is what it gave, or the | of several.
template <typename Mask>
inline bool AnyOf(Mask mask) {
  int64_t words[sizeof(Mask) / sizeof(int64_t)];
  std::memcpy(words, &mask, sizeof(words));
  int64_t any = 0;
  for (const int64_t word : words) any |= word;
  return any != 0;
}

}  // namespace millstream::kernels

#endif  // MILLSTREAM_KERNELS_SIMD_VECTOR_H_
