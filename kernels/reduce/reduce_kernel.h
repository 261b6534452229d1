// Kernels that reduce dimensions of their input. A reducer is a class with
//   using In, Acc, Out;                     types of elements, of partial results, of the output
//   static Acc Identity();
//   template <typename V> static V Combine(V a, V b);   on Acc, and on vectors of it where Acc is a
//                                                       floating-point type
//   template <typename V> static V Prepare(V x);        what is done to a vector of elements first,
//                                                       as Acc (only where Acc is floating-point)
//   static Acc Load(In x);                              the same for one element
//   static Out Finish(Acc result, int64_t count);
#ifndef MILLSTREAM_KERNELS_REDUCE_REDUCE_KERNEL_H_
#define MILLSTREAM_KERNELS_REDUCE_REDUCE_KERNEL_H_

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <type_traits>

#include "framework/plugin/plugin.hpp"
#include "kernels/common/narrow_float.h"
#include "kernels/reduce/reduce_plan.h"
#include "kernels/simd/vector.h"

namespace millstream::kernels {

// One reducer, compiled.
struct ReduceFunctions {
  // Runs tasks [begin, end) of the plan.
  void (*run_tasks)(const ReducePlan& plan, const void* in, void* out, void* partial, int64_t begin,
                    int64_t end);
  // Combines the groups' results, in place, and writes the outputs.
  void (*combine_groups)(const ReducePlan& plan, void* partial, void* out);
  // Writes what a reduction of nothing gives.
  void (*fill_empty)(const ReducePlan& plan, void* out);
  int64_t accumulator_bytes;
  int64_t picoseconds;  // of one element
};

// Reduces `in` to the first output of the frame. `scratch` holds partial_elements accumulators;
// when it is null, temporary memory is taken.
ms::Status RunReduction(ms::Frame& frame, const ReduceFunctions& functions, const ReducePlan& plan,
                        const ms::View& in, void* scratch);

// output = reduce(input, reduction_indices) with attribute keep_dims.
class ReduceKernel {
 public:
  ms::Status Init(const ms::KernelInfo& info);
  ms::Status Specialize(ms::Specialization& specialization) const;
  ms::Status Compute(ms::Frame& frame) const;

 protected:
  explicit ReduceKernel(const ReduceFunctions& functions) : functions_(functions) {}

 private:
  const ReduceFunctions& functions_;
  bool keep_dims_ = false;
};

// The options of a ReduceKernel whose attribute T is one of `dtypes`.
ms::KernelOptions ReduceOptions(std::vector<MS_DType> dtypes);

// ---- Templates
// -----------------------------------------------------------------------------------

// The widest set for the loops of a reducer. GCC 12 takes the masks of AVX-512 apart, element by
// element, so that one that compares vectors is faster with AVX2.
template <typename Reducer, typename = void>
inline constexpr InstructionSet kWidestReduction = kWidestLoops<typename Reducer::Acc>;
template <typename Reducer>
inline constexpr InstructionSet
    kWidestReduction<Reducer, std::enable_if_t<Reducer::kComparesVectors>> =
        std::min(kWidestLoops<typename Reducer::Acc>, InstructionSet::kAvx2);

template <typename Reducer, template <int> class Loop, typename... Args>
inline auto RunReduceLoop(Args&&... args) {
  return RunVectorLoopUpTo<kWidestReduction<Reducer>, Loop>(args...);
}

// What is called by RunReduceLoop is there for every set: the long loops, and rows of short runs.
// All that decides which of them run is there once.
template <typename Reducer>
class ReduceLoops {
 public:
  using In = typename Reducer::In;
  using Acc = typename Reducer::Acc;
  using Out = typename Reducer::Out;

