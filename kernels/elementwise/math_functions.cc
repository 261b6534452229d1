// Sqrt, Rsqrt, Reciprocal, Inv, Exp, Log, Tanh, Sigmoid on real and complex numbers, Erf on real
// ones.
#include <cmath>
#include <complex>

#include "kernels/common/complex_math.h"
#include "kernels/common/vector_math.h"
#include "kernels/elementwise/unary.h"

namespace millstream::kernels {
namespace {

struct SqrtOp {
  static constexpr int64_t kPicoseconds = 1000;
  template <typename T>
  static T Apply(T x) {
    return std::sqrt(x);
  }
};

struct RsqrtOp {
  static constexpr int64_t kPicoseconds = 1500;
  template <typename T>
  static T Apply(T x) {
    return T(1) / std::sqrt(x);
  }
};

struct ReciprocalOp {
  static constexpr int64_t kPicoseconds = 800;
  template <typename T>
  static T Apply(T x) {
    return T(1) / x;
  }
};

struct ExpOp {
  static constexpr int64_t kPicoseconds = 3000;
  template <typename T>
  static T Apply(T x) {
    return Exp(x);
  }
};

struct LogOp {
  static constexpr int64_t kPicoseconds = 3000;
  template <typename T>
  static T Apply(T x) {
    return Log(x);
  }
};

struct TanhOp {
  static constexpr int64_t kPicoseconds = 4000;
  template <typename T>
  static T Apply(T x) {
    return Tanh(x);
  }
};

struct SigmoidOp {
  static constexpr int64_t kPicoseconds = 4000;
  template <typename T>
  static T Apply(T x) {
    return Sigmoid(x);
  }
};

struct ErfOp {
  static constexpr int64_t kPicoseconds = 2000;
  template <typename T>
  static T Apply(T x) {
    return Erf(x);
  }
};

template <typename Op>
ms::Registered RegisterNumbers(const char* op) {
  return RegisterUnary<Op, float, double, std::complex<float>, std::complex<double>>(
      op, kFloatTypes | kComplexTypes);
}

const ms::Registered sqrt_kernels = RegisterNumbers<SqrtOp>("Sqrt");
const ms::Registered rsqrt = RegisterNumbers<RsqrtOp>("Rsqrt");
const ms::Registered reciprocal = RegisterNumbers<ReciprocalOp>("Reciprocal");
const ms::Registered inv = RegisterNumbers<ReciprocalOp>("Inv");
const ms::Registered exp_kernels = RegisterNumbers<ExpOp>("Exp");
const ms::Registered log_kernels = RegisterNumbers<LogOp>("Log");
const ms::Registered tanh_kernels = RegisterNumbers<TanhOp>("Tanh");
const ms::Registered sigmoid = RegisterNumbers<SigmoidOp>("Sigmoid");
const ms::Registered erf_kernels = RegisterUnary<ErfOp, float, double>("Erf", kFloatTypes);

}  // namespace
}  // namespace millstream::kernels
