#include "kernels/nn/order_keys.h"

#include <algorithm>
#include <cstring>
#include <limits>
#include <type_traits>

#include "kernels/common/narrow_float.h"
#include "kernels/simd/vector.h"

namespace millstream::kernels {
namespace {

// IEEE 754 numbers are ordered as their bits are, once negative ones are turned upside down.
template <typename Bits, typename Float>
uint64_t FloatKey(Float x) {
  constexpr Bits kSign = Bits{1} << (8 * sizeof(Bits) - 1);
  const Float value = x + Float(0);  // the two zeros are equal
  Bits bits;
  std::memcpy(&bits, &value, sizeof(bits));
  const Bits key = (bits & kSign) != 0 ? ~bits : bits | kSign;
  return x == x ? key : Bits{0};
}

template <typename T>
uint64_t KeyOf(T x) {
  if constexpr (std::is_same_v<T, double>) {
    return FloatKey<uint64_t>(x);
  } else if constexpr (!std::is_integral_v<T>) {
    return FloatKey<uint32_t>(static_cast<float>(x));
  } else if constexpr (std::is_same_v<T, int64_t>) {
    return static_cast<uint64_t>(x) ^ (uint64_t{1} << 63);
  } else if constexpr (std::is_signed_v<T>) {
    return static_cast<uint32_t>(int32_t{x}) ^ (uint32_t{1} << 31);
  } else {
    return x;
  }
}

template <typename T>
void MakeKeysOf(const T* x, int64_t n, uint64_t* keys) {
#pragma GCC ivdep
  for (int64_t i = 0; i < n; ++i) keys[i] = KeyOf(x[i]);
}
template <typename T>
void MakeKeys(const void* elements, int64_t begin, int64_t n, uint64_t* keys) {
  // Comparisons: see kWidestReduction (kernels/reduce/reduce_loops.h).
  RunLoopUpTo<std::min(kWidestOnFloats<T>, InstructionSet::kAvx2), &MakeKeysOf<T>>(
      static_cast<const T*>(elements) + begin, n, keys);
}

// Of numbers and of vectors. It keeps `best` where x is a NaN.
template <typename V>
V Larger(V x, V best) {
  return x > best ? x : best;
}

template <typename T>
struct LargestOfGroups {
  template <int kBytes>
  struct Loop {
    static void Run(const T* x, int64_t groups, T* largest) {
      constexpr int kEach = kLanes<T, kBytes>;
      constexpr int kVectors = static_cast<int>(kOrderGroup) / kEach;
      for (int64_t i = 0; i < groups; ++i, x += kOrderGroup) {
        Vector<T, kBytes> lanes = Broadcast<kBytes>(Least());
#pragma GCC unroll 16
        for (int v = 0; v < kVectors; ++v) lanes = Larger(Load<kBytes>(x + v * kEach), lanes);
        largest[i] = FoldHalves<kBytes, T>(lanes, [](auto a, auto b) { return Larger(b, a); });
      }
    }
  };

  static constexpr T Least() {
    using Limits = std::numeric_limits<T>;
    return Limits::has_infinity ? -Limits::infinity() : Limits::lowest();
  }
};

template <typename T>
void MakeLargestKeys(const void* elements, int64_t begin, int64_t groups, uint64_t* keys) {
  constexpr int64_t kTogether = 16;
  const T* x = static_cast<const T*>(elements) + begin;
  T largest[kTogether];
  for (int64_t first = 0; first < groups; first += kTogether) {
    const int64_t count = std::min(kTogether, groups - first);
    // Comparisons: see kWidestReduction (kernels/reduce/reduce_loops.h).
    RunVectorLoopUpTo<InstructionSet::kAvx2, LargestOfGroups<T>::template Loop>(
        x + first * kOrderGroup, count, largest);
    MakeKeys<T>(largest, 0, count, keys + first);
  }
}

}  // namespace

LargestOrderKeys LargestOrderKeysOf(MS_DType dtype) {
  switch (dtype) {
    case MS_FLOAT32: return &MakeLargestKeys<float>;
    case MS_FLOAT64: return &MakeLargestKeys<double>;
    case MS_INT32: return &MakeLargestKeys<int32_t>;
    default: return nullptr;
  }
}

MakeOrderKeys OrderKeysOf(MS_DType dtype) {
  switch (dtype) {
    case MS_FLOAT32: return &MakeKeys<float>;
    case MS_FLOAT64: return &MakeKeys<double>;
    case MS_FLOAT16: return &MakeKeys<Float16>;
    case MS_BFLOAT16: return &MakeKeys<BFloat16>;
    case MS_INT8: return &MakeKeys<int8_t>;
    case MS_INT16: return &MakeKeys<int16_t>;
    case MS_INT32: return &MakeKeys<int32_t>;
    case MS_INT64: return &MakeKeys<int64_t>;
    case MS_UINT8: return &MakeKeys<uint8_t>;
    case MS_UINT16: return &MakeKeys<uint16_t>;
    case MS_UINT32: return &MakeKeys<uint32_t>;
    case MS_UINT64: return &MakeKeys<uint64_t>;
    default: return nullptr;
  }
}

}  // namespace millstream::kernels
