// BitwiseAnd, BitwiseOr, BitwiseXor, Invert, LeftShift, RightShift, PopulationCount of integers.
#include <algorithm>
#include <cstdint>
#include <type_traits>

#include "kernels/elementwise/binary.h"
#include "kernels/elementwise/unary.h"

namespace millstream::kernels {
namespace {

struct AndOp {
  static constexpr int64_t kPicoseconds = 300;
  static constexpr bool kCommutes = true;
  template <typename T>
  static T Apply(T x, T y) {
    return static_cast<T>(x & y);
  }
};

struct OrOp {
  static constexpr int64_t kPicoseconds = 300;
  static constexpr bool kCommutes = true;
  template <typename T>
  static T Apply(T x, T y) {
    return static_cast<T>(x | y);
  }
};

struct XorOp {
  static constexpr int64_t kPicoseconds = 300;
  static constexpr bool kCommutes = true;
  template <typename T>
  static T Apply(T x, T y) {
    return static_cast<T>(x ^ y);
  }
};

struct InvertOp {
  static constexpr int64_t kPicoseconds = 250;
  template <typename T>
  static T Apply(T x) {
    return static_cast<T>(~x);
  }
};

// By at least 0 and at most one less than there are bits: C defines no other shift.
template <typename T>
int ShiftWithin(T by) {
  return static_cast<int>(std::clamp<T>(by, T(0), T(8 * sizeof(T) - 1)));
}

struct LeftShiftOp {
  static constexpr int64_t kPicoseconds = 500;
  template <typename T>
  static T Apply(T x, T y) {
    return static_cast<T>(static_cast<Wrapping<T>>(x) << ShiftWithin(y));
  }
};

// Signed numbers keep their sign.
struct RightShiftOp {
  static constexpr int64_t kPicoseconds = 500;
  template <typename T>
  static T Apply(T x, T y) {
    return static_cast<T>(x >> ShiftWithin(y));
  }
};

struct PopulationCountOp {
  static constexpr int64_t kPicoseconds = 1500;
  template <typename T>
  static uint8_t Apply(T x) {
    return static_cast<uint8_t>(__builtin_popcountll(x));
  }
};

template <typename Op>
ms::Registered RegisterBits(const char* op) {
  return RegisterBinary<Op, uint8_t, uint16_t, uint32_t, uint64_t>(op, kIntegerTypes);
}

template <typename Op>
ms::Registered RegisterShift(const char* op) {
  return RegisterBinary<Op, int8_t, int16_t, int32_t, int64_t, uint8_t, uint16_t, uint32_t,
                        uint64_t>(op, kIntegerTypes);
}

const ms::Registered bitwise_and = RegisterBits<AndOp>("BitwiseAnd");
const ms::Registered bitwise_or = RegisterBits<OrOp>("BitwiseOr");
const ms::Registered bitwise_xor = RegisterBits<XorOp>("BitwiseXor");
const ms::Registered invert =
    RegisterUnary<InvertOp, uint8_t, uint16_t, uint32_t, uint64_t>("Invert", kIntegerTypes);
const ms::Registered left_shift = RegisterShift<LeftShiftOp>("LeftShift");
const ms::Registered right_shift = RegisterShift<RightShiftOp>("RightShift");
// Its output is of bytes whatever the input is: no in-place pair.
const ms::Registered population_count = ms::RegisterRow<ElementwiseKernel>(
    "PopulationCount", kUnaryRow<PopulationCountOp, uint8_t, uint16_t, uint32_t, uint64_t>,
    ms::KernelOptions().Types("T", TypesIn(kIntegerTypes)));

}  // namespace
}  // namespace millstream::kernels
