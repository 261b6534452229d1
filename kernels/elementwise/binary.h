// Kernels of two operands that work element by element.
//
// An operation is a class with
//   template <typename T> static R Apply(T x, T y);
//   static constexpr int64_t kPicoseconds;      what one element costs
// and, when some operands are not allowed,
//   template <typename T> static bool Refuses(T x, T y);
//   static constexpr const char* kRefusal;      the message of the INVALID_ARGUMENT error
// (Apply must then still be harmless for them.)
//
// Loops are compiled once an operation and type; everything else here is shared by all of them.
// Integer types whose results have the same bits (int32 and uint32 of an addition) share a loop.
// The 16-bit floating-point types run float's loops, a tile at a time.
#ifndef MILLSTREAM_KERNELS_ELEMENTWISE_BINARY_H_
#define MILLSTREAM_KERNELS_ELEMENTWISE_BINARY_H_

#include <cstdint>
#include <string>
#include <type_traits>
#include <vector>

#include "framework/plugin/plugin.hpp"
#include "kernels/common/narrow_tiles.h"
#include "kernels/common/wrapping.h"
#include "kernels/elementwise/broadcast.h"
#include "kernels/elementwise/float_loops.h"
#include "kernels/simd/instruction_set.h"

namespace millstream::kernels {

// Computes the rows of one block; true when an operand was refused.
using BinaryLoop = bool (*)(const void* x, const void* y, void* out, const RowBlock& block,
                            int64_t columns);

// One operation on one type: a loop for each way that the operands may run along a row.
struct BinaryFunctions {
  BinaryLoop both;
  BinaryLoop only_x;
  BinaryLoop only_y;
  int64_t picoseconds;
  const char* refusal;
  // How operands become the floats that the loops take; null where they are what the loops take.
  const NarrowFormat* format = nullptr;
  // With a format: whether the results are of it, too, or what the loops write.
  bool narrow_results = false;
};

// Runs the operation over a non-empty output.
ms::Status RunBinary(ms::Frame& frame, const BinaryFunctions& functions, const BroadcastPlan& plan,
                     const void* x, const void* y, void* out);

// z = op(x, y) with broadcasting.
class BroadcastingKernel {
 public:
  ms::Status Init(const ms::KernelInfo& info);
  ms::Status Specialize(ms::Specialization& specialization) const;
  ms::Status Compute(ms::Frame& frame) const;

 protected:
  // `swap`: computes op(y, x).
  explicit BroadcastingKernel(const BinaryFunctions& functions, bool swap)
      : functions_(functions), x_(swap ? 1 : 0), y_(swap ? 0 : 1) {}

 private:
  ms::Status PlanAndRun(ms::Frame& frame) const;
  ms::Status Run(ms::Frame& frame, const BroadcastPlan& plan) const;

  const BinaryFunctions& functions_;
  const uint32_t x_;  // which input is x
  const uint32_t y_;
  bool same_dtype_ = false;  // the output is of the inputs' dtype
};

// z = op(x, y) for operands of one shape.
class SameShapeKernel {
 public:
  ms::Status Init(const ms::KernelInfo& info);
  ms::Status Compute(ms::Frame& frame) const;

 protected:
  // The names of the op's arguments, for messages.
  SameShapeKernel(const BinaryFunctions& functions, const char* x_name, const char* y_name)
      : functions_(functions), x_name_(x_name), y_name_(y_name) {}

