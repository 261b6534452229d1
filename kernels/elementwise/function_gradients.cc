// ReluGrad, SqrtGrad, RsqrtGrad, ReciprocalGrad, InvGrad, TanhGrad, SigmoidGrad: the gradient of a
// function from its result y (for Relu: its input) and the gradient dy of its result.
#include <vector>

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

struct OfResult {
  static constexpr const char* kNames[2] = {"y", "dy"};
};

struct SqrtGradOp : OfResult {
  static constexpr int64_t kPicoseconds = 800;
  template <typename T>
  static T Apply(T y, T dy) {
    return dy * T(0.5) / y;
  }
};

struct RsqrtGradOp : OfResult {
  static constexpr int64_t kPicoseconds = 350;
  template <typename T>
  static T Apply(T y, T dy) {
    return T(-0.5) * dy * y * y * y;
  }
};

struct ReciprocalGradOp : OfResult {
  static constexpr int64_t kPicoseconds = 350;
  template <typename T>
  static T Apply(T y, T dy) {
    return -dy * y * y;
  }
};

struct TanhGradOp : OfResult {
  static constexpr int64_t kPicoseconds = 350;
  template <typename T>
  static T Apply(T y, T dy) {
    return dy * (T(1) - y * y);
  }
};

struct SigmoidGradOp : OfResult {
  static constexpr int64_t kPicoseconds = 350;
  template <typename T>
  static T Apply(T y, T dy) {
    return dy * y * (T(1) - y);
  }
};

template <typename Op, typename T>
class GradientKernel : public SameShapeKernel {
 public:
  GradientKernel() : SameShapeKernel(kBinaryFunctions<Op, T>, Op::kNames[0], Op::kNames[1]) {}
};

template <typename Op, typename... Ts>
ms::Registered RegisterGradient(const char* op) {
  (ms::Register<GradientKernel<Op, Ts>>(op, BinaryOptions({ms::DTypeOf<Ts>()})), ...);
  return ms::Registered();
}

const ms::Registered relu_grad =
    RegisterGradient<ReluGradOp, float, double, int8_t, int16_t, int32_t, int64_t, uint8_t,
                     uint16_t, uint32_t, uint64_t>("ReluGrad");
const ms::Registered sqrt_grad = RegisterGradient<SqrtGradOp, float, double>("SqrtGrad");
const ms::Registered rsqrt_grad = RegisterGradient<RsqrtGradOp, float, double>("RsqrtGrad");
const ms::Registered reciprocal_grad =
    RegisterGradient<ReciprocalGradOp, float, double>("ReciprocalGrad");
const ms::Registered inv_grad = RegisterGradient<ReciprocalGradOp, float, double>("InvGrad");
const ms::Registered tanh_grad = RegisterGradient<TanhGradOp, float, double>("TanhGrad");
const ms::Registered sigmoid_grad = RegisterGradient<SigmoidGradOp, float, double>("SigmoidGrad");

}  // namespace
}  // namespace millstream::kernels
