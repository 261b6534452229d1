// Xdivy, Xlogy, DivNoNan, MulNoNan: a quotient or a product that is 0 where one operand is, also
// where the other one makes it infinite or no number.
#include <complex>

#include "kernels/common/complex_math.h"
#include "kernels/common/vector_math.h"
#include "kernels/elementwise/binary.h"

namespace millstream::kernels {
namespace {

struct XdivyOp {
  static constexpr int64_t kPicoseconds = 800;
  template <typename T>
  static T Apply(T x, T y) {
    return x == T(0) ? T(0) : x / y;
  }
};

struct XlogyOp {
  static constexpr int64_t kPicoseconds = 3500;
  template <typename T>
  static T Apply(T x, T y) {
    return x == T(0) ? T(0) : WrappingProduct(x, Log(y));
  }
};

struct DivNoNanOp {
  static constexpr int64_t kPicoseconds = 800;
  template <typename T>
  static T Apply(T x, T y) {
    return y == T(0) ? T(0) : x / y;
  }
};

struct MulNoNanOp {
  static constexpr int64_t kPicoseconds = 350;
  template <typename T>
  static T Apply(T x, T y) {
    return y == T(0) ? T(0) : WrappingProduct(x, y);
  }
};

template <typename Op>
ms::Registered RegisterNumbers(const char* op) {
  return RegisterBinary<Op, float, double, std::complex<float>, std::complex<double>>(
      op, kFloatTypes | kComplexTypes);
}

const ms::Registered xdivy = RegisterNumbers<XdivyOp>("Xdivy");
const ms::Registered xlogy = RegisterNumbers<XlogyOp>("Xlogy");
const ms::Registered div_no_nan = RegisterNumbers<DivNoNanOp>("DivNoNan");
const ms::Registered mul_no_nan = RegisterNumbers<MulNoNanOp>("MulNoNan");

}  // namespace
}  // namespace millstream::kernels
