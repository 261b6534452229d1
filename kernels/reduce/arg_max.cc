// ArgMax, ArgMin: the position of the extreme element along one dimension. The first one counts
// when several are equal; a NaN never counts, and position 0 is the answer where there is nothing
// else.
#include <algorithm>
#include <cstdint>
#include <cstring>
#include <iterator>
#include <limits>
#include <string>
#include <type_traits>
#include <vector>

#include "kernels/common/parallel.h"
#include "kernels/reduce/reduce_loops.h"
#include "kernels/simd/vector.h"

namespace millstream::kernels {
namespace {

// Winner is for vectors as well. It keeps `best` when the challenger is a NaN or equal.
struct Larger {
  template <typename T>
  static bool Beats(T challenger, T best) {
    return challenger > best;
  }
  template <typename V>
  static V Winner(V challenger, V best) {
    return challenger > best ? challenger : best;
  }
  // What beats nothing.
  template <typename T>
  static constexpr T Weakest() {
    using Limits = std::numeric_limits<T>;
    return Limits::has_infinity ? -Limits::infinity() : Limits::lowest();
  }
};
struct Smaller {
  template <typename T>
  static bool Beats(T challenger, T best) {
    return challenger < best;
  }
  template <typename V>
  static V Winner(V challenger, V best) {
    return challenger < best ? challenger : best;
  }
  template <typename T>
  static constexpr T Weakest() {
    using Limits = std::numeric_limits<T>;
    return Limits::has_infinity ? Limits::infinity() : Limits::max();
  }
};

// The input as [outer, axis, inner], the output as [outer, inner].
struct ArgPlan {
  int64_t outer = 1;
  int64_t axis = 1;
  int64_t inner = 1;
  ms::Shape output;
};

// The loops of one order on one type that is computed in. Positions count from 0; -1 stands for
// none yet. An element may win when it is no NaN.
struct ArgLoops {
  // Goes on along `rows` rows of n neighbours, which follow each other, with the winners so far.
  // The neighbours' positions begin at `base`.
  void (*rows)(const void* x, int64_t n, int64_t rows, int64_t base, void* best,
               int64_t* positions);
  // Goes on with the row at position `i` of `width` columns.
  void (*columns)(const void* row, int64_t width, int32_t i, void* best, int32_t* positions);
  int64_t bytes;  // of an element
};

// One op on elements of one type.
struct ArgFunctions {
  MS_DType dtype;
  const ArgLoops* loops;
  ReduceMake make;  // null: elements are of the type that is computed in
};

template <typename T>
bool Counts(T x) {
  return x == x;
}

// The rows of ArgLoops. Of each block of a row the extreme is found first, by vectors and without
// its position; that is looked for in the few blocks whose extreme beats those before.
template <typename Order, typename T>
class RowSearch {
 public:
  static void Run(const void* x, int64_t n, int64_t rows, int64_t base, void* best,
                  int64_t* positions) {
    // As with other reductions that compare vectors: see kWidestReduction.
    RunVectorLoopUpTo<std::min(kWidestLoops<T>, InstructionSet::kAvx2), Loop>(
        static_cast<const T*>(x), n, rows, base, static_cast<T*>(best), positions);
  }

 private:
  static constexpr int64_t kBlock = 256;

  template <int kBytes>
  struct Loop {
    static void Run(const T* x, int64_t n, int64_t rows, int64_t base, T* bests,
                    int64_t* positions) {
      for (int64_t row = 0; row < rows; ++row, x += n) {
        for (int64_t at = 0; at < n; at += kBlock) {
          const int64_t count = std::min(kBlock, n - at);
          const T extreme = ExtremeOf<kBytes>(x + at, count);
          if (positions[row] >= 0 && !Order::Beats(extreme, bests[row])) continue;
          const int64_t i = FirstOf<kBytes>(extreme, x + at, count);
          if (i == count) continue;  // all are NaNs
          positions[row] = base + at + i;
          bests[row] = extreme;
        }
      }
    }
  };

  // Passes over NaNs. Of zeros of both signs it may be either.
  template <int kBytes>
  static T ExtremeOf(const T* x, int64_t n) {
    T extreme = Order::template Weakest<T>();
    int64_t i = 0;
    if constexpr (std::is_floating_point_v<T>) {
      constexpr int kEach = kLanes<T, kBytes>;
      constexpr int kVectors = 4;
      if (n >= kVectors * kEach) {
        Vector<T, kBytes> lanes[kVectors];
#pragma GCC unroll 4
        for (int v = 0; v < kVectors; ++v) lanes[v] = Broadcast<kBytes>(extreme);
        for (; i + kVectors * kEach <= n; i += kVectors * kEach) {
#pragma GCC unroll 4
          for (int v = 0; v < kVectors; ++v) {
            lanes[v] = Order::Winner(Load<kBytes>(x + i + v * kEach), lanes[v]);
          }
        }
        lanes[0] =
            Order::Winner(Order::Winner(lanes[1], lanes[0]), Order::Winner(lanes[3], lanes[2]));
        extreme =
            FoldHalves<kBytes, T>(lanes[0], [](auto a, auto b) { return Order::Winner(b, a); });
      }
    }
    for (; i < n; ++i) extreme = Order::Winner(x[i], extreme);
    return extreme;
  }

