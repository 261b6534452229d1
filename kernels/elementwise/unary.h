// Kernels of one operand that work element by element. An operation is a class with
//   template <typename T> static R Apply(T x);
//   static constexpr int64_t kPicoseconds;   what one element costs
//   static constexpr bool kInLibrary = true; optional, see operation.h
// R is T, or any other type; for a T of 16 bits it is T or bool.
// An op is a row of a table, whose loops are for the types that are computed in
// (kernels/common/type_table.h):
//
//   const ms::Registered floor = RegisterUnary<FloorOp, float, double>("Floor", kFloatTypes);
#ifndef MILLSTREAM_KERNELS_ELEMENTWISE_UNARY_H_
#define MILLSTREAM_KERNELS_ELEMENTWISE_UNARY_H_

#include <cstdint>
#include <type_traits>
#include <vector>

#include "framework/plugin/plugin.hpp"
#include "kernels/common/type_table.h"
#include "kernels/elementwise/float_loops.h"
#include "kernels/elementwise/operation.h"
#include "kernels/simd/instruction_set.h"

namespace millstream::kernels {

// Computes elements [begin, end). The output may be the memory of the input.
using UnaryLoop = void (*)(const void* x, void* out, int64_t begin, int64_t end);

// One operation on one type.
struct UnaryFunctions {
  MS_DType dtype;
  uint32_t picoseconds;
  UnaryLoop loop;
};

// y = op(x), of the shape of x.
class ElementwiseKernel {
 public:
  using Row = TypeTable<UnaryFunctions>;

  explicit ElementwiseKernel(const Row& row) : row_(row) {}
  ms::Status Init(const ms::KernelInfo& info);
  ms::Status Compute(ms::Frame& frame) const;

 private:
  void RunNarrow(const void* x, void* out, int64_t begin, int64_t end) const;
  // Past the caches (kernels/common/streamed_output.h).
  void RunStreamed(const void* x, void* out, int64_t begin, int64_t end) const;

  const Row& row_;
  UnaryLoop loop_ = nullptr;
  int64_t picoseconds_ = 0;
  bool same_dtype_ = true;
  int64_t bytes_ = 0;  // of an element
  int64_t result_bytes_ = 0;
  // How elements become the floats that the loop takes and back; null where they are what it takes.
  const NarrowFormat* format_ = nullptr;
};

template <typename Op, typename T>
void UnaryElements(const void* x_base, void* out_base, int64_t begin, int64_t end) {
  const T* x = static_cast<const T*>(x_base);
  auto* out = static_cast<decltype(Op::template Apply<T>(T()))*>(out_base);
#pragma GCC ivdep
  for (int64_t i = begin; i < end; ++i) out[i] = Op::template Apply<T>(x[i]);
}

// As UnaryElements, in the chosen instruction set where the operation gains by that.
template <typename Op, typename T>
void RunUnaryElements(const void* x, void* out, int64_t begin, int64_t end) {
  RunLoopUpTo<kWidestOperation<Op, T>, &UnaryElements<Op, T>>(x, out, begin, end);
}

// The same, as a FloatLoop.
template <typename Op>
void UnaryFloats(const float* x, const float* /*y*/, float* out, int64_t elements) {
  RunUnaryElements<Op, float>(x, out, 0, elements);
}

template <typename Op, typename... Ts>
inline constexpr UnaryFunctions kUnaryFunctions[] = {
    {ms::DTypeOf<Ts>(), Op::kPicoseconds, &RunUnaryElements<Op, Ts>}...};
template <typename Op, typename... Ts>
inline constexpr ElementwiseKernel::Row kUnaryRow = {kUnaryFunctions<Op, Ts...>, sizeof...(Ts)};

// Registers y = op(x) for T in `sets`. Ts are the types that there are loops for.
template <typename Op, typename... Ts>
ms::Registered RegisterUnary(const char* op, uint32_t sets) {
  if constexpr ((std::is_same_v<Ts, float> || ...)) {
    AddFloatLoops(op, {1, &UnaryFloats<Op>, nullptr, nullptr, Op::kPicoseconds});
  }
  return ms::RegisterRow<ElementwiseKernel>(
      op, kUnaryRow<Op, Ts...>, ms::KernelOptions().Types("T", TypesIn(sets)).InPlace(0, 0));
}

}  // namespace millstream::kernels

#endif  // MILLSTREAM_KERNELS_ELEMENTWISE_UNARY_H_
