// IsNan, IsInf, IsFinite.
#include <cmath>
#include <limits>

#include "kernels/elementwise/unary.h"

namespace millstream::kernels {
namespace {

struct IsNanOp {
  static constexpr int64_t kPicoseconds = 250;
  template <typename T>
  static bool Apply(T x) {
    return x != x;
  }
};

struct IsInfOp {
  static constexpr int64_t kPicoseconds = 250;
  template <typename T>
  static bool Apply(T x) {
    return std::fabs(x) == std::numeric_limits<T>::infinity();
  }
};

struct IsFiniteOp {
  static constexpr int64_t kPicoseconds = 250;
  template <typename T>
  static bool Apply(T x) {
    return std::fabs(x) < std::numeric_limits<T>::infinity();
  }
};

// No loops of a fused operation, and no in-place pair: the output is of bools.
template <typename Op>
ms::Registered RegisterPredicate(const char* op) {
  return ms::RegisterRow<ElementwiseKernel>(op, kUnaryRow<Op, float, double>,
                                            ms::KernelOptions().Types("T", TypesIn(kFloatTypes)));
}

const ms::Registered is_nan = RegisterPredicate<IsNanOp>("IsNan");
const ms::Registered is_inf = RegisterPredicate<IsInfOp>("IsInf");
const ms::Registered is_finite = RegisterPredicate<IsFiniteOp>("IsFinite");

}  // namespace
}  // namespace millstream::kernels
