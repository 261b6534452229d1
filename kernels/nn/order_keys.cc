#include "kernels/nn/order_keys.h"

#include <cstring>
#include <type_traits>

#include "kernels/common/narrow_float.h"

namespace millstream::kernels {
namespace {

// IEEE 754 numbers are ordered as their bits are, once negative ones are turned upside down.
template <typename Bits, typename Float>
uint64_t FloatKey(Float x) {
  constexpr Bits kSign = Bits{1} << (8 * sizeof(Bits) - 1);
  if (x != x) return 0;
  const Float value = x == 0 ? Float(0) : x;  // the two zeros are equal
  Bits bits;
  std::memcpy(&bits, &value, sizeof(bits));
  return static_cast<Bits>((bits & kSign) != 0 ? ~bits : bits | kSign);
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
void MakeKeys(const void* elements, int64_t begin, int64_t n, uint64_t* keys) {
  const T* x = static_cast<const T*>(elements) + begin;
  for (int64_t i = 0; i < n; ++i) keys[i] = KeyOf(x[i]);
}

}  // namespace

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
