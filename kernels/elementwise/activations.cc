// Softplus, Elu, Selu, Softsign, Relu6 and their gradients. SoftplusGrad, SoftsignGrad and
// Relu6Grad take the function's argument, EluGrad and SeluGrad its result.
#include <cmath>
#include <type_traits>

#include "kernels/common/vector_math.h"
#include "kernels/elementwise/binary.h"
#include "kernels/elementwise/unary.h"

namespace millstream::kernels {
namespace {

// log(1 + x) for 0 <= x <= 1. What the rounding of 1 + x lost is added to first order.
inline float LogOfOnePlus(float x) {
  const float sum = 1.0f + x;
  return Log(sum) + (x - (sum - 1.0f)) / sum;
}
inline double LogOfOnePlus(double x) { return std::log1p(x); }

// e^x - 1 for x <= 0: near 0 by the sum of x^n / n!, whose next term is below 1e-8 of the result.
inline float ExpLessOne(float x) {
  float p = x * (1.0f / 5040) + 1.0f / 720;
  p = p * x + 1.0f / 120;
  p = p * x + 1.0f / 24;
  p = p * x + 1.0f / 6;
  p = p * x + 0.5f;
  const float near_zero = p * x * x + x;
  const float far = Exp(x) - 1.0f;
  return x > -0.35f ? near_zero : far;
}
inline double ExpLessOne(double x) { return std::expm1(x); }

// Klambauer et al. 2017: the numbers with which mean 0 and variance 1 are a fixed point.
constexpr double kSeluScale = 1.0507009873554804934193349852946;
constexpr double kSeluAlpha = 1.6732632423543772848170429916717;

struct SoftplusOp {
  static constexpr int64_t kPicoseconds = 6000;
  template <typename T>
  static T Apply(T x) {
    return (x > T(0) ? x : T(0)) + LogOfOnePlus(Exp(-std::fabs(x)));
  }
};

struct EluOp {
  static constexpr int64_t kPicoseconds = 4000;
  template <typename T>
  static T Apply(T x) {
    return x < T(0) ? ExpLessOne(x) : x;
  }
};

struct SeluOp {
  static constexpr int64_t kPicoseconds = 4000;
  template <typename T>
  static T Apply(T x) {
    return x < T(0) ? T(kSeluScale * kSeluAlpha) * ExpLessOne(x) : T(kSeluScale) * x;
  }
};

struct SoftsignOp {
  static constexpr int64_t kPicoseconds = 800;
  template <typename T>
  static T Apply(T x) {
    return x / (T(1) + std::fabs(x));
  }
};

// A NaN stays one; a negative zero becomes a positive one.
struct Relu6Op {
  static constexpr int64_t kPicoseconds = 250;
  template <typename T>
  static T Apply(T x) {
    const T positive = x <= T(0) ? T(0) : x;
    return positive > T(6) ? T(6) : positive;
  }
};

struct OfFeatures {
  static constexpr const char* kNames[2] = {"gradients", "features"};
};
struct OfOutputs {
  static constexpr const char* kNames[2] = {"gradients", "outputs"};
};

struct SoftplusGradOp : OfFeatures {
  static constexpr int64_t kPicoseconds = 4000;
  template <typename T>
  static T Apply(T gradient, T feature) {
    return gradient * Sigmoid(feature);
  }
};

struct EluGradOp : OfOutputs {
  static constexpr int64_t kPicoseconds = 350;
  template <typename T>
  static T Apply(T gradient, T output) {
    return output < T(0) ? gradient * (output + T(1)) : gradient;
  }
};

struct SeluGradOp : OfOutputs {
  static constexpr int64_t kPicoseconds = 350;
  template <typename T>
  static T Apply(T gradient, T output) {
    return gradient * (output < T(0) ? output + T(kSeluScale * kSeluAlpha) : T(kSeluScale));
  }
};

struct SoftsignGradOp : OfFeatures {
  static constexpr int64_t kPicoseconds = 800;
  template <typename T>
  static T Apply(T gradient, T feature) {
    const T size = T(1) + std::fabs(feature);
    return gradient / size / size;
  }
};

// Outside of (0, 6) the gradient is multiplied by zero: NaN and infinity stay seen.
struct Relu6GradOp : OfFeatures {
  static constexpr int64_t kPicoseconds = 350;
  template <typename T>
  static T Apply(T gradient, T feature) {
    return WrappingProduct(gradient, feature > T(0) && feature < T(6) ? T(1) : T(0));
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

const ms::Registered softplus = RegisterUnary<SoftplusOp, float, double>("Softplus", kFloatTypes);
const ms::Registered elu = RegisterUnary<EluOp, float, double>("Elu", kFloatTypes);
const ms::Registered selu = RegisterUnary<SeluOp, float, double>("Selu", kFloatTypes);
const ms::Registered softsign = RegisterUnary<SoftsignOp, float, double>("Softsign", kFloatTypes);
const ms::Registered relu6 =
    RegisterUnary<Relu6Op, float, double, int8_t, int16_t, int32_t, int64_t, uint8_t, uint16_t,
                  uint32_t, uint64_t>("Relu6", kOrderedTypes);

const ms::Registered softplus_grad =
    RegisterGradient<SoftplusGradOp, float, double>("SoftplusGrad", kFloatTypes);
const ms::Registered elu_grad = RegisterGradient<EluGradOp, float, double>("EluGrad", kFloatTypes);
const ms::Registered selu_grad =
    RegisterGradient<SeluGradOp, float, double>("SeluGrad", kFloatTypes);
const ms::Registered softsign_grad =
    RegisterGradient<SoftsignGradOp, float, double>("SoftsignGrad", kFloatTypes);
const ms::Registered relu6_grad =
    RegisterGradient<Relu6GradOp, float, double, int8_t, int16_t, int32_t, int64_t, uint8_t,
                     uint16_t, uint32_t, uint64_t>("Relu6Grad", kOrderedTypes);

}  // namespace
}  // namespace millstream::kernels
