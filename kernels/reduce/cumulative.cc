// Cumsum, Cumprod, CumulativeLogsumexp: sums, products, and logarithms of sums of exponentials, of
// all elements up to each one along an axis.
#include <algorithm>
#include <cmath>
#include <complex>
#include <cstdint>
#include <limits>
#include <type_traits>
#include <utility>
#include <vector>

#include "framework/plugin/plugin.hpp"
#include "kernels/array/indices.h"
#include "kernels/common/narrow_float.h"
#include "kernels/common/parallel.h"
#include "kernels/common/type_table.h"
#include "kernels/common/wrapping.h"

namespace millstream::kernels {
namespace {

// Columns that are computed together, side by side in memory.
constexpr int64_t kColumns = 64;

// The tensor as [outer, length, inner]: a column is one index of outer and one of inner.
struct Columns {
  int64_t outer = 1;
  int64_t length = 1;
  int64_t inner = 1;
  bool exclusive = false;
  bool reverse = false;
};

// Computes `count` columns, at most kColumns, whose first elements begin at `first`. The output may
// be the memory of the input.
using CumulativeLoop = void (*)(const void* x, void* out, const Columns& columns, int64_t first,
                                int64_t count);

struct CumulativeFunctions {
  MS_DType dtype;
  CumulativeLoop columns;
  CumulativeLoop rows;  // the same where a column's elements are neighbours (inner = 1), any count
};

// `Element` is the type of the tensor, T that of the computation.
struct SumOp {
  template <typename Element, typename T>
  static T Initial() {
    return T(0);
  }
  template <typename T>
  static T Apply(T x, T y) {
    return WrappingSum(x, y);
  }
};

struct ProductOp {
  template <typename Element, typename T>
  static T Initial() {
    return T(1);
  }
  template <typename T>
  static T Apply(T x, T y) {
    return WrappingProduct(x, y);
  }
};

// log(exp(x) + exp(y)), without the overflow of either. The least finite number stands for the
// logarithm of nothing.
struct LogSumOp {
  template <typename Element, typename T>
  static T Initial() {
    return -(std::is_same_v<Element, Float16> ? T(65504) : std::numeric_limits<T>::max());
  }
  template <typename T>
  static T Apply(T x, T y) {
    if (std::isnan(x) || std::isnan(y)) return x + y;
    const T larger = std::max(x, y);
    // Not where both are the same infinity, whose difference is not a number.
    return std::isinf(larger) ? larger : larger + std::log1p(std::exp(std::min(x, y) - larger));
  }
};

// 16-bit floating-point numbers are added up in float, and each result is rounded.
template <typename Op, typename T>
void RunColumns(const void* x_base, void* out_base, const Columns& columns, int64_t first,
                int64_t count) {
  using Computed = ComputeTypeOf<T>;
  const T* x = static_cast<const T*>(x_base) + first;
  T* out = static_cast<T*>(out_base) + first;
  Computed so_far[kColumns];
  std::fill_n(so_far, count, Op::template Initial<T, Computed>());
  for (int64_t i = 0; i < columns.length; ++i) {
    const int64_t row = (columns.reverse ? columns.length - 1 - i : i) * columns.inner;
    for (int64_t c = 0; c < count; ++c) {
      const Computed before = so_far[c];
      so_far[c] = Op::Apply(before, static_cast<Computed>(x[row + c]));
      out[row + c] = static_cast<T>(columns.exclusive ? before : so_far[c]);
    }
  }
}

// Computes kRows columns at once, each of which lies in a row of memory: the next operation of one
// waits for the last, but not for those of others. More rows would fall into the same sets of the
// first cache where their length is a power of two.
constexpr int64_t kRows = 4;

template <typename Op, typename T, int64_t kCount>
void RunSomeRows(const T* x, T* out, const Columns& columns) {
  using Computed = ComputeTypeOf<T>;
  const int64_t length = columns.length;
  const int64_t step = columns.reverse ? -1 : 1;
  Computed so_far[kCount];
  std::fill_n(so_far, kCount, Op::template Initial<T, Computed>());
  int64_t at = columns.reverse ? length - 1 : 0;
  for (int64_t i = 0; i < length; ++i, at += step) {
    // Else so_far would be in memory, and each operation wait for the last one's store, too.
#pragma GCC unroll 4
    for (int64_t row = 0; row < kCount; ++row) {
      const Computed before = so_far[row];
      so_far[row] = Op::Apply(before, static_cast<Computed>(x[row * length + at]));
      out[row * length + at] = static_cast<T>(columns.exclusive ? before : so_far[row]);
    }
  }
}

template <typename Op, typename T>
void RunRows(const void* x_base, void* out_base, const Columns& columns, int64_t first,
             int64_t count) {
  const T* x = static_cast<const T*>(x_base) + first;
  T* out = static_cast<T*>(out_base) + first;
  int64_t row = 0;
  for (; row + kRows <= count; row += kRows) {
    RunSomeRows<Op, T, kRows>(x + row * columns.length, out + row * columns.length, columns);
  }
  for (; row < count; ++row) {
    RunSomeRows<Op, T, 1>(x + row * columns.length, out + row * columns.length, columns);
  }
}

template <typename Op, typename T>
constexpr CumulativeFunctions LoopsOf() {
  return {ms::DTypeOf<T>(), &RunColumns<Op, T>, &RunRows<Op, T>};
}
template <typename Op, typename... Ts>
constexpr CumulativeFunctions kLoops[] = {LoopsOf<Op, Ts>()...};

// Integers wrap, by the loops of the unsigned ones.
template <typename Op>
constexpr TypeTable<CumulativeFunctions> kTable = {
    kLoops<Op, float, double, std::complex<float>, std::complex<double>, Float16, BFloat16, uint8_t,
           uint16_t, uint32_t, uint64_t>,
    10};

// Inputs: x, axis.
class CumulativeKernel {
 public:
  struct Row {
    TypeTable<CumulativeFunctions> table;
    int64_t picoseconds;  // of an element
  };

