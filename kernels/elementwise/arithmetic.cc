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
    return ((x < y) | (y != y)) ? y : x;
  }
};

struct MinimumOp {
  static constexpr int64_t kPicoseconds = 300;
  template <typename T>
  static T Apply(T x, T y) {
    return ((y < x) | (y != y)) ? y : x;
  }
};

// Registers the operation for real and complex numbers and, by loops on unsigned types, integers.
template <typename Op>
ms::Registered RegisterWrapping(const char* op) {
  RegisterBinaryEach<Op, float, double, Float16, BFloat16, std::complex<float>,
                     std::complex<double>>(op);
  RegisterBinary<BinaryKernel<Op, uint8_t>, Op, uint8_t>(op, {MS_INT8, MS_UINT8});
  RegisterBinary<BinaryKernel<Op, uint16_t>, Op, uint16_t>(op, {MS_INT16, MS_UINT16});
  RegisterBinary<BinaryKernel<Op, uint32_t>, Op, uint32_t>(op, {MS_INT32, MS_UINT32});
  RegisterBinary<BinaryKernel<Op, uint64_t>, Op, uint64_t>(op, {MS_INT64, MS_UINT64});
  return ms::Registered();
}

template <typename Op>
ms::Registered RegisterOrdered(const char* op) {
  return RegisterBinaryEach<Op, float, double, Float16, BFloat16, int8_t, int16_t, int32_t, int64_t,
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
