// Kernels of two operands that work element by element.
//
// An operation is a class with
//   template <typename T> static R Apply(T x, T y);
//   static constexpr int64_t kPicoseconds;      what one element costs
//   static constexpr bool kInLibrary = true;    optional, see operation.h
//   static constexpr bool kCommutes = true;     the same
// and, when some operands are not allowed,
//   template <typename T> static bool Refuses(T x, T y);
//   static constexpr const char* kRefusal;      the message of the INVALID_ARGUMENT error
// (Apply must then still be harmless for them.)
//
// Loops are compiled once an operation and type that is computed in (kernels/common/type_table.h);
// everything else here is shared by all of them. An op is a row of a table:
//
//   const ms::Registered add =
//       RegisterBinary<AddOp, float, double, uint32_t, uint64_t>("Add", kOrderedTypes);
#ifndef MILLSTREAM_KERNELS_ELEMENTWISE_BINARY_H_
#define MILLSTREAM_KERNELS_ELEMENTWISE_BINARY_H_

#include <cstdint>
#include <string>
#include <type_traits>
#include <vector>

#include "framework/plugin/plugin.hpp"
#include "kernels/common/type_table.h"
#include "kernels/common/wrapping.h"
#include "kernels/elementwise/broadcast.h"
#include "kernels/elementwise/float_loops.h"
#include "kernels/elementwise/operation.h"
#include "kernels/simd/instruction_set.h"

namespace millstream::kernels {

// Computes the rows of one block; true when an operand was refused.
using BinaryLoop = bool (*)(const void* x, const void* y, void* out, const RowBlock& block,
                            int64_t columns);

// One operation on one type: a loop for each way that the operands may run along a row. The table
// of a SameShapeKernel has the first alone.
struct BinaryFunctions {
  MS_DType dtype;
  uint32_t picoseconds;
  BinaryLoop both;
  BinaryLoop only_x;
  BinaryLoop only_y;
  const char* refusal;
};
using BinaryTable = TypeTable<BinaryFunctions>;

// The operation on operands of one dtype.
struct BinaryCall {
  // Results are of the dtype of the operands, or what the loops write.
  ms::Status Init(const BinaryTable& table, MS_DType operands, MS_DType results);

  const BinaryFunctions* functions = nullptr;
  int64_t picoseconds = 0;
  // How operands become the floats that the loops take; null where they are what the loops take.
  const NarrowFormat* format = nullptr;
  bool same_dtype = false;    // results are of the dtype of the operands
  int64_t operand_bytes = 0;  // of an element
  int64_t result_bytes = 0;
};

// Runs the operation over a non-empty output.
ms::Status RunBinary(ms::Frame& frame, const BinaryCall& call, const BroadcastPlan& plan,
                     const void* x, const void* y, void* out);

// Elements [begin, end) of operands of one shape, in the caller's thread. True when one was
// refused.
bool RunBinaryElements(const BinaryCall& call, const void* x, const void* y, void* out,
                       int64_t begin, int64_t end);

// z = op(x, y) with broadcasting.
class BroadcastingKernel {
 public:
  struct Row {
    BinaryTable table;
    bool swap;  // computes op(y, x)
  };

  explicit BroadcastingKernel(const Row& row)
      : row_(row), x_(row.swap ? 1 : 0), y_(row.swap ? 0 : 1) {}
  ms::Status Init(const ms::KernelInfo& info);
  ms::Status Specialize(ms::Specialization& specialization) const;
  ms::Status Compute(ms::Frame& frame) const;

 private:
  ms::Status PlanAndRun(ms::Frame& frame) const;
  ms::Status Run(ms::Frame& frame, const BroadcastPlan& plan) const;

  const Row& row_;
  const uint32_t x_;  // which input is x
  const uint32_t y_;
  BinaryCall call_;
};

// z = op(x, y) for operands of one shape.
class SameShapeKernel {
 public:
  struct Row {
    BinaryTable table;
    const char* x_name;  // of the op's arguments, for messages
    const char* y_name;
  };

  explicit SameShapeKernel(const Row& row) : row_(row) {}
  ms::Status Init(const ms::KernelInfo& info);
  ms::Status Compute(ms::Frame& frame) const;