  explicit CumulativeKernel(const Row& row) : row_(row) {}

  ms::Status Init(const ms::KernelInfo& info) {
    const CumulativeFunctions* functions = row_.table.Find(info.input_dtype(0));
    if (functions == nullptr) return NoLoopFor(info.input_dtype(0));
    functions_ = functions;
    MS_TRY(info.Attr("exclusive", &exclusive_));
    return info.Attr("reverse", &reverse_);
  }

  ms::Status Compute(ms::Frame& frame) const {
    const ms::View x = frame.input(0);
    const ms::Shape shape = x.shape();
    int64_t given_axis = 0;
    MS_TRY(ReadIndexScalar(frame.input(1), "axis", &given_axis));
    uint32_t axis = 0;
    MS_TRY(ResolveAxis(given_axis, shape.rank(), "axis", &axis));
    ms::View out;
    MS_TRY(frame.ForwardOrOutput(0, 0, shape, &out));
    if (out.size() == 0) return ms::Status();

    Columns columns;
    columns.exclusive = exclusive_;
    columns.reverse = reverse_;
    for (uint32_t d = 0; d < shape.rank(); ++d) {
      (d < axis ? columns.outer : d == axis ? columns.length : columns.inner) *= shape[d];
    }
    return Run(frame, columns, x.raw(), out.raw());
  }

 private:
  ms::Status Run(ms::Frame& frame, const Columns& columns, const void* x, void* out) const {
    const int64_t inner = columns.inner;
    return ParallelRows(frame, columns.outer * inner, columns.length, row_.picoseconds,
                        [&](int64_t begin, int64_t end) {
                          if (inner == 1) {
                            functions_->rows(x, out, columns, begin * columns.length, end - begin);
                            return;
                          }
                          for (int64_t at = begin; at < end;) {
                            const int64_t column = at % inner;
                            const int64_t count = std::min({end - at, inner - column, kColumns});
                            functions_->columns(x, out, columns,
                                                at / inner * columns.length * inner + column,
                                                count);
                            at += count;
                          }
                        });
  }

  const Row& row_;
  const CumulativeFunctions* functions_ = nullptr;
  bool exclusive_ = false;
  bool reverse_ = false;
};

template <typename Op>
constexpr CumulativeKernel::Row kArithmetic = {kTable<Op>, 700};

constexpr CumulativeKernel::Row kLogSum = {{kLoops<LogSumOp, float, double, Float16>, 3}, 20000};

ms::KernelOptions Options(std::vector<MS_DType> types) {
  return ms::KernelOptions()
      .Types("T", std::move(types))
      .Types("Tidx", IndexTypes())
      .HostArg("axis")
      .InPlace(0, 0);
}

const ms::Registered cumsum = ms::RegisterRow<CumulativeKernel>("Cumsum", kArithmetic<SumOp>,
                                                                Options(TypesIn(kAllNumberTypes)));
const ms::Registered cumprod = ms::RegisterRow<CumulativeKernel>("Cumprod", kArithmetic<ProductOp>,
                                                                 Options(TypesIn(kAllNumberTypes)));
const ms::Registered cumulative_logsumexp = ms::RegisterRow<CumulativeKernel>(
    "CumulativeLogsumexp", kLogSum, Options({MS_FLOAT16, MS_FLOAT32, MS_FLOAT64}));

}  // namespace
}  // namespace millstream::kernels