  static void RunTasks(const ReducePlan& plan, const void* in, void* out, void* partial,
                       int64_t begin, int64_t end) {
    if (plan.inner_reduced && plan.items == 1 && plan.kept_rank <= 1) {
      return RunReduceLoop<Reducer, EvenOutputs>(plan, static_cast<const In*>(in),
                                                 static_cast<Out*>(out), begin, end);
    }
    for (int64_t task = begin; task < end; ++task) {
      if (plan.inner_reduced) {
        RunOutput(plan, static_cast<const In*>(in), static_cast<Out*>(out),
                  static_cast<Acc*>(partial), task);
      } else {
        RunTile(Stored(), plan, static_cast<const In*>(in), static_cast<Out*>(out),
                static_cast<Acc*>(partial), task);
      }
    }
  }

  // As RunTasks, in the same order to the bit, of elements that need not be there yet:
  // source.Make<kVectorBytes>(x, n, made) writes those that `n` addresses from `x` on stand for to
  // `made`. It is called once for each, for neighbours one after the other. REQUIRES: the plan
  // keeps the innermost dimension.
  template <typename Source>
  static void RunTilesOf(const Source& source, const ReducePlan& plan, const In* in, Out* out,
                         Acc* partial, int64_t begin, int64_t end) {
    for (int64_t task = begin; task < end; ++task) RunTile(source, plan, in, out, partial, task);
  }

  static void CombineGroups(const ReducePlan& plan, void* partial, void* out) {
    Acc* const rows = static_cast<Acc*>(partial);
    for (int64_t step = 1; step < plan.groups; step *= 2) {
      for (int64_t group = 0; group + step < plan.groups; group += 2 * step) {
        CombineInto(rows + group * plan.outputs, rows + (group + step) * plan.outputs,
                    plan.outputs);
      }
    }
    FinishInto(plan, rows, static_cast<Out*>(out), plan.outputs);
  }

  static void FillEmpty(const ReducePlan& plan, void* out) {
    std::fill_n(static_cast<Out*>(out), plan.outputs, Reducer::Finish(Reducer::Identity(), 0));
  }

 private:
  // The lanes that a long run is summed in do not depend on the machine's vectors.
  template <int kBytes>
  static constexpr int kVectors = 64 / kBytes;
  static constexpr int64_t kShortRun = 16;
  static constexpr int64_t kLeafItems = 4;
  static constexpr int64_t kLeafRows = 32;
  // Rows shorter than half of this are taken several at a time.
  static constexpr int64_t kNarrow = 64;

  // Neighbouring elements as a vector of Acc.
  template <int kBytes>
  static auto LoadLanes(const In* x) {
    if constexpr (std::is_same_v<In, Acc>) {
      return Reducer::Prepare(Load<kBytes>(x));
    } else {
      Acc lanes[kLanes<Acc, kBytes>];
      for (int i = 0; i < kLanes<Acc, kBytes>; ++i) lanes[i] = static_cast<Acc>(x[i]);
      return Reducer::Prepare(Load<kBytes>(lanes));
    }
  }

  static int64_t GroupBegin(const ReducePlan& plan, int64_t group) {
    return plan.items * group / plan.groups;
  }

  // ---- Innermost dimension reduced ----

  // Each output is made of one run, and the runs follow each other.
  template <int kBytes>
  struct EvenOutputs {
    static void Run(const ReducePlan& plan, const In* in, Out* out, int64_t begin, int64_t end) {
      const In* x = in + begin * plan.inner;
      for (int64_t i = begin; i < end; ++i, x += plan.inner) {
        Acc result;
        if (plan.inner < kShortRun) {
          result = Reducer::Load(x[0]);
          for (int64_t j = 1; j < plan.inner; ++j) {
            result = Reducer::Combine(result, Reducer::Load(x[j]));
          }
        } else {
          result = LongRun<kBytes>::Run(x, plan.inner);
        }
        out[i] = Reducer::Finish(result, plan.count);
      }
    }
  };

  static void RunOutput(const ReducePlan& plan, const In* in, Out* out, Acc* partial,
                        int64_t task) {
    const int64_t index = task / plan.groups;
    const int64_t group = task % plan.groups;
    const In* start = in + plan.KeptOffset(index);
    const Acc result =
        plan.items == 1 ? RunReduceLoop<Reducer, LongRun>(start, plan.inner)
                        : Items(plan, start, GroupBegin(plan, group), GroupBegin(plan, group + 1));
    if (plan.groups == 1) {
      out[index] = Reducer::Finish(result, plan.count);
    } else {
      partial[group * plan.outputs + index] = result;
    }
  }

