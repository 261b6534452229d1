// What operations of one and of two operands may say of themselves, beside their function Apply:
//
//   static constexpr bool kInLibrary = true;    calls a function of the C library, so that wide
//                                               copies of its loops would gain nothing
//   static constexpr bool kCommutes = true;     gives the same for swapped operands, but for the
//                                               bits of NaNs
//   template <typename T> static bool Refuses(T x, T y);
//   static constexpr const char* kRefusal;      see binary.h
#ifndef MILLSTREAM_KERNELS_ELEMENTWISE_OPERATION_H_
#define MILLSTREAM_KERNELS_ELEMENTWISE_OPERATION_H_

#include <type_traits>

#include "kernels/simd/instruction_set.h"

namespace millstream::kernels {

template <typename Op, typename = void>
struct CanRefuse : std::false_type {};
template <typename Op>
struct CanRefuse<Op, std::void_t<decltype(Op::kRefusal)>> : std::true_type {};

template <typename Op, typename = void>
struct IsInLibrary : std::false_type {};
template <typename Op>
struct IsInLibrary<Op, std::void_t<decltype(Op::kInLibrary)>> : std::true_type {};

template <typename Op, typename = void>
struct Commutes : std::false_type {};
template <typename Op>
struct Commutes<Op, std::void_t<decltype(Op::kCommutes)>> : std::true_type {};

// Whether an operation of two operands gives a truth value.
template <typename Op, typename T>
inline constexpr bool kCompares = std::is_same_v<decltype(Op::template Apply<T>(T(), T())), bool>;

// Whether swapped operands of type T give the same bits: of two NaNs the first one is the result.
template <typename Op, typename T>
inline constexpr bool kSwaps = Commutes<Op>::value && (std::is_integral_v<T> || kCompares<Op, T>);

// Whether its loops are not vectorized.
template <typename Op>
struct IsSlow : std::disjunction<CanRefuse<Op>, IsInLibrary<Op>> {};

// The widest set that loops of an operation on T gain by.
template <typename Op, typename T>
inline constexpr InstructionSet kWidestOperation =
    IsSlow<Op>::value ? InstructionSet::kBaseline : kWidestLoops<T>;

// The same for an operation of two operands. Complex numbers are compared for equality alone, which
// is rare: its AVX2 loops would be the largest of all comparisons.
template <typename Op, typename T>
inline constexpr InstructionSet kWidestRows =
    kCompares<Op, T> && !std::is_arithmetic_v<T> ? InstructionSet::kBaseline
                                                 : kWidestOperation<Op, T>;

}  // namespace millstream::kernels

#endif  // MILLSTREAM_KERNELS_ELEMENTWISE_OPERATION_H_
