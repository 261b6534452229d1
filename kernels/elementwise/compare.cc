// Equal, NotEqual, Less, LessEqual, Greater, GreaterEqual, LogicalAnd, LogicalOr.
#include <complex>
#include <utility>
#include <vector>

#include "kernels/elementwise/binary.h"

namespace millstream::kernels {
namespace {

struct EqualOp {
  static constexpr int64_t kPicoseconds = 300;
  static constexpr bool kCommutes = true;
  static constexpr bool kWhenIncompatible = false;
  template <typename T>
  static bool Apply(T x, T y) {
    return x == y;
  }
};

struct NotEqualOp {
  static constexpr int64_t kPicoseconds = 300;
  static constexpr bool kCommutes = true;
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
  static constexpr bool kCommutes = true;
  template <typename T>
  static T Apply(T x, T y) {
    return static_cast<T>(x & y);
  }
};

struct OrOp {
  static constexpr int64_t kPicoseconds = 100;
  static constexpr bool kCommutes = true;
  template <typename T>
  static T Apply(T x, T y) {
    return static_cast<T>(x | y);
  }
};

// Equality of what does not broadcast: an error, or, with attribute incompatible_shape_error unset,
// one truth value.
class EqualityKernel : public BroadcastingKernel {
 public:
  struct Row {
    BroadcastingKernel::Row broadcasting;
    bool when_incompatible;
  };

  explicit EqualityKernel(const Row& row)
      : BroadcastingKernel(row.broadcasting), when_incompatible_(row.when_incompatible) {}
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

 private:
  // Whether the comparison goes element by element, or fails.
  bool Broadcasts(const ms::Shape& x, const ms::Shape& y) const {
    return strict_ || CanBroadcast(x, y);
  }

  const bool when_incompatible_;
  bool strict_ = true;
};

// A comparison has no in-place pair: its output is narrower than its operands.
ms::KernelOptions CompareOptions(std::vector<MS_DType> dtypes) {
  ms::KernelOptions options;
  options.Types("T", std::move(dtypes));
  return options;
}

// Equality of integers is equality of their bits.
template <typename Op>
inline constexpr EqualityKernel::Row kEqualityRow = {
    kBroadcastingRow<false, Op, float, double, std::complex<float>, std::complex<double>, uint8_t,
                     uint16_t, uint32_t, uint64_t>,
    Op::kWhenIncompatible};

template <typename Op>
ms::Registered RegisterEquality(const char* op) {
  std::vector<MS_DType> dtypes = TypesIn(kAllNumberTypes);
  dtypes.insert(dtypes.end(), {MS_BOOL, MS_QINT8, MS_QUINT8, MS_QINT32});
  return ms::RegisterRow<EqualityKernel>(op, kEqualityRow<Op>, CompareOptions(std::move(dtypes)));
}

template <typename Op, bool kSwap>
ms::Registered RegisterOrder(const char* op) {
  return ms::RegisterRow<BroadcastingKernel>(
      op,
      kBroadcastingRow<kSwap, Op, float, double, int8_t, int16_t, int32_t, int64_t, uint8_t,
                       uint16_t, uint32_t, uint64_t>,
      CompareOptions(TypesIn(kOrderedTypes)));
}

// On bool, which has no type attribute.
template <typename Op>
ms::Registered RegisterLogical(const char* op) {
  return ms::RegisterRow<BroadcastingKernel>(op, kBroadcastingRow<false, Op, uint8_t>,
                                             ms::KernelOptions().InPlace(0, 0).InPlace(0, 1));
}

const ms::Registered equal = RegisterEquality<EqualOp>("Equal");
const ms::Registered not_equal = RegisterEquality<NotEqualOp>("NotEqual");
const ms::Registered less = RegisterOrder<LessOp, false>("Less");
const ms::Registered less_equal = RegisterOrder<LessEqualOp, false>("LessEqual");
// x > y is y < x.
const ms::Registered greater = RegisterOrder<LessOp, true>("Greater");
const ms::Registered greater_equal = RegisterOrder<LessEqualOp, true>("GreaterEqual");
const ms::Registered logical_and = RegisterLogical<AndOp>("LogicalAnd");
const ms::Registered logical_or = RegisterLogical<OrOp>("LogicalOr");

}  // namespace
}  // namespace millstream::kernels
