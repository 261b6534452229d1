// Equal, NotEqual, Less, LessEqual, Greater, GreaterEqual, LogicalAnd, LogicalOr.
#include "kernels/elementwise/binary.h"

namespace millstream::kernels {
namespace {

struct EqualOp {
  static constexpr int64_t kPicoseconds = 300;
  template <typename T>
  static bool Apply(T x, T y) {
    return x == y;
  }
};

struct NotEqualOp {
  static constexpr int64_t kPicoseconds = 300;
  template <typename T>
  static bool Apply(T x, T y) {
    return x != y;
  }
};

struct LessOp {
  static constexpr int64_t kPicoseconds = 300;
  template <typename T>
  static bool Apply(T x, T y) {
    return x < y;
  }
};

struct LessEqualOp {
  static constexpr int64_t kPicoseconds = 300;
  template <typename T>
  static bool Apply(T x, T y) {
    return x <= y;
  }
};

// On the bytes of bool, which are 0 or 1.
struct AndOp {
  static constexpr int64_t kPicoseconds = 100;
  template <typename T>
  static T Apply(T x, T y) {
    return static_cast<T>(x & y);
  }
};

struct OrOp {
  static constexpr int64_t kPicoseconds = 100;
  template <typename T>
  static T Apply(T x, T y) {
    return static_cast<T>(x | y);
  }
};

// A comparison has no in-place pair: its output is narrower than its operands.
ms::KernelOptions CompareOptions(std::vector<MS_DType> dtypes) {
  return ms::KernelOptions().Types("T", std::move(dtypes));
}

// Equality of integers is equality of their bits.
template <typename Op>
ms::Registered RegisterEquality(const char* op) {
  ms::Register<BinaryKernel<Op, float>>(op, CompareOptions({MS_FLOAT32}));
  ms::Register<BinaryKernel<Op, double>>(op, CompareOptions({MS_FLOAT64}));
  ms::Register<BinaryKernel<Op, uint8_t>>(op, CompareOptions({MS_INT8, MS_UINT8, MS_BOOL}));
  ms::Register<BinaryKernel<Op, uint16_t>>(op, CompareOptions({MS_INT16, MS_UINT16}));
  ms::Register<BinaryKernel<Op, uint32_t>>(op, CompareOptions({MS_INT32, MS_UINT32}));
  ms::Register<BinaryKernel<Op, uint64_t>>(op, CompareOptions({MS_INT64, MS_UINT64}));
  return ms::Registered();
}

template <typename Op, bool kSwap, typename... Ts>
void RegisterEach(const char* op) {
  (ms::Register<BinaryKernel<Op, Ts, kSwap>>(op, CompareOptions({ms::DTypeOf<Ts>()})), ...);
}

template <typename Op, bool kSwap>
ms::Registered RegisterOrder(const char* op) {
  RegisterEach<Op, kSwap, float, double, int8_t, int16_t, int32_t, int64_t, uint8_t, uint16_t,
               uint32_t, uint64_t>(op);
  return ms::Registered();
}

const ms::Registered equal = RegisterEquality<EqualOp>("Equal");
const ms::Registered not_equal = RegisterEquality<NotEqualOp>("NotEqual");
const ms::Registered less = RegisterOrder<LessOp, false>("Less");
const ms::Registered less_equal = RegisterOrder<LessEqualOp, false>("LessEqual");
// x > y is y < x.
const ms::Registered greater = RegisterOrder<LessOp, true>("Greater");
const ms::Registered greater_equal = RegisterOrder<LessEqualOp, true>("GreaterEqual");
const ms::Registered logical_and = ms::Register<BinaryKernel<AndOp, uint8_t>>(
    "LogicalAnd", ms::KernelOptions().InPlace(0, 0).InPlace(0, 1));
const ms::Registered logical_or = ms::Register<BinaryKernel<OrOp, uint8_t>>(
    "LogicalOr", ms::KernelOptions().InPlace(0, 0).InPlace(0, 1));

}  // namespace
}  // namespace millstream::kernels
