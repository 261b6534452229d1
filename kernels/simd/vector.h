// Short vectors of the width that the target has, for kernels whose speed hangs on them.
//
// They are the compiler's own vector types: +, *, comparison and ?: work element by element. The
// width follows the flags that the file is compiled with, so that one source gives every CPU
// variant of a plugin.
#ifndef MILLSTREAM_KERNELS_SIMD_VECTOR_H_
#define MILLSTREAM_KERNELS_SIMD_VECTOR_H_

#include <cstdint>
#include <cstring>

namespace millstream::kernels {

#if defined(__AVX512F__)
inline constexpr int kVectorBytes = 64;
#elif defined(__AVX__)
inline constexpr int kVectorBytes = 32;
#else
inline constexpr int kVectorBytes = 16;
#endif

template <typename T>
struct VectorOf {
  typedef T type __attribute__((vector_size(kVectorBytes)));
};
template <typename T>
using Vector = typename VectorOf<T>::type;

template <typename T>
inline constexpr int kLanes = kVectorBytes / static_cast<int>(sizeof(T));

// `address` needs the alignment of T alone.
template <typename T>
inline Vector<T> Load(const T* address) {
  Vector<T> vector;
  std::memcpy(&vector, address, sizeof(vector));
  return vector;
}
template <typename T>
inline void Store(Vector<T> vector, T* address) {
  std::memcpy(address, &vector, sizeof(vector));
}
template <typename T>
inline Vector<T> Broadcast(T value) {
  return value - Vector<T>{};
}

}  // namespace millstream::kernels

#endif  // MILLSTREAM_KERNELS_SIMD_VECTOR_H_