  // Items [begin, end), as a balanced tree.
  static Acc Items(const ReducePlan& plan, const In* start, int64_t begin, int64_t end) {
    if (end - begin > kLeafItems) {
      const int64_t middle = begin + (end - begin) / 2;
      const Acc left = Items(plan, start, begin, middle);
      return Reducer::Combine(left, Items(plan, start, middle, end));
    }
    Acc result = Reducer::Identity();
    for (int64_t item = begin; item < end; ++item) {
      const int64_t run = item % plan.runs_per_row * ReducePlan::kRunLength;
      const In* x = start + plan.ReducedOffset(item / plan.runs_per_row) + run;
      result = Reducer::Combine(result, RunReduceLoop<Reducer, LongRun>(
                                            x, std::min(ReducePlan::kRunLength, plan.inner - run)));
    }
    return result;
  }

  // n neighbouring elements. Integers in any order: they wrap, so the compiler may choose it.
  // Complex numbers one after the other.
  template <int kBytes>
  struct LongRun {
    static Acc Run(const In* x, int64_t n) {
      if constexpr (std::is_floating_point_v<Acc>) return RunInLanes<kBytes>(x, n);
      Acc result = Reducer::Identity();
      for (int64_t i = 0; i < n; ++i) result = Reducer::Combine(result, Reducer::Load(x[i]));
      return result;
    }
  };

  template <int kBytes>
  static Acc RunInLanes(const In* x, int64_t n) {
    constexpr int kEach = kLanes<Acc, kBytes>;
    constexpr int64_t kAllLanes = kVectors<kBytes> * kEach;
    Acc result = Reducer::Identity();
    int64_t i = 0;
    if (n >= kAllLanes) {
      Vector<Acc, kBytes> lanes[kVectors<kBytes>];
      for (int v = 0; v < kVectors<kBytes>; ++v) lanes[v] = LoadLanes<kBytes>(x + v * kEach);
      for (i = kAllLanes; i + kAllLanes <= n; i += kAllLanes) {
        for (int v = 0; v < kVectors<kBytes>; ++v) {
          lanes[v] = Reducer::Combine(lanes[v], LoadLanes<kBytes>(x + i + v * kEach));
        }
      }
      Acc values[kAllLanes];
      std::memcpy(values, lanes, sizeof(values));
      for (int64_t step = kAllLanes / 2; step > 0; step /= 2) {
        for (int64_t j = 0; j < step; ++j) {
          values[j] = Reducer::Combine(values[j], values[j + step]);
        }
      }
      result = values[0];
    }
    for (; i < n; ++i) result = Reducer::Combine(result, Reducer::Load(x[i]));
    return result;
  }

  // ---- Innermost dimension kept ----

  // Of elements that are there.
  struct Stored {};

  template <typename Source>
  static void RunTile(const Source& source, const ReducePlan& plan, const In* in, Out* out,
                      Acc* partial, int64_t task) {
    const int64_t group = task % plan.groups;
    const int64_t tile = task / plan.groups % plan.tiles;
    const int64_t index = task / plan.groups / plan.tiles;
    const int64_t column = tile * ReducePlan::kTile;
    const int64_t width = std::min(ReducePlan::kTile, plan.inner - column);
    const int64_t output = index * plan.inner + column;
    alignas(64) Acc result[ReducePlan::kTile];
    Rows(source, plan, in + plan.KeptOffset(index) + column, GroupBegin(plan, group),
         GroupBegin(plan, group + 1), width, result);
    if (plan.groups == 1) {
      FinishInto(plan, result, out + output, width);
    } else {
      std::copy_n(result, width, partial + group * plan.outputs + output);
    }
  }