 private:
  const BinaryFunctions& functions_;
  const char* const x_name_;
  const char* const y_name_;
  std::string op_;
};

// ---- Templates
// -----------------------------------------------------------------------------------

template <typename Op, typename = void>
struct CanRefuse : std::false_type {};
template <typename Op>
struct CanRefuse<Op, std::void_t<decltype(Op::kRefusal)>> : std::true_type {};

template <typename Op>
constexpr const char* RefusalOf() {
  if constexpr (CanRefuse<Op>::value) return Op::kRefusal;
  return nullptr;
}

// One row of an operation that refuses nothing; x (y) stands still when kXRuns (kYRuns) is false.
// The output may be the memory of an operand that runs: no iteration touches what another one
// writes, which ivdep tells the compiler.
template <typename Op, typename T, typename R, bool kXRuns, bool kYRuns>
void BinaryElements(const T* x, const T* y, R* out, int64_t elements) {
  [[maybe_unused]] const T x_fixed = *x;
  [[maybe_unused]] const T y_fixed = *y;
#pragma GCC ivdep
  for (int64_t i = 0; i < elements; ++i) {
    out[i] = Op::template Apply<T>(kXRuns ? x[i] : x_fixed, kYRuns ? y[i] : y_fixed);
  }
}

// The same, as a FloatLoop.
template <typename Op, bool kXRuns, bool kYRuns>
void BinaryFloats(const float* x, const float* y, float* out, int64_t elements) {
  RunLoop<&BinaryElements<Op, float, float, kXRuns, kYRuns>>(x, y, out, elements);
}

template <typename Op, typename T, bool kXRuns, bool kYRuns>
bool BinaryRows(const void* x_base, const void* y_base, void* out_base, const RowBlock& block,
                int64_t columns) {
  using R = decltype(Op::template Apply<T>(T(), T()));
  const T* x = static_cast<const T*>(x_base) + block.x_offset;
  const T* y = static_cast<const T*>(y_base) + block.y_offset;
  R* out = static_cast<R*>(out_base) + block.output_offset;
  bool refused = false;
  for (int64_t row = 0; row < block.rows; ++row) {
    if constexpr (CanRefuse<Op>::value) {
      [[maybe_unused]] const T x_fixed = *x;
      [[maybe_unused]] const T y_fixed = *y;
      for (int64_t i = 0; i < columns; ++i) {
        const T a = kXRuns ? x[i] : x_fixed;
        const T b = kYRuns ? y[i] : y_fixed;
        refused = refused || Op::template Refuses<T>(a, b);
        out[i] = Op::template Apply<T>(a, b);
      }
    } else {
      BinaryElements<Op, T, R, kXRuns, kYRuns>(x, y, out, columns);
    }
    x += block.x_step;
    y += block.y_step;
    out += columns;
  }
  return refused;
}

// As BinaryRows, in the chosen instruction set where the type gains by that.
template <typename Op, typename T, bool kXRuns, bool kYRuns>
bool RunBinaryRows(const void* x, const void* y, void* out, const RowBlock& block,
                   int64_t columns) {
  return RunLoopOn<T, &BinaryRows<Op, T, kXRuns, kYRuns>>(x, y, out, block, columns);
}

template <typename Op, typename T>
constexpr BinaryFunctions MakeBinaryFunctions() {
  using Computed = ComputeTypeOf<T>;
  using Result = decltype(Op::template Apply<Computed>(Computed(), Computed()));
  return {&RunBinaryRows<Op, Computed, true, true>,
          &RunBinaryRows<Op, Computed, true, false>,
          &RunBinaryRows<Op, Computed, false, true>,
          Op::kPicoseconds + (kIsNarrowFloat<T> ? kTilePicoseconds : 0),
          RefusalOf<Op>(),
          NarrowFormatOf<T>(),
          std::is_same_v<Result, Computed>};
}

template <typename Op, typename T>
inline constexpr BinaryFunctions kBinaryFunctions = MakeBinaryFunctions<Op, T>();

template <typename Op, typename T, bool kSwap = false>
class BinaryKernel : public BroadcastingKernel {
 public:
  BinaryKernel() : BroadcastingKernel(kBinaryFunctions<Op, T>, kSwap) {}
};

// The options of a kernel z = op(x, y) whose type attribute T is one of `dtypes`.
inline ms::KernelOptions BinaryOptions(std::vector<MS_DType> dtypes) {
  return ms::KernelOptions().Types("T", std::move(dtypes)).InPlace(0, 0).InPlace(0, 1);
}

// Registers Kernel, whose z = op(x, y) is of the type T of x and y, for nodes whose type attribute
// T is one of `dtypes`.
template <typename Kernel, typename Op, typename T>
void RegisterBinary(const char* op, std::vector<MS_DType> dtypes) {
  if constexpr (std::is_same_v<T, float> && !CanRefuse<Op>::value) {
    AddFloatLoops(op, {2, &BinaryFloats<Op, true, true>, &BinaryFloats<Op, true, false>,
                       &BinaryFloats<Op, false, true>, Op::kPicoseconds});
  }
  ms::Register<Kernel>(op, BinaryOptions(std::move(dtypes)));
}

// Registers the operation, with broadcasting, for each of the types.
template <typename Op, typename... Ts>
ms::Registered RegisterBinaryEach(const char* op) {
  (RegisterBinary<BinaryKernel<Op, Ts>, Op, Ts>(op, {ms::DTypeOf<Ts>()}), ...);
  return ms::Registered();
}

}  // namespace millstream::kernels

#endif  // MILLSTREAM_KERNELS_ELEMENTWISE_BINARY_H_
