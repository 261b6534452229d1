// ArgMax, ArgMin: the position of the extreme element along one dimension. The first one counts
// when several are equal; a NaN never counts, and position 0 is the answer where there is nothing
// else.
#include <algorithm>
#include <cstdint>

#include "kernels/common/narrow_float.h"
#include "kernels/common/parallel.h"
#include "kernels/simd/instruction_set.h"

namespace millstream::kernels {
namespace {

struct Larger {
  template <typename T>
  static bool Beats(T challenger, T best) {
    return challenger > best;
  }
};
struct Smaller {
  template <typename T>
  static bool Beats(T challenger, T best) {
    return challenger < best;
  }
};

// The input as [outer, axis, inner], the output as [outer, inner].
struct ArgPlan {
  int64_t outer = 1;
  int64_t axis = 1;
  int64_t inner = 1;
  ms::Shape output;
};

// Writes outputs of outer indices [begin, end).
using ArgLoop = void (*)(const ArgPlan& plan, const void* in, void* out, int64_t begin,
                         int64_t end);

// Whether an element may win against the others: it is no NaN.
template <typename T>
bool Counts(T x) {
  return x == x;
}

// Along neighbouring elements.
template <typename Order, typename T>
int64_t PositionInRow(const T* x, int64_t n) {
  int64_t position = 0;
  while (position < n && !Counts(x[position])) ++position;
  if (position == n) return 0;
  T best = x[position];
  for (int64_t i = position + 1; i < n; ++i) {
    if (Order::Beats(x[i], best)) {
      best = x[i];
      position = i;
    }
  }
  return position;
}

// Along rows of `inner` elements: a tile of columns at a time.
template <typename Order, typename T, typename Index>
void PositionsInColumns(const ArgPlan& plan, const T* x, Index* out) {
  constexpr int64_t kTile = 256;
  T best[kTile];
  for (int64_t column = 0; column < plan.inner; column += kTile) {
    const int64_t width = std::min(kTile, plan.inner - column);
    const T* row = x + column;
    Index* positions = out + column;
    std::copy_n(row, width, best);
    std::fill_n(positions, width, Index{0});
    for (int64_t i = 1; i < plan.axis; ++i) {
      row += plan.inner;
#pragma GCC ivdep
      for (int64_t j = 0; j < width; ++j) {
        const bool wins = Order::Beats(row[j], best[j]) | (!Counts(best[j]) & Counts(row[j]));
        best[j] = wins ? row[j] : best[j];
        positions[j] = wins ? static_cast<Index>(i) : positions[j];
      }
    }
  }
}

template <typename Order, typename T, typename Index>
void ArgElements(const ArgPlan& plan, const void* in, void* out_base, int64_t begin, int64_t end) {
  const T* x = static_cast<const T*>(in) + begin * plan.axis * plan.inner;
  Index* out = static_cast<Index*>(out_base) + begin * plan.inner;
  for (int64_t i = begin; i < end; ++i) {
    if (plan.inner == 1) {
      *out = static_cast<Index>(PositionInRow<Order>(x, plan.axis));
    } else {
      RunLoopUpTo<kWidestOnFloats<T>, &PositionsInColumns<Order, T, Index>>(plan, x, out);
    }
    x += plan.axis * plan.inner;
    out += plan.inner;
  }
}

class ArgKernel {
 public:
  ms::Status Init(const ms::KernelInfo& info) {
    op_ = info.op();
    MS_DType output_type = 0;
    MS_TRY(info.DTypeAttr("output_type", &output_type));
    if (output_type != MS_INT32 && output_type != MS_INT64) {
      return ms::Unimplemented(op_, ": attribute output_type must be int32 or int64");
    }
    loop_ = output_type == MS_INT32 ? loop32_ : loop64_;
    return ms::Status();
  }

  ms::Status Compute(ms::Frame& frame) const {
    const ms::View in = frame.input(0);
    const ms::View dimension = frame.input(1);
    if (dimension.size() != 1) {
      return ms::InvalidArgument(op_, ": input dimension must be a scalar, its shape is ",
                                 dimension.shape().ToString());
    }
    ArgPlan plan;
    MS_TRY(Plan(in.shape(),
                dimension.dtype() == MS_INT64   ? *dimension.data<int64_t>()
                : dimension.dtype() == MS_INT16 ? *dimension.data<int16_t>()
                                                : *dimension.data<int32_t>(),
                &plan));
    ms::View out;
    MS_TRY(frame.Output(0, plan.output, &out));
    if (out.size() == 0) return ms::Status();
    MS_TRY(ParallelRows(
        frame, plan.outer, plan.axis * plan.inner, 1000,
        [&](int64_t begin, int64_t end) { loop_(plan, in.raw(), out.raw(), begin, end); }));
    return ms::Status();
  }

 protected:
  ArgKernel(ArgLoop loop32, ArgLoop loop64) : loop32_(loop32), loop64_(loop64) {}

 private:
  ms::Status Plan(const ms::Shape& in, int64_t dimension, ArgPlan* plan) const {
    const int64_t rank = in.rank();
    if (dimension < -rank || dimension >= rank) {
      return ms::InvalidArgument(op_, ": expected dimension in the range [", -rank, ", ", rank,
                                 "), but got ", dimension);
    }
    const auto axis = static_cast<uint32_t>(dimension < 0 ? dimension + rank : dimension);
    if (in[axis] == 0) {
      return ms::InvalidArgument(op_, ": reduction axis ", dimension, " is empty in input shape ",
                                 in.ToString());
    }
    for (uint32_t d = 0; d < in.rank(); ++d) {
      if (d != axis) plan->output.Append(in[d]);
      (d < axis ? plan->outer : d == axis ? plan->axis : plan->inner) *= in[d];
    }
    return ms::Status();
  }

  const ArgLoop loop32_;
  const ArgLoop loop64_;
  ArgLoop loop_ = nullptr;
  std::string op_;
};

template <typename Order, typename T>
class TypedArgKernel : public ArgKernel {
 public:
  TypedArgKernel() : ArgKernel(&ArgElements<Order, T, int32_t>, &ArgElements<Order, T, int64_t>) {}
};

template <typename Order, typename T>
void RegisterOne(const char* op, std::vector<MS_DType> dtypes) {
  ms::Register<TypedArgKernel<Order, T>>(
      op, ms::KernelOptions().Types("T", std::move(dtypes)).HostArg("dimension"));
}

template <typename Order>
ms::Registered RegisterArg(const char* op) {
  RegisterOne<Order, float>(op, {MS_FLOAT32});
  RegisterOne<Order, double>(op, {MS_FLOAT64});
  RegisterOne<Order, Float16>(op, {MS_FLOAT16});
  RegisterOne<Order, BFloat16>(op, {MS_BFLOAT16});
  RegisterOne<Order, int8_t>(op, {MS_INT8});
  RegisterOne<Order, int16_t>(op, {MS_INT16});
  RegisterOne<Order, int32_t>(op, {MS_INT32});
  RegisterOne<Order, int64_t>(op, {MS_INT64});
  RegisterOne<Order, uint8_t>(op, {MS_UINT8, MS_BOOL});
  RegisterOne<Order, uint16_t>(op, {MS_UINT16});
  RegisterOne<Order, uint32_t>(op, {MS_UINT32});
  RegisterOne<Order, uint64_t>(op, {MS_UINT64});
  return ms::Registered();
}

const ms::Registered arg_max = RegisterArg<Larger>("ArgMax");
const ms::Registered arg_min = RegisterArg<Smaller>("ArgMin");

}  // namespace
}  // namespace millstream::kernels
