// Real, Imag, ComplexAbs, Angle of complex numbers, and Complex, which makes them of two parts.
#include <complex>

#include "kernels/elementwise/binary.h"
#include "kernels/elementwise/unary.h"

namespace millstream::kernels {
namespace {

struct RealOp {
  static constexpr int64_t kPicoseconds = 500;
  template <typename T>
  static typename T::value_type Apply(T x) {
    return x.real();
  }
};

struct ImagOp {
  static constexpr int64_t kPicoseconds = 500;
  template <typename T>
  static typename T::value_type Apply(T x) {
    return x.imag();
  }
};

struct ComplexAbsOp {
  static constexpr int64_t kPicoseconds = 5000;
  static constexpr bool kInLibrary = true;
  template <typename T>
  static typename T::value_type Apply(T x) {
    return std::abs(x);
  }
};

struct AngleOp {
  static constexpr int64_t kPicoseconds = 20000;
  static constexpr bool kInLibrary = true;
  template <typename T>
  static typename T::value_type Apply(T x) {
    return std::arg(x);
  }
};

struct ComplexOp {
  static constexpr int64_t kPicoseconds = 500;
  template <typename T>
  static std::complex<T> Apply(T real, T imag) {
    return {real, imag};
  }
};

// No in-place pairs: results are of another size. No fused loops, whose results are floats of
// floats.
template <typename Op, typename Real>
ms::Registered RegisterPart(const char* op) {
  using Complex = std::complex<Real>;
  return ms::RegisterRow<ElementwiseKernel>(
      op, kUnaryRow<Op, Complex>,
      ms::KernelOptions().Type<Complex>("T").template Type<Real>("Tout"));
}

template <typename Real>
ms::Registered RegisterComplex() {
  return ms::RegisterRow<BroadcastingKernel>(
      "Complex", kBroadcastingRow<false, ComplexOp, Real>,
      ms::KernelOptions().Type<Real>("T").template Type<std::complex<Real>>("Tout"));
}

const ms::Registered real_float = RegisterPart<RealOp, float>("Real");
const ms::Registered real_double = RegisterPart<RealOp, double>("Real");
const ms::Registered imag_float = RegisterPart<ImagOp, float>("Imag");
const ms::Registered imag_double = RegisterPart<ImagOp, double>("Imag");
const ms::Registered abs_float = RegisterPart<ComplexAbsOp, float>("ComplexAbs");
const ms::Registered abs_double = RegisterPart<ComplexAbsOp, double>("ComplexAbs");
const ms::Registered angle_float = RegisterPart<AngleOp, float>("Angle");
const ms::Registered angle_double = RegisterPart<AngleOp, double>("Angle");
const ms::Registered complex_float = RegisterComplex<float>();
const ms::Registered complex_double = RegisterComplex<double>();

}  // namespace
}  // namespace millstream::kernels