  // n where there is none.
  template <int kBytes>
  static int64_t FirstOf(T wanted, const T* x, int64_t n) {
    int64_t i = 0;
    if constexpr (std::is_floating_point_v<T>) {
      constexpr int kEach = kLanes<T, kBytes>;
      const Vector<T, kBytes> all = Broadcast<kBytes>(wanted);
      while (i + 2 * kEach <= n &&
             !AnyOf((Load<kBytes>(x + i) == all) | (Load<kBytes>(x + i + kEach) == all))) {
        i += 2 * kEach;
      }
    }
    while (i < n && !(x[i] == wanted)) ++i;
    return i;
  }
};

template <typename Order, typename T>
void ScanColumns(const T* __restrict row, int64_t width, int32_t i, T* __restrict best,
                 int32_t* __restrict positions) {
  for (int64_t j = 0; j < width; ++j) {
    const bool wins = Order::Beats(row[j], best[j]) | (!Counts(best[j]) & Counts(row[j]));
    best[j] = wins ? row[j] : best[j];
    positions[j] = wins ? i : positions[j];
  }
}
template <typename Order, typename T>
void RunColumns(const void* row, int64_t width, int32_t i, void* best, int32_t* positions) {
  RunLoopUpTo<kWidestOnFloats<T>, &ScanColumns<Order, T>>(static_cast<const T*>(row), width, i,
                                                          static_cast<T*>(best), positions);
}

template <typename Order, typename T>
inline constexpr ArgLoops kArgLoops = {&RowSearch<Order, T>::Run, &RunColumns<Order, T>, sizeof(T)};

template <typename Order, typename T>
constexpr ArgFunctions ArgAs() {
  return {ms::DTypeOf<T>(), &kArgLoops<Order, T>, nullptr};
}
template <typename Order, typename T, typename Computed>
constexpr ArgFunctions ArgThrough() {
  return {ms::DTypeOf<T>(), &kArgLoops<Order, Computed>, &MakeElements<T, Computed>};
}
template <typename Order>
inline constexpr ArgFunctions kArgFunctions[] = {ArgAs<Order, float>(),
                                                 ArgAs<Order, double>(),
                                                 ArgAs<Order, int32_t>(),
                                                 ArgAs<Order, int64_t>(),
                                                 ArgAs<Order, uint64_t>(),
                                                 ArgThrough<Order, Float16, float>(),
                                                 ArgThrough<Order, BFloat16, float>(),
                                                 ArgThrough<Order, int8_t, int32_t>(),
                                                 ArgThrough<Order, int16_t, int32_t>(),
                                                 ArgThrough<Order, uint8_t, int32_t>(),
                                                 ArgThrough<Order, uint16_t, int32_t>(),
                                                 ArgThrough<Order, uint32_t, int64_t>()};
template <typename Order>
inline constexpr TypeTable<ArgFunctions> kArgTable = {kArgFunctions<Order>,
                                                      std::size(kArgFunctions<Order>)};

// Goes through memory, the same way for all types.
class ArgSearch {
 public:
  ArgSearch(const ArgPlan& plan, const ArgFunctions& functions, const void* in, void* out,
            bool wide_output)
      : plan_(plan),
        functions_(functions),
        loops_(*functions.loops),
        in_(in),
        out_(out),
        wide_output_(wide_output) {}

  // Writes outputs of outer indices [begin, end).
  void Run(int64_t begin, int64_t end) const {
    if (plan_.inner == 1) {
      for (int64_t row = begin; row < end; row += kRows) {
        RunRows(row, std::min(kRows, end - row));
      }
    } else if (plan_.axis <= std::numeric_limits<int32_t>::max()) {
      for (int64_t i = begin; i < end; ++i) {
        for (int64_t column = 0; column < plan_.inner; column += kColumns) {
          RunColumns(i, column, std::min(kColumns, plan_.inner - column));
        }
      }
    } else {
      for (int64_t i = begin * plan_.inner; i < end * plan_.inner; ++i) RunLongColumn(i);
    }
  }

 private:
  static constexpr int64_t kRows = 64;
  static constexpr int64_t kColumns = 256;
  static constexpr int64_t kMade = 1024;  // elements that are made together
  static constexpr int64_t kMostBytes = 8;