  // Rows [begin, end) of `width` columns, as a balanced tree.
  template <typename Source>
  static void Rows(const Source& source, const ReducePlan& plan, const In* start, int64_t begin,
                   int64_t end, int64_t width, Acc* result) {
    const bool narrow = IsNarrow(plan);
    const int64_t leaf = narrow ? kLeafRows * (kNarrow / plan.inner) : kLeafRows;
    if (end - begin > leaf) {
      const int64_t middle = begin + (end - begin) / 2;
      Rows(source, plan, start, begin, middle, width, result);
      alignas(64) Acc other[ReducePlan::kTile];
      Rows(source, plan, start, middle, end, width, other);
      CombineInto(result, other, width);
      return;
    }
    if (narrow) {
      return NarrowRows(source, start + begin * plan.inner, end - begin, plan.inner, result);
    }
    std::fill_n(result, width, Reducer::Identity());
    if (plan.reduced_rank <= 1) {
      const int64_t stride = plan.reduced_rank == 0 ? 0 : plan.reduced_strides[0];
      EvenRows(source, start + begin * stride, end - begin, stride, width, result);
      return;
    }
    for (int64_t row = begin; row < end; ++row) {
      EvenRows(source, start + plan.ReducedOffset(row), 1, 0, width, result);
    }
  }

  static bool IsNarrow(const ReducePlan& plan) {
    return plan.inner * 2 <= kNarrow && plan.reduced_rank == 1 &&
           plan.reduced_strides[0] == plan.inner;
  }

  // Contiguous rows of few columns: as many rows as fit side by side are taken as one.
  template <typename Source>
  static void NarrowRows(const Source& source, const In* x, int64_t rows, int64_t width,
                         Acc* result) {
    const int64_t together = kNarrow / width;
    const int64_t wide = together * width;
    const int64_t rest = rows % together * width;
    alignas(64) Acc side_by_side[kNarrow];
    std::fill_n(side_by_side, wide, Reducer::Identity());
    EvenRows(source, x, rows / together, wide, wide, side_by_side);
    EvenRows(source, x + rows / together * wide, 1, 0, rest, side_by_side);
    std::copy_n(side_by_side, width, result);
    for (int64_t i = 1; i < together; ++i) CombineInto(result, side_by_side + i * width, width);
  }

  // Adds rows that are `stride` apart to the result, four at a time.
  template <int kBytes>
  struct StoredRows {
    static void Run(const In* x, int64_t rows, int64_t stride, int64_t width, Acc* result) {
      for (; rows >= 4; rows -= 4, x += 4 * stride) FourRows<kBytes>(x, stride, width, result);
      for (; rows > 0; --rows, x += stride) OneRow<kBytes>(x, width, result);
    }
  };

  // As many elements as there are in four rows are made in the order in which they lie in memory,
  // which it likes, and are in the first-level cache then.
  template <typename Source>
  struct MadeRows {
    template <int kBytes>
    struct Loop {
      static void Run(const Source& source, const In* x, int64_t rows, int64_t stride,
                      int64_t width, Acc* result) {
        alignas(64) In made[4 * ReducePlan::kTile];
        for (; rows > 0; rows -= 4, x += 4 * stride) {
          const int64_t count = std::min<int64_t>(4, rows);
          for (int64_t row = 0; row < count; ++row) {
            source.template Make<kBytes>(x + row * stride, width, made + row * width);
          }
          StoredRows<kBytes>::Run(made, count, width, width, result);
        }
      }
    };
  };

  static void EvenRows(Stored, const In* x, int64_t rows, int64_t stride, int64_t width,
                       Acc* result) {
    RunReduceLoop<Reducer, StoredRows>(x, rows, stride, width, result);
  }
  template <typename Source>
  static void EvenRows(const Source& source, const In* x, int64_t rows, int64_t stride,
                       int64_t width, Acc* result) {
    RunReduceLoop<Reducer, MadeRows<Source>::template Loop>(source, x, rows, stride, width, result);
  }

