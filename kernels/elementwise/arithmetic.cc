// Add, AddV2, Sub, Mul, Maximum, Minimum, SquaredDifference. Integers wrap.
#include <complex>

#include "kernels/common/complex_math.h"
#include "kernels/elementwise/binary.h"
#include "kernels/elementwise/shared_tables.h"

namespace millstream::kernels {
namespace {

struct AddOp {
  static constexpr int64_t kPicoseconds = 300;
  static constexpr bool kCommutes = true;
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
  static constexpr bool kCommutes = true;
  template <typename T>
  static T Apply(T x, T y) {
    return WrappingProduct(x, y);
  }
};

// The square of the absolute value, for complex numbers.
struct SquaredDifferenceOp {
  static constexpr int64_t kPicoseconds = 300;
  static constexpr bool kCommutes = true;
  template <typename T>
  static T Apply(T x, T y) {
    const T difference = WrappingDifference(x, y);
    return WrappingProduct(Conjugate(difference), difference);
  }
};

// A NaN on either side is the result; of zeros of both signs, x.
struct MaximumOp {
  static constexpr int64_t kPicoseconds = 300;
  static constexpr bool kCommutes = true;
  template <typename T>
  static T Apply(T x, T y) {
    return ((x < y) | (y != y)) ? y : x;
  }
};

struct MinimumOp {
  static constexpr int64_t kPicoseconds = 300;
  static constexpr bool kCommutes = true;
  template <typename T>
  static T Apply(T x, T y) {
    return ((y < x) | (y != y)) ? y : x;
  }
};

// All numbers; integers by loops on unsigned types.
template <typename Op>
inline constexpr BinaryTable kWrappingTable =
    kBinaryTable<Op, float, double, std::complex<float>, std::complex<double>, uint8_t, uint16_t,
                 uint32_t, uint64_t>;
template <typename Op>
inline constexpr BroadcastingKernel::Row kWrappingRow = {kWrappingTable<Op>, false};

template <typename Op>
ms::Registered RegisterWrapping(const char* op) {
  AddBinaryFloatLoops<Op, float>(op);
  return ms::RegisterRow<BroadcastingKernel>(op, kWrappingRow<Op>, BinaryOptions(kAllNumberTypes));
}

template <typename Op>
ms::Registered RegisterOrdered(const char* op) {
  return RegisterBinary<Op, float, double, int8_t, int16_t, int32_t, int64_t, uint8_t, uint16_t,
                        uint32_t, uint64_t>(op, kOrderedTypes);
}
// The loops of RegisterOrdered.
template <typename Op>
inline constexpr BinaryTable kOrderedTable =
    kBinaryTable<Op, float, double, int8_t, int16_t, int32_t, int64_t, uint8_t, uint16_t, uint32_t,
                 uint64_t>;

const ms::Registered add = RegisterWrapping<AddOp>("Add");
const ms::Registered add_v2 = RegisterWrapping<AddOp>("AddV2");
const ms::Registered sub = RegisterWrapping<SubOp>("Sub");
const ms::Registered mul = RegisterWrapping<MulOp>("Mul");
const ms::Registered squared_difference =
    RegisterWrapping<SquaredDifferenceOp>("SquaredDifference");
const ms::Registered maximum = RegisterOrdered<MaximumOp>("Maximum");
const ms::Registered minimum = RegisterOrdered<MinimumOp>("Minimum");

}  // namespace

const BinaryTable kSumTable = kWrappingTable<AddOp>;
const BinaryTable kDifferenceTable = kWrappingTable<SubOp>;
const BinaryTable kProductTable = kWrappingTable<MulOp>;
const BinaryTable kMaximumTable = kOrderedTable<MaximumOp>;
const BinaryTable kMinimumTable = kOrderedTable<MinimumOp>;

}  // namespace millstream::kernels
