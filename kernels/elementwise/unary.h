// Kernels of one operand that work element by element. An operation is a class with
//   template <typename T> static R Apply(T x);
//   static constexpr int64_t kPicoseconds;   what one element costs
// The 16-bit floating-point types run float's loops, a tile at a time.
#ifndef MILLSTREAM_KERNELS_ELEMENTWISE_UNARY_H_
#define MILLSTREAM_KERNELS_ELEMENTWISE_UNARY_H_

#include <cstdint>
#include <type_traits>
#include <vector>

#include "framework/plugin/plugin.hpp"
#include "kernels/common/narrow_tiles.h"
#include "kernels/elementwise/float_loops.h"
#include "kernels/simd/instruction_set.h"

namespace millstream::kernels {

// Computes elements [begin, end). The output may be the memory of the input.
using UnaryLoop = void (*)(const void* x, void* out, int64_t begin, int64_t end);

// y = op(x), of the dtype of x.
class ElementwiseKernel {
 public:
  ms::Status Compute(ms::Frame& frame) const;

 protected:
  // `format`: how elements become the floats that the loop takes and back; null where they are what
  // the loop takes.
  ElementwiseKernel(UnaryLoop loop, int64_t picoseconds, const NarrowFormat* format)
      : loop_(loop), picoseconds_(picoseconds), format_(format) {}

 private:
  void RunNarrow(const void* x, void* out, int64_t begin, int64_t end) const;

  const UnaryLoop loop_;
  const int64_t picoseconds_;
  const NarrowFormat* const format_;
};

template <typename Op, typename T>
void UnaryElements(const void* x_base, void* out_base, int64_t begin, int64_t end) {
  const T* x = static_cast<const T*>(x_base);
  T* out = static_cast<T*>(out_base);
#pragma GCC ivdep
  for (int64_t i = begin; i < end; ++i) out[i] = Op::template Apply<T>(x[i]);
}

// As UnaryElements, in the chosen instruction set where the type gains by that.
template <typename Op, typename T>
void RunUnaryElements(const void* x, void* out, int64_t begin, int64_t end) {
  RunLoopOn<T, &UnaryElements<Op, T>>(x, out, begin, end);
}

// The same, as a FloatLoop.
template <typename Op>
void UnaryFloats(const float* x, const float* /*y*/, float* out, int64_t elements) {
  RunUnaryElements<Op, float>(x, out, 0, elements);
}

template <typename Op, typename T>
class UnaryKernel : public ElementwiseKernel {
 public:
  UnaryKernel()
      : ElementwiseKernel(&RunUnaryElements<Op, ComputeTypeOf<T>>,
                          Op::kPicoseconds + (kIsNarrowFloat<T> ? kTilePicoseconds : 0),
                          NarrowFormatOf<T>()) {}
};

// Registers the operation on T for nodes whose type attribute T is one of `dtypes`.
template <typename Op, typename T>
void RegisterUnary(const char* op, std::vector<MS_DType> dtypes) {
  if constexpr (std::is_same_v<T, float>) {
    AddFloatLoops(op, {1, &UnaryFloats<Op>, nullptr, nullptr, Op::kPicoseconds});
  }
  ms::Register<UnaryKernel<Op, T>>(op,
                                   ms::KernelOptions().Types("T", std::move(dtypes)).InPlace(0, 0));
}
template <typename Op, typename... Ts>
ms::Registered RegisterUnaryEach(const char* op) {
  (RegisterUnary<Op, Ts>(op, {ms::DTypeOf<Ts>()}), ...);
  return ms::Registered();
}

}  // namespace millstream::kernels

#endif  // MILLSTREAM_KERNELS_ELEMENTWISE_UNARY_H_
