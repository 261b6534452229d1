// Equal, NotEqual, Less, LessEqual, Greater, GreaterEqual, LogicalAnd, LogicalOr.
#include <complex>
#include <utility>
#include <vector>

#include "kernels/elementwise/binary.h"

namespace millstream::kernels {
namespace {

struct EqualOp {
  static constexpr int64_t kPicoseconds = 300;
  static constexpr bool kWhenIncompatible = false;
  template <typename T>
  static bool Apply(T x, T y) {
    return x == y;
  }
};

struct NotEqualOp {
  static constexpr int64_t kPicoseconds = 300;
  static constexpr bool kWhenIncompatible = true;
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

// Equality of what does not broadcast: an error, or, with attribute incompatible_shape_error unset,
// one truth value.
class EqualityBase : public BroadcastingKernel {
 public:
  ms::Status Init(const ms::KernelInfo& info) {
    MS_TRY(info.Attr("incompatible_shape_error", &strict_));
    return BroadcastingKernel::Init(info);
  }
  ms::Status Specialize(ms::Specialization& specialization) const {
    if (!Broadcasts(specialization.input(0), specialization.input(1))) return ms::Status();
    return BroadcastingKernel::Specialize(specialization);
  }
  ms::Status Compute(ms::Frame& frame) const {
    if (Broadcasts(frame.input(0).shape(), frame.input(1).shape())) {
      return BroadcastingKernel::Compute(frame);
    }
    ms::View out;
    MS_TRY(frame.Output(0, ms::Shape(), &out));
    *out.data<bool>() = when_incompatible_;
    return ms::Status();
  }

 protected:
  EqualityBase(const BinaryFunctions& functions, bool when_incompatible)
      : BroadcastingKernel(functions, false), when_incompatible_(when_incompatible) {}

 private:
  // Whether the comparison goes element by element, or fails.
  bool Broadcasts(const ms::Shape& x, const ms::Shape& y) const {
    return strict_ || CanBroadcast(x, y);
  }

  const bool when_incompatible_;
  bool strict_ = true;
};

template <typename Op, typename T>
class EqualityKernel : public EqualityBase {
 public:
  EqualityKernel() : EqualityBase(kBinaryFunctions<Op, T>, Op::kWhenIncompatible) {}
};

// A comparison has no in-place pair: its output is narrower than its operands.
ms::KernelOptions CompareOptions(std::vector<MS_DType> dtypes) {
  return ms::KernelOptions().Types("T", std::move(dtypes));
}

template <typename Op, typename T>
void RegisterEquality(const char* op, std::vector<MS_DType> dtypes) {
  ms::Register<EqualityKernel<Op, T>>(op, CompareOptions(std::move(dtypes)));
}

// Equality of integers is equality of their bits.
template <typename Op>
ms::Registered RegisterEquality(const char* op) {
  RegisterEquality<Op, float>(op, {MS_FLOAT32});
  RegisterEquality<Op, double>(op, {MS_FLOAT64});
  RegisterEquality<Op, Float16>(op, {MS_FLOAT16});
  RegisterEquality<Op, BFloat16>(op, {MS_BFLOAT16});
  RegisterEquality<Op, std::complex<float>>(op, {MS_COMPLEX64});
  RegisterEquality<Op, std::complex<double>>(op, {MS_COMPLEX128});
  RegisterEquality<Op, uint8_t>(op, {MS_INT8, MS_UINT8, MS_BOOL, MS_QINT8, MS_QUINT8});
  RegisterEquality<Op, uint16_t>(op, {MS_INT16, MS_UINT16});
  RegisterEquality<Op, uint32_t>(op, {MS_INT32, MS_UINT32, MS_QINT32});
  RegisterEquality<Op, uint64_t>(op, {MS_INT64, MS_UINT64});
  return ms::Registered();
}

template <typename Op, bool kSwap, typename... Ts>
void RegisterEach(const char* op) {
  (ms::Register<BinaryKernel<Op, Ts, kSwap>>(op, CompareOptions({ms::DTypeOf<Ts>()})), ...);
}

template <typename Op, bool kSwap>
ms::Registered RegisterOrder(const char* op) {
  RegisterEach<Op, kSwap, float, double, Float16, BFloat16, int8_t, int16_t, int32_t, int64_t,
               uint8_t, uint16_t, uint32_t, uint64_t>(op);
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
