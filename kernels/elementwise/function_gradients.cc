// ReluGrad, SqrtGrad, RsqrtGrad, ReciprocalGrad, InvGrad, TanhGrad, SigmoidGrad: the gradient of a
// function from its result y (for Relu: its input) and the gradient dy of its result.
//
// For complex numbers the gradient is dy times the conjugate of the derivative. SqrtGrad,
// RsqrtGrad, ReciprocalGrad and InvGrad conjugate y themselves; TanhGrad and SigmoidGrad are given
// it conjugate.
#include <complex>

#include "kernels/common/complex_math.h"
#include "kernels/elementwise/binary.h"

namespace millstream::kernels {
namespace {

// Where the feature is not positive the gradient is multiplied by zero: NaN and infinity stay seen.
struct ReluGradOp {
  static constexpr int64_t kPicoseconds = 350;
  static constexpr const char* kNames[2] = {"gradients", "features"};
  template <typename T>
  static T Apply(T gradient, T feature) {
    return WrappingProduct(gradient, feature > 0 ? T(1) : T(0));
  }
};

// Where dy is zero, so are the gradients of the roots and the reciprocal, whatever y is.
struct OfResult {
  static constexpr const char* kNames[2] = {"y", "dy"};
};

struct SqrtGradOp : OfResult {
  static constexpr int64_t kPicoseconds = 800;
  template <typename T>
  static T Apply(T y, T dy) {
    return dy == T(0) ? T(0) : WrappingProduct(dy, T(0.5)) / Conjugate(y);
  }
};

struct RsqrtGradOp : OfResult {
  static constexpr int64_t kPicoseconds = 350;
  template <typename T>
  static T Apply(T y, T dy) {
    const T c = Conjugate(y);
    const T product = WrappingProduct(WrappingProduct(dy, c), WrappingProduct(c, c));
    return dy == T(0) ? T(0) : WrappingProduct(T(-0.5), product);
  }
};

struct ReciprocalGradOp : OfResult {
  static constexpr int64_t kPicoseconds = 350;
  template <typename T>
  static T Apply(T y, T dy) {
    const T c = Conjugate(y);
    return dy == T(0) ? T(0) : WrappingProduct(WrappingProduct(-dy, c), c);
  }
};

struct TanhGradOp : OfResult {
  static constexpr int64_t kPicoseconds = 350;
  template <typename T>
  static T Apply(T y, T dy) {
    return WrappingProduct(dy, T(1) - WrappingProduct(y, y));
  }
};

struct SigmoidGradOp : OfResult {
  static constexpr int64_t kPicoseconds = 350;
  template <typename T>
  static T Apply(T y, T dy) {
    return WrappingProduct(WrappingProduct(dy, y), T(1) - y);
  }
};

template <typename Op, typename... Ts>
inline constexpr SameShapeKernel::Row kGradientRow = {kSameShapeTable<Op, Ts...>, Op::kNames[0],
                                                      Op::kNames[1]};

template <typename Op, typename... Ts>
ms::Registered RegisterGradient(const char* op, uint32_t sets) {
  AddBinaryFloatLoops<Op, Ts...>(op);
  return ms::RegisterRow<SameShapeKernel>(op, kGradientRow<Op, Ts...>, BinaryOptions(sets));
}

template <typename Op>
ms::Registered RegisterNumbers(const char* op) {
  return RegisterGradient<Op, float, double, std::complex<float>, std::complex<double>>(
      op, kFloatTypes | kComplexTypes);
}

const ms::Registered relu_grad =
    RegisterGradient<ReluGradOp, float, double, int8_t, int16_t, int32_t, int64_t, uint8_t,
                     uint16_t, uint32_t, uint64_t>("ReluGrad", kOrderedTypes);
const ms::Registered sqrt_grad = RegisterNumbers<SqrtGradOp>("SqrtGrad");
const ms::Registered rsqrt_grad = RegisterNumbers<RsqrtGradOp>("RsqrtGrad");
const ms::Registered reciprocal_grad = RegisterNumbers<ReciprocalGradOp>("ReciprocalGrad");
const ms::Registered inv_grad = RegisterNumbers<ReciprocalGradOp>("InvGrad");
const ms::Registered tanh_grad = RegisterNumbers<TanhGradOp>("TanhGrad");
const ms::Registered sigmoid_grad = RegisterNumbers<SigmoidGradOp>("SigmoidGrad");

}  // namespace
}  // namespace millstream::kernels
