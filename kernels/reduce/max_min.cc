// Max, Min, All, Any. A NaN is the extreme of whatever it is among; the extreme of nothing is the
// least extreme value of the type.
#include <limits>
#include <type_traits>

#include "kernels/reduce/reducers.h"

namespace millstream::kernels {
namespace {

// a where the condition holds, else b. For vectors the condition is one of all ones or all zeros an
// element, and is used as bits: compilers turn ?: on vectors into a branch an element.
template <typename Condition, typename V>
V Choose(Condition condition, V a, V b) {
  if constexpr (std::is_arithmetic_v<V>) {
    return condition ? a : b;
  } else {
    return (V)((condition & (Condition)a) | (~condition & (Condition)b));
  }
}

template <typename T>
struct MaxReducer : SameTypes<T> {
  using Acc = ComputeTypeOf<T>;
  static constexpr bool kComparesVectors = true;
  static Acc Identity() {
    if constexpr (std::is_floating_point_v<Acc>) return -std::numeric_limits<Acc>::infinity();
    return std::numeric_limits<Acc>::lowest();
  }
  template <typename V>
  static V Combine(V a, V b) {
    return Choose((a < b) | (b != b), b, a);
  }
};

template <typename T>
struct MinReducer : SameTypes<T> {
  using Acc = ComputeTypeOf<T>;
  static constexpr bool kComparesVectors = true;
  static Acc Identity() {
    if constexpr (std::is_floating_point_v<Acc>) return std::numeric_limits<Acc>::infinity();
    return std::numeric_limits<Acc>::max();
  }
  template <typename V>
  static V Combine(V a, V b) {
    return Choose((b < a) | (b != b), b, a);
  }
};

// On the bytes of bool, which are 0 or 1.
struct AllReducer : SameTypes<uint8_t> {
  static uint8_t Identity() { return 1; }
  static uint8_t Combine(uint8_t a, uint8_t b) { return static_cast<uint8_t>(a & b); }
};

struct AnyReducer : SameTypes<uint8_t> {
  static uint8_t Identity() { return 0; }
  static uint8_t Combine(uint8_t a, uint8_t b) { return static_cast<uint8_t>(a | b); }
};

const ms::Registered max_kernels =
    RegisterEach<MaxReducer, float, double, Float16, BFloat16, int8_t, int16_t, int32_t, int64_t,
                 uint8_t, uint16_t, uint32_t, uint64_t>("Max");
const ms::Registered min_kernels =
    RegisterEach<MinReducer, float, double, Float16, BFloat16, int8_t, int16_t, int32_t, int64_t,
                 uint8_t, uint16_t, uint32_t, uint64_t>("Min");
const ms::Registered all = RegisterReduce<AllReducer>("All", {});
const ms::Registered any = RegisterReduce<AnyReducer>("Any", {});

}  // namespace
}  // namespace millstream::kernels