  const void* Address(int64_t at) const {
    return static_cast<const char*>(in_) + at * loops_.bytes;
  }
  void Write(int64_t i, int64_t position) const {
    if (wide_output_) {
      static_cast<int64_t*>(out_)[i] = position;
    } else {
      static_cast<int32_t*>(out_)[i] = static_cast<int32_t>(position);
    }
  }

  // Along neighbouring elements.
  void RunRows(int64_t begin, int64_t rows) const {
    alignas(16) char made[kMade * kMostBytes];
    alignas(16) char best[kRows * kMostBytes];
    int64_t positions[kRows];
    std::fill_n(positions, rows, int64_t{-1});
    const int64_t n = plan_.axis;
    if (functions_.make == nullptr) {
      loops_.rows(Address(begin * n), n, rows, 0, best, positions);
    } else {
      for (int64_t row = 0; row < rows; ++row) {
        for (int64_t at = 0; at < n; at += kMade) {
          const int64_t count = std::min(kMade, n - at);
          functions_.make(in_, (begin + row) * n + at, count, made);
          loops_.rows(made, count, 1, at, best + row * loops_.bytes, positions + row);
        }
      }
    }
    for (int64_t row = 0; row < rows; ++row) {
      Write(begin + row, std::max(positions[row], int64_t{0}));
    }
  }

  // Along rows of `inner` elements: a tile of columns at a time.
  void RunColumns(int64_t outer, int64_t column, int64_t width) const {
    alignas(64) char made[kColumns * kMostBytes];
    alignas(64) char best[kColumns * kMostBytes];
    int32_t positions[kColumns];
    std::fill_n(positions, width, 0);
    for (int64_t i = 0; i < plan_.axis; ++i) {
      const int64_t at = (outer * plan_.axis + i) * plan_.inner + column;
      const void* row = Address(at);
      if (functions_.make != nullptr) {
        functions_.make(in_, at, width, made);
        row = made;
      }
      if (i == 0) {
        std::memcpy(best, row, static_cast<size_t>(width * loops_.bytes));
      } else {
        loops_.columns(row, width, static_cast<int32_t>(i), best, positions);
      }
    }
    for (int64_t j = 0; j < width; ++j) Write(outer * plan_.inner + column + j, positions[j]);
  }

  // One column of more rows than RunColumns can count.
  void RunLongColumn(int64_t output) const {
    const int64_t first = output / plan_.inner * plan_.axis * plan_.inner + output % plan_.inner;
    alignas(16) char made[kMostBytes];
    alignas(16) char best[kMostBytes];
    int64_t position = -1;
    for (int64_t i = 0; i < plan_.axis; ++i) {
      const void* element = Address(first + i * plan_.inner);
      if (functions_.make != nullptr) {
        functions_.make(in_, first + i * plan_.inner, 1, made);
        element = made;
      }
      loops_.rows(element, 1, 1, i, best, &position);
    }
    Write(output, std::max(position, int64_t{0}));
  }

  const ArgPlan& plan_;
  const ArgFunctions& functions_;
  const ArgLoops& loops_;
  const void* const in_;
  void* const out_;
  const bool wide_output_;
};

class ArgKernel {
 public:
  using Row = TypeTable<ArgFunctions>;

  explicit ArgKernel(const Row& row) : row_(row) {}

  ms::Status Init(const ms::KernelInfo& info) {
    op_ = info.op();
    functions_ = row_.Find(info.input_dtype(0));
    if (functions_ == nullptr) return NoLoopFor(info.input_dtype(0));
    MS_DType output_type = 0;
    MS_TRY(info.DTypeAttr("output_type", &output_type));
    if (output_type != MS_INT32 && output_type != MS_INT64) {
      return ms::Unimplemented(op_, ": attribute output_type must be int32 or int64");
    }
    wide_output_ = output_type == MS_INT64;
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
    const ArgSearch search(plan, *functions_, in.raw(), out.raw(), wide_output_);
    MS_TRY(ParallelRows(frame, plan.outer, plan.axis * plan.inner, 1000,
                        [&](int64_t begin, int64_t end) { search.Run(begin, end); }));
    return ms::Status();
  }

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

  const Row& row_;
  const ArgFunctions* functions_ = nullptr;
  bool wide_output_ = false;
  std::string op_;
};

template <typename Order>
ms::Registered RegisterArg(const char* op) {
  std::vector<MS_DType> dtypes = TypesIn(kOrderedTypes);
  dtypes.push_back(MS_BOOL);
  return ms::RegisterRow<ArgKernel>(
      op, kArgTable<Order>, ms::KernelOptions().Types("T", std::move(dtypes)).HostArg("dimension"));
}

const ms::Registered arg_max = RegisterArg<Larger>("ArgMax");
const ms::Registered arg_min = RegisterArg<Smaller>("ArgMin");

}  // namespace
}  // namespace millstream::kernels
