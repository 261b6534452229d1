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

}  // namespace millstream::kernels

#endif  // MILLSTREAM_KERNELS_SIMD_VECTOR_H_
