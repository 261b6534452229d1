// Sqrt, Rsqrt, Reciprocal, Inv, Exp, Log, Tanh, Sigmoid on float32 and float64.
#include <cmath>

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

const ms::Registered sqrt_kernels = RegisterUnaryEach<SqrtOp, float, double>("Sqrt");
const ms::Registered rsqrt = RegisterUnaryEach<RsqrtOp, float, double>("Rsqrt");
const ms::Registered reciprocal = RegisterUnaryEach<ReciprocalOp, float, double>("Reciprocal");
const ms::Registered inv = RegisterUnaryEach<ReciprocalOp, float, double>("Inv");
const ms::Registered exp_kernels = RegisterUnaryEach<ExpOp, float, double>("Exp");
const ms::Registered log_kernels = RegisterUnaryEach<LogOp, float, double>("Log");
const ms::Registered tanh_kernels = RegisterUnaryEach<TanhOp, float, double>("Tanh");
const ms::Registered sigmoid = RegisterUnaryEach<SigmoidOp, float, double>("Sigmoid");

}  // namespace
}  // namespace millstream::kernels