  // With floating-point numbers by explicit vectors: left to the compiler, their comparisons become
  // branches.
  template <int kBytes>
  static void OneRow(const In* x, int64_t width, Acc* result) {
    int64_t i = 0;
    if constexpr (std::is_floating_point_v<Acc>) {
      for (; i + kLanes<Acc, kBytes> <= width; i += kLanes<Acc, kBytes>) {
        const Vector<Acc, kBytes> before = Load<kBytes>(result + i);
        Store(Reducer::Combine(before, LoadLanes<kBytes>(x + i)), result + i);
      }
    }
#pragma GCC ivdep
    for (; i < width; ++i) result[i] = Reducer::Combine(result[i], Reducer::Load(x[i]));
  }

  template <int kBytes>
  static void FourRows(const In* x, int64_t stride, int64_t width, Acc* result) {
    int64_t i = 0;
    if constexpr (std::is_floating_point_v<Acc>) {
      for (; i + kLanes<Acc, kBytes> <= width; i += kLanes<Acc, kBytes>) {
        const Vector<Acc, kBytes> first =
            Reducer::Combine(LoadLanes<kBytes>(x + i), LoadLanes<kBytes>(x + stride + i));
        const Vector<Acc, kBytes> second = Reducer::Combine(LoadLanes<kBytes>(x + 2 * stride + i),
                                                            LoadLanes<kBytes>(x + 3 * stride + i));
        const Vector<Acc, kBytes> before = Load<kBytes>(result + i);
        Store(Reducer::Combine(before, Reducer::Combine(first, second)), result + i);
      }
    }
#pragma GCC ivdep
    for (; i < width; ++i) {
      const Acc first = Reducer::Combine(Reducer::Load(x[i]), Reducer::Load(x[stride + i]));
      const Acc second =
          Reducer::Combine(Reducer::Load(x[2 * stride + i]), Reducer::Load(x[3 * stride + i]));
      result[i] = Reducer::Combine(result[i], Reducer::Combine(first, second));
    }
  }

  // ---- Both ----

  template <int kBytes>
  struct Combined {
    static void Run(Acc* result, const Acc* other, int64_t n) {
#pragma GCC ivdep
      for (int64_t i = 0; i < n; ++i) result[i] = Reducer::Combine(result[i], other[i]);
    }
  };

  static void CombineInto(Acc* result, const Acc* other, int64_t n) {
    RunReduceLoop<Reducer, Combined>(result, other, n);
  }

  static void FinishInto(const ReducePlan& plan, const Acc* result, Out* out, int64_t n) {
    for (int64_t i = 0; i < n; ++i) out[i] = Reducer::Finish(result[i], plan.count);
  }
};

template <typename Reducer>
inline constexpr ReduceFunctions kReduceFunctions = {
    &ReduceLoops<Reducer>::RunTasks, &ReduceLoops<Reducer>::CombineGroups,
    &ReduceLoops<Reducer>::FillEmpty, sizeof(typename Reducer::Acc), 300};

// Registers the reducer for the op, for T one of `dtypes`.
template <typename Reducer>
class AxesReduceKernel : public ReduceKernel {
 public:
  AxesReduceKernel() : ReduceKernel(kReduceFunctions<Reducer>) {}
};
template <typename Reducer>
ms::Registered RegisterReduce(const char* op, std::vector<MS_DType> dtypes) {
  return ms::Register<AxesReduceKernel<Reducer>>(op, ReduceOptions(std::move(dtypes)));
}

// A reducer whose elements and outputs are of one type, and so are its partial results but for the
// 16-bit floating-point types, which are reduced as float and rounded once, at the end.
template <typename T>
struct SameTypes {
  using In = T;
  using Acc = ComputeTypeOf<T>;
  using Out = T;
  template <typename V>
  static V Prepare(V x) {
    return x;
  }
  static Acc Load(T x) { return x; }
  static T Finish(Acc result, int64_t) { return T(result); }
};

}  // namespace millstream::kernels

#endif  // MILLSTREAM_KERNELS_REDUCE_REDUCE_KERNEL_H_
