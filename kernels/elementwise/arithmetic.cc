// Add, AddV2, Sub, Mul, Maximum, Minimum, SquaredDifference. Integers wrap.
#include <complex>

#include "kernels/common/complex_math.h"
#include "kernels/elementwise/binary.h"

namespace millstream::kernels {
namespace {

struct AddOp {
  static constexpr int64_t kPicoseconds = 300;
  template <typename T>
  static T Apply(T x, T y) {
    return WrappingSum(x, y);
  }
};

struct SubOp {
  static constexpr int64_t kPicoseconds = 300;
  template <typename T>
  static T Apply(T x, T y) {
    return WrappingDifference(x, y);
  }
};

struct MulOp {
  static constexpr int64_t kPicoseconds = 300;
  template <typename T>
  static T Apply(T x, T y) {
    return WrappingProduct(x, y);
  }
};

// The square of the absolute value, for complex numbers.
struct SquaredDifferenceOp {
  static constexpr int64_t kPicoseconds = 300;
  template <typename T>
  static T Apply(T x, T y) {
    const T difference = WrappingDifference(x, y);
    return WrappingProduct(Conjugate(difference), difference);
  }
};

// A NaN on either side is the result; of zeros of both signs, x.
struct MaximumOp {
  static constexpr int64_t kPicoseconds = 300;
  template <typename T>
  static T Apply(T x, T y) {
    return (x < y) | (y != y) ? y : x;
  }
};

struct MinimumOp {
  static constexpr int64_t kPicoseconds = 300;
  template <typename T>
  static T Apply(T x, T y) {
    return (y < x) | (y != y) ? y : x;
  }
};

template <typename Op, typename... Ts>
ms::Registered RegisterEach(const char* op) {
  (ms::Register<BinaryKernel<Op, Ts>>(op, BinaryOptions({ms::DTypeOf<Ts>()})), ...);
  return ms::Registered();
}

// Registers the operation for real and complex numbers and, by loops on unsigned types, integers.
template <typename Op>
ms::Registered RegisterWrapping(const char* op) {
  RegisterEach<Op, float, double, Float16, BFloat16, std::complex<float>, std::complex<double>>(op);
  ms::Register<BinaryKernel<Op, uint8_t>>(op, BinaryOptions({MS_INT8, MS_UINT8}));
  ms::Register<BinaryKernel<Op, uint16_t>>(op, BinaryOptions({MS_INT16, MS_UINT16}));
  ms::Register<BinaryKernel<Op, uint32_t>>(op, BinaryOptions({MS_INT32, MS_UINT32}));
  ms::Register<BinaryKernel<Op, uint64_t>>(op, BinaryOptions({MS_INT64, MS_UINT64}));
  return ms::Registered();
}

template <typename Op>
ms::Registered RegisterOrdered(const char* op) {
  return RegisterEach<Op, float, double, Float16, BFloat16, int8_t, int16_t, int32_t, int64_t,
                      uint8_t, uint16_t, uint32_t, uint64_t>(op);
}

const ms::Registered add = RegisterWrapping<AddOp>("Add");
const ms::Registered add_v2 = RegisterWrapping<AddOp>("AddV2");
const ms::Registered sub = RegisterWrapping<SubOp>("Sub");
const ms::Registered mul = RegisterWrapping<MulOp>("Mul");
const ms::Registered squared_difference =
    RegisterWrapping<SquaredDifferenceOp>("SquaredDifference");
const ms::Registered maximum = RegisterOrdered<MaximumOp>("Maximum");
const ms::Registered minimum = RegisterOrdered<MinimumOp>("Minimum");

}  // namespace
}  // namespace millstream::kernels