 private:
  const Row& row_;
  BinaryCall call_;
  std::string op_;
};

// ---- Templates
// -----------------------------------------------------------------------------------

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

template <typename Op, typename T, bool kXRuns, bool kYRuns>
bool BinaryRows(const void* x_base, const void* y_base, void* out_base, const RowBlock& block,
                int64_t columns) {
  using R = decltype(Op::template Apply<T>(T(), T()));
  const T* x = static_cast<const T*>(x_base) + block.x_offset;
  const T* y = static_cast<const T*>(y_base) + block.y_offset;
  R* out = static_cast<R*>(out_base) + block.output_offset;
  for (int64_t row = 0; row < block.rows; ++row) {
    BinaryElements<Op, T, R, kXRuns, kYRuns>(x, y, out, columns);
    x += block.x_step;
    y += block.y_step;
    out += columns;
  }
  return false;
}

// The same for an operation that takes longer than a step from element to element: one loop for all
// ways that the operands run. A stride is 0 or 1.
template <typename Op, typename T>
[[gnu::noinline]] bool SlowRows(const void* x_base, const void* y_base, void* out_base,
                                const RowBlock& block, int64_t columns, int64_t x_stride,
                                int64_t y_stride) {
  using R = decltype(Op::template Apply<T>(T(), T()));
  const T* x = static_cast<const T*>(x_base) + block.x_offset;
  const T* y = static_cast<const T*>(y_base) + block.y_offset;
  R* out = static_cast<R*>(out_base) + block.output_offset;
  bool refused = false;
  for (int64_t row = 0; row < block.rows; ++row) {
    for (int64_t i = 0; i < columns; ++i) {
      const T a = x[i * x_stride];
      const T b = y[i * y_stride];
      if constexpr (CanRefuse<Op>::value) refused = refused || Op::template Refuses<T>(a, b);
      out[i] = Op::template Apply<T>(a, b);
    }
    x += block.x_step;
    y += block.y_step;
    out += columns;
  }
  return refused;
}

// As BinaryRows, in the chosen instruction set where the operation gains by that.
template <typename Op, typename T, bool kXRuns, bool kYRuns>
bool RunBinaryRows(const void* x, const void* y, void* out, const RowBlock& block,
                   int64_t columns) {
  if constexpr (IsSlow<Op>::value) {
    return SlowRows<Op, T>(x, y, out, block, columns, kXRuns ? 1 : 0, kYRuns ? 1 : 0);
  } else {
    return RunLoopUpTo<kWidestRows<Op, T>, &BinaryRows<Op, T, kXRuns, kYRuns>>(x, y, out, block,
                                                                               columns);
  }
}

// A row where only y runs. Where operands may be swapped, the loop is that for x.
template <typename Op, typename T>
bool RunOnlyY(const void* x, const void* y, void* out, const RowBlock& block, int64_t columns) {
  if constexpr (kSwaps<Op, T>) {
    const RowBlock swapped = {block.y_offset, block.x_offset, block.output_offset,
                              block.rows,     block.y_step,   block.x_step};
    return RunBinaryRows<Op, T, true, false>(y, x, out, swapped, columns);
  } else {
    return RunBinaryRows<Op, T, false, true>(x, y, out, block, columns);
  }
}

// Rows of floats, as a FloatLoop.
template <typename Op, bool kXRuns, bool kYRuns>
void BinaryFloats(const float* x, const float* y, float* out, int64_t elements) {
  RunBinaryRows<Op, float, kXRuns, kYRuns>(x, y, out, RowBlock{0, 0, 0, 1, 0, 0}, elements);
}

template <typename Op, typename T>
constexpr BinaryFunctions MakeBinaryFunctions() {
  using Computed = ComputeTypeOf<T>;
  return {ms::DTypeOf<T>(),
          Op::kPicoseconds,
          &RunBinaryRows<Op, Computed, true, true>,
          &RunBinaryRows<Op, Computed, true, false>,
          &RunOnlyY<Op, Computed>,
          RefusalOf<Op>()};
}

// The table of an operation that has loops for these types.
template <typename Op, typename... Ts>
inline constexpr BinaryFunctions kBinaryFunctions[] = {MakeBinaryFunctions<Op, Ts>()...};
template <typename Op, typename... Ts>
inline constexpr BinaryTable kBinaryTable = {kBinaryFunctions<Op, Ts...>, sizeof...(Ts)};

// The same for operands of one shape, which both run.
template <typename Op, typename T>
constexpr BinaryFunctions MakeSameShapeFunctions() {
  return {ms::DTypeOf<T>(), Op::kPicoseconds, &RunBinaryRows<Op, ComputeTypeOf<T>, true, true>,
          nullptr,          nullptr,          RefusalOf<Op>()};
}
template <typename Op, typename... Ts>
inline constexpr BinaryFunctions kSameShapeFunctions[] = {MakeSameShapeFunctions<Op, Ts>()...};
template <typename Op, typename... Ts>
inline constexpr BinaryTable kSameShapeTable = {kSameShapeFunctions<Op, Ts...>, sizeof...(Ts)};

template <bool kSwap, typename Op, typename... Ts>
inline constexpr BroadcastingKernel::Row kBroadcastingRow = {kBinaryTable<Op, Ts...>, kSwap};

// The options of a kernel z = op(x, y) whose type attribute T is one of those in `sets`.
ms::KernelOptions BinaryOptions(uint32_t sets);

// What a fused loop needs of an operation that has float among its types.
template <typename Op, typename... Ts>
void AddBinaryFloatLoops(const char* op) {
  if constexpr ((std::is_same_v<Ts, float> || ...) && !CanRefuse<Op>::value) {
    AddFloatLoops(op, {2, &BinaryFloats<Op, true, true>, &BinaryFloats<Op, true, false>,
                       &BinaryFloats<Op, false, true>, Op::kPicoseconds});
  }
}

// Registers z = op(x, y) with broadcasting, for T in `sets`. Ts are the types that there are loops
// for.
template <typename Op, typename... Ts>
ms::Registered RegisterBinary(const char* op, uint32_t sets) {
  AddBinaryFloatLoops<Op, Ts...>(op);
  return ms::RegisterRow<BroadcastingKernel>(op, kBroadcastingRow<false, Op, Ts...>,
                                             BinaryOptions(sets));
}

}  // namespace millstream::kernels

#endif  // MILLSTREAM_KERNELS_ELEMENTWISE_BINARY_H_
