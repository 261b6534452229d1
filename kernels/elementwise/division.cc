// Div, TruncateDiv, RealDiv, FloorDiv, FloorMod, Mod, TruncateMod, Pow, Atan2, NextAfter.
//
// Integer division by zero and negative integer exponents are INVALID_ARGUMENT; the smallest
// integer divided by -1 wraps to itself instead of trapping.
#include <cmath>
#include <complex>
#include <iterator>
#include <limits>

#include "kernels/common/complex_math.h"
#include "kernels/common/vector_math.h"
#include "kernels/elementwise/binary.h"
#include "kernels/elementwise/shared_tables.h"

namespace millstream::kernels {
namespace {

template <typename T>
constexpr bool IsMinusOne(T y) {
  if constexpr (std::is_signed_v<T>) return y == T(-1);
  return false;
}

// Quotient cut towards zero; 0 for a division by zero, which the caller reports.
template <typename T>
T IntegerQuotient(T x, T y) {
  if (y == 0) return 0;
  if (IsMinusOne(y)) return WrappingDifference(T(0), x);
  return static_cast<T>(x / y);
}

template <typename T>
T IntegerRemainder(T x, T y) {
  if (y == 0 || IsMinusOne(y)) return 0;
  return static_cast<T>(x % y);
}

struct RealDivOp {
  static constexpr int64_t kPicoseconds = 800;
  template <typename T>
  static T Apply(T x, T y) {
    return x / y;
  }
};

struct IntegerDivOp {
  static constexpr int64_t kPicoseconds = 4000;
  static constexpr const char* kRefusal = "Integer division by zero: input y has a zero";
  template <typename T>
  static bool Refuses(T, T y) {
    return y == 0;
  }
  template <typename T>
  static T Apply(T x, T y) {
    return IntegerQuotient(x, y);
  }
};

// How a quotient becomes a whole number.
struct Down {
  template <typename T>
  static T Round(T x) {
    return Floor(x);
  }
};
struct TowardsZero {
  template <typename T>
  static T Round(T x) {
    return std::copysign(Floor(std::fabs(x)), x);
  }
};

// A subnormal quotient counts as zero, so that the floor of a tiny negative one is -0, not -1: the
// reference results come from threads that flush subnormal numbers.
template <typename Rounding>
struct RealWholeDivOp {
  static constexpr int64_t kPicoseconds = 1500;
  template <typename T>
  static T Apply(T x, T y) {
    const T quotient = x / y;
    const bool subnormal = std::fabs(quotient) < std::numeric_limits<T>::min();
    return Rounding::Round(subnormal ? std::copysign(T(0), quotient) : quotient);
  }
};

// On the floats of a 16-bit type; the quotient is rounded to that type before it becomes a
// whole number, as the reference does: 0.999999 counts as 1.
template <typename Rounding, typename Narrow>
struct NarrowWholeDivOp {
  static constexpr int64_t kPicoseconds = 2000;
  template <typename T>
  static T Apply(T x, T y) {
    return Rounding::Round(static_cast<float>(Narrow(x / y)));
  }
};

struct IntegerFloorDivOp {
  static constexpr int64_t kPicoseconds = 4000;
  static constexpr const char* kRefusal = IntegerDivOp::kRefusal;
  template <typename T>
  static bool Refuses(T, T y) {
    return y == 0;
  }
  template <typename T>
  static T Apply(T x, T y) {
    const T quotient = IntegerQuotient(x, y);
    const bool rounds_up = (x < 0) != (y < 0) && IntegerRemainder(x, y) != 0;
    return static_cast<T>(quotient - (rounds_up ? 1 : 0));
  }
};

// x - floor(x / y) * y, of the sign of y.
struct RealFloorModOp {
  static constexpr int64_t kPicoseconds = 10000;
  static constexpr bool kInLibrary = true;
  template <typename T>
  static T Apply(T x, T y) {
    const T remainder = std::fmod(x, y);
    return remainder != 0 && (y < 0) != (remainder < 0) ? remainder + y : remainder;
  }
};

struct IntegerFloorModOp {
  static constexpr int64_t kPicoseconds = 4000;
  static constexpr const char* kRefusal = IntegerDivOp::kRefusal;
  template <typename T>
  static bool Refuses(T, T y) {
    return y == 0;
  }
  template <typename T>
  static T Apply(T x, T y) {
    const T remainder = IntegerRemainder(x, y);
    return static_cast<T>(remainder != 0 && (y < 0) != (remainder < 0) ? remainder + y : remainder);
  }
};

// x - trunc(x / y) * y, of the sign of x.
struct RealRemainderOp {
  static constexpr int64_t kPicoseconds = 10000;
  static constexpr bool kInLibrary = true;
  template <typename T>
  static T Apply(T x, T y) {
    return std::fmod(x, y);
  }
};

struct IntegerRemainderOp {
  static constexpr int64_t kPicoseconds = 4000;
  static constexpr const char* kRefusal = IntegerDivOp::kRefusal;
  template <typename T>
  static bool Refuses(T, T y) {
    return y == 0;
  }
  template <typename T>
  static T Apply(T x, T y) {
    return IntegerRemainder(x, y);
  }
};

struct PowOp {
  static constexpr int64_t kPicoseconds = 25000;
  static constexpr bool kInLibrary = true;
  template <typename T>
  static T Apply(T x, T y) {
    return std::pow(x, y);
  }
};

// Wraps as repeated multiplication would.
struct IntegerPowOp {
  static constexpr int64_t kPicoseconds = 10000;
  static constexpr const char* kRefusal =
      "Integers to negative integer powers are not allowed: input y has a negative exponent";
  template <typename T>
  static bool Refuses(T, T y) {
    return y < 0;
  }
  template <typename T>
  static T Apply(T x, T y) {
    T result = 1;
    for (T exponent = y; exponent > 0; exponent = static_cast<T>(exponent >> 1)) {
      if ((exponent & 1) != 0) result = WrappingProduct(result, x);
      x = WrappingProduct(x, x);
    }
    return result;
  }
};

// The angle of the point (x, y).
struct Atan2Op {
  static constexpr int64_t kPicoseconds = 20000;
  static constexpr bool kInLibrary = true;
  template <typename T>
  static T Apply(T y, T x) {
    return std::atan2(y, x);
  }
};

struct NextAfterOp {
  static constexpr int64_t kPicoseconds = 5000;
  static constexpr bool kInLibrary = true;
  template <typename T>
  static T Apply(T x, T y) {
    return std::nextafter(x, y);
  }
};

template <typename Op>
ms::Registered RegisterIntegers(const char* op) {
  return RegisterBinary<Op, int8_t, int16_t, int32_t, int64_t, uint8_t, uint16_t, uint32_t,
                        uint64_t>(op, kIntegerTypes);
}

template <typename Op>
ms::Registered RegisterNumbers(const char* op) {
  return RegisterBinary<Op, float, double, std::complex<float>, std::complex<double>>(
      op, kFloatTypes | kComplexTypes);
}

// Each 16-bit type rounds in a way of its own.
template <typename Rounding>
ms::Registered RegisterWholeDiv(const char* op) {
  static constexpr BinaryFunctions kFunctions[] = {
      MakeBinaryFunctions<RealWholeDivOp<Rounding>, float>(),
      MakeBinaryFunctions<RealWholeDivOp<Rounding>, double>(),
      MakeBinaryFunctions<NarrowWholeDivOp<Rounding, Float16>, Float16>(),
      MakeBinaryFunctions<NarrowWholeDivOp<Rounding, BFloat16>, BFloat16>()};
  static constexpr BroadcastingKernel::Row kRow = {{kFunctions, std::size(kFunctions)}, false};
  return ms::RegisterRow<BroadcastingKernel>(op, kRow, BinaryOptions(kFloatTypes));
}
ms::Registered RegisterFloorDiv() {
  AddBinaryFloatLoops<RealWholeDivOp<Down>, float>("FloorDiv");
  return RegisterWholeDiv<Down>("FloorDiv");
}

const ms::Registered real_div = RegisterNumbers<RealDivOp>("RealDiv");
const ms::Registered div = RegisterNumbers<RealDivOp>("Div");
const ms::Registered div_integers = RegisterIntegers<IntegerDivOp>("Div");
const ms::Registered floor_div = RegisterFloorDiv();
const ms::Registered floor_div_integers = RegisterIntegers<IntegerFloorDivOp>("FloorDiv");
const ms::Registered floor_mod =
    RegisterBinary<RealFloorModOp, float, double>("FloorMod", kFloatTypes);
const ms::Registered floor_mod_integers = RegisterIntegers<IntegerFloorModOp>("FloorMod");
const ms::Registered truncate_div = RegisterWholeDiv<TowardsZero>("TruncateDiv");
const ms::Registered truncate_div_integers = RegisterIntegers<IntegerDivOp>("TruncateDiv");
const ms::Registered mod = RegisterBinary<RealRemainderOp, float, double>("Mod", kFloatTypes);
const ms::Registered mod_integers = RegisterIntegers<IntegerRemainderOp>("Mod");
const ms::Registered truncate_mod =
    RegisterBinary<RealRemainderOp, float, double>("TruncateMod", kFloatTypes);
const ms::Registered truncate_mod_integers = RegisterIntegers<IntegerRemainderOp>("TruncateMod");
const ms::Registered atan2_kernels = RegisterBinary<Atan2Op, float, double>("Atan2", kFloatTypes);
const ms::Registered pow_numbers = RegisterNumbers<PowOp>("Pow");

template <typename T>
ms::Registered RegisterIntegerPow() {
  return ms::RegisterRow<BroadcastingKernel>(
      "Pow", kBroadcastingRow<false, IntegerPowOp, T>,
      ms::KernelOptions().Type<T>("T").InPlace(0, 0).InPlace(0, 1));
}
// Of the types that it computes itself: the next number of a 16-bit type is not the next float.
ms::Registered RegisterNextAfter() {
  AddBinaryFloatLoops<NextAfterOp, float>("NextAfter");
  return ms::RegisterRow<BroadcastingKernel>(
      "NextAfter", kBroadcastingRow<false, NextAfterOp, float, double>,
      ms::KernelOptions().Types("T", {MS_FLOAT32, MS_FLOAT64}).InPlace(0, 0).InPlace(0, 1));
}
const ms::Registered next_after = RegisterNextAfter();

const ms::Registered pow_int32 = RegisterIntegerPow<int32_t>();
const ms::Registered pow_int64 = RegisterIntegerPow<int64_t>();

// The loops of both kernels of Div.
constexpr BinaryFunctions kQuotientFunctions[] = {
    MakeBinaryFunctions<RealDivOp, float>(),
    MakeBinaryFunctions<RealDivOp, double>(),
    MakeBinaryFunctions<RealDivOp, std::complex<float>>(),
    MakeBinaryFunctions<RealDivOp, std::complex<double>>(),
    MakeBinaryFunctions<IntegerDivOp, int8_t>(),
    MakeBinaryFunctions<IntegerDivOp, int16_t>(),
    MakeBinaryFunctions<IntegerDivOp, int32_t>(),
    MakeBinaryFunctions<IntegerDivOp, int64_t>(),
    MakeBinaryFunctions<IntegerDivOp, uint8_t>(),
    MakeBinaryFunctions<IntegerDivOp, uint16_t>(),
    MakeBinaryFunctions<IntegerDivOp, uint32_t>(),
    MakeBinaryFunctions<IntegerDivOp, uint64_t>()};

}  // namespace

const BinaryTable kQuotientTable = {kQuotientFunctions, std::size(kQuotientFunctions)};

}  // namespace millstream::kernels
