// The loops of a reducer, which is a class with
//   using Acc;                                          the type that is computed in
//   static Acc Identity();
//   template <typename V> static V Combine(V a, V b);   on Acc, and on vectors of it where Acc is a
//                                                       floating-point type
//   template <typename V> static V Prepare(V x);        what is done to elements first
//   static constexpr bool kComparesVectors;             see kWidestReduction
// and, where it compares vectors,
//   template <typename V> static V CombineNumbers(V a, V b);
//                                                       as Combine, to the bit, of no NaNs
#ifndef MILLSTREAM_KERNELS_REDUCE_REDUCE_LOOPS_H_
#define MILLSTREAM_KERNELS_REDUCE_REDUCE_LOOPS_H_

#include <algorithm>
#include <complex>
#include <cstdint>
#include <cstring>
#include <type_traits>

#include "kernels/common/narrow_float.h"
#include "kernels/reduce/reduce_kernel.h"
#include "kernels/simd/vector.h"

namespace millstream::kernels {

// The widest set for the rows of a reducer. GCC 12 takes the masks of AVX-512 apart, element by
// element, so that one that compares vectors is faster with AVX2.
template <typename Reducer>
inline constexpr InstructionSet kWidestReduction =
    Reducer::kComparesVectors ? std::min(kWidestLoops<typename Reducer::Acc>, InstructionSet::kAvx2)
                              : kWidestLoops<typename Reducer::Acc>;

// The same for runs. Loads bound these: Zen 4 is as fast with AVX2 from its second cache, and from
// its third a tenth faster.
template <typename Reducer>
inline constexpr InstructionSet kWidestRuns = std::min(kWidestLoops<typename Reducer::Acc>,
                                                       InstructionSet::kAvx2);

template <typename Reducer>
class LoopsOfReducer {
  using Acc = typename Reducer::Acc;
  static constexpr bool kInVectors = std::is_floating_point_v<Acc>;

 public:
  static void Runs(const void* x, int64_t n, int64_t runs, bool short_runs, void* results) {
    RunVectorLoopUpTo<kWidestRuns<Reducer>, RunsLoop>(static_cast<const Acc*>(x), n, runs,
                                                      short_runs, static_cast<Acc*>(results));
  }
  static void Rows(const void* x, int64_t rows, int64_t stride, int64_t width, void* result) {
    RunVectorLoopUpTo<kWidestReduction<Reducer>, RowsLoop>(static_cast<const Acc*>(x), rows, stride,
                                                           width, static_cast<Acc*>(result));
  }
  // For reducers that do nothing to elements first.
  static void Combine(const void* other, int64_t n, void* result) { Rows(other, 1, 0, n, result); }
  static void CombineOne(const void* other, void* result) {
    Acc* const to = static_cast<Acc*>(result);
    *to = Reducer::Combine(*to, *static_cast<const Acc*>(other));
  }
  static void Fold(const void* runs, int64_t n, int64_t rows, void* results) {
    const Acc* x = static_cast<const Acc*>(runs);
    for (int64_t i = 0; i < rows; ++i, x += n) static_cast<Acc*>(results)[i] = Folded(x, n);
  }
  static void FillIdentity(void* results, int64_t n) {
    std::fill_n(static_cast<Acc*>(results), n, Reducer::Identity());
  }

 private:
  // The vectors of one line of the cache. The lanes that a long run is summed in do not depend on
  // the machine's vectors: they are those of two lines, so that loads are not held up by additions,
  // each of which takes three or four cycles and needs the one before. Comparisons take fewer, and
  // the masks beside them would not fit into the registers: those lanes are of one line.
  template <int kBytes>
  static constexpr int kLine = 64 / kBytes;
  template <int kBytes>
  static constexpr int kVectors = (Reducer::kComparesVectors ? 1 : 2) * kLine<kBytes>;
  static constexpr int64_t kShortRun = 16;
  static constexpr int64_t kLeaf = 4;  // results that are combined one after the other

  static Acc Folded(const Acc* x, int64_t n) {
    if (n > kLeaf) {
      const Acc first = Folded(x, n / 2);
      return Reducer::Combine(first, Folded(x + n / 2, n - n / 2));
    }
    Acc result = Reducer::Identity();
    for (int64_t i = 0; i < n; ++i) result = Reducer::Combine(result, x[i]);
    return result;
  }

  template <int kBytes>
  static auto LoadLanes(const Acc* x) {
    return Reducer::Prepare(Load<kBytes>(x));
  }

  template <int kBytes>
  struct RunsLoop {
    static void Run(const Acc* x, int64_t n, int64_t runs, bool short_runs, Acc* results) {
      const bool in_order = short_runs && n < kShortRun;
      for (int64_t i = 0; i < runs; ++i, x += n) {
        if (in_order) {
          Acc result = Reducer::Prepare(x[0]);
          for (int64_t j = 1; j < n; ++j) result = Reducer::Combine(result, Reducer::Prepare(x[j]));
          results[i] = result;
        } else {
          results[i] = LongRun<kBytes>(x, n);
        }
      }
    }
  };

  // n neighbouring elements. Integers in any order: they wrap, so the compiler may choose it.
  // Complex numbers one after the other.
  template <int kBytes>
  static Acc LongRun(const Acc* x, int64_t n) {
    if constexpr (kInVectors) return RunInLanes<kBytes>(x, n);
    Acc result = Reducer::Identity();
    for (int64_t i = 0; i < n; ++i) result = Reducer::Combine(result, Reducer::Prepare(x[i]));
    return result;
  }

  template <int kBytes>
  static Acc RunInLanes(const Acc* x, int64_t n) {
    Acc result = Reducer::Identity();
    int64_t i = 0;
    if (n >= kLine<kBytes> * kLanes<Acc, kBytes>) {
      Vector<Acc, kBytes> lanes[kLine<kBytes>];
      i = LinesInLanes<kBytes>(x, n, lanes);
      for (int step = kLine<kBytes> / 2; step > 0; step /= 2) {
        for (int v = 0; v < step; ++v) lanes[v] = Reducer::Combine(lanes[v], lanes[v + step]);
      }
      result =
          FoldHalves<kBytes, Acc>(lanes[0], [](auto a, auto b) { return Reducer::Combine(a, b); });
    }
    for (; i < n; ++i) result = Reducer::Combine(result, Reducer::Prepare(x[i]));
    return result;
  }

  // Combines all whole lines of the n elements, of which there is at least one, to one line of
  // lanes. Returns how many elements they have.
  template <int kBytes>
  static int64_t LinesInLanes(const Acc* x, int64_t n, Vector<Acc, kBytes>* lanes) {
    constexpr int kEach = kLanes<Acc, kBytes>;
    constexpr int64_t kLineLanes = kLine<kBytes> * kEach;
    const int64_t pairs = n - n % (kVectors<kBytes> * kEach);
    if (pairs == 0) {
#pragma GCC unroll 8
      for (int v = 0; v < kLine<kBytes>; ++v) lanes[v] = LoadLanes<kBytes>(x + v * kEach);
      return kLineLanes;
    }
    PairsInLanes<kBytes>(x, pairs, lanes);
    if (n - pairs < kLineLanes) return pairs;
#pragma GCC unroll 8
    for (int v = 0; v < kLine<kBytes>; ++v) {
      lanes[v] = Reducer::Combine(lanes[v], LoadLanes<kBytes>(x + pairs + v * kEach));
    }
    return pairs + kLineLanes;
  }

  // The same for what fills all lanes, which is there at least once.
  template <int kBytes>
  static void PairsInLanes(const Acc* x, int64_t n, Vector<Acc, kBytes>* line) {
    constexpr int kEach = kLanes<Acc, kBytes>;
    constexpr int64_t kAllLanes = kVectors<kBytes> * kEach;
    Vector<Acc, kBytes> lanes[kVectors<kBytes>];
#pragma GCC unroll 8
    for (int v = 0; v < kVectors<kBytes>; ++v) lanes[v] = LoadLanes<kBytes>(x + v * kEach);
    bool done = false;
    if constexpr (Reducer::kComparesVectors) done = NumbersInLanes<kBytes>(x, n, lanes);
    for (int64_t at = kAllLanes; at < n && !done; at += kAllLanes) {
#pragma GCC unroll 8
      for (int v = 0; v < kVectors<kBytes>; ++v) {
        lanes[v] = Reducer::Combine(lanes[v], LoadLanes<kBytes>(x + at + v * kEach));
      }
    }
#pragma GCC unroll 8
    for (int v = 0; v < kLine<kBytes>; ++v) {
      line[v] = lanes[v];
      if constexpr (!Reducer::kComparesVectors) {
        line[v] = Reducer::Combine(line[v], lanes[v + kLine<kBytes>]);
      }
    }
  }

  // Combines elements [kAllLanes, n) with the lanes, which are those before, unless there is a NaN
  // among them all: then the lanes stay, and it gives false. To look for NaNs beside the
  // comparisons takes half the instructions of heeding them in each. Two vectors are looked at by
  // one comparison: numbers are less than, or not less than, each other. (Compilers make one
  // instruction of these two.)
  template <int kBytes>
  static bool NumbersInLanes(const Acc* x, int64_t n, Vector<Acc, kBytes>* lanes) {
    constexpr int kEach = kLanes<Acc, kBytes>;
    constexpr int kHalf = kVectors<kBytes> / 2;  // 0 where one vector is compared with itself
    constexpr int kPairs = kHalf == 0 ? 1 : kHalf;
    using Lane = Vector<Acc, kBytes>;
    using Mask = decltype(Lane() < Lane());
    Lane combined[kVectors<kBytes>];
    Mask numbers[kPairs];
#pragma GCC unroll 8
    for (int v = 0; v < kVectors<kBytes>; ++v) combined[v] = lanes[v];
#pragma GCC unroll 8
    for (int v = 0; v < kPairs; ++v) numbers[v] = AreNumbers(lanes[v], lanes[v + kHalf]);
#pragma GCC unroll 2
    for (int64_t i = kVectors<kBytes> * kEach; i < n; i += kVectors<kBytes> * kEach) {
      Lane next[kVectors<kBytes>];
#pragma GCC unroll 8
      for (int v = 0; v < kVectors<kBytes>; ++v) {
        next[v] = LoadLanes<kBytes>(x + i + v * kEach);
        combined[v] = Reducer::CombineNumbers(combined[v], next[v]);
      }
#pragma GCC unroll 8
      for (int v = 0; v < kPairs; ++v) numbers[v] &= AreNumbers(next[v], next[v + kHalf]);
    }
    Mask all = numbers[0];
#pragma GCC unroll 8
    for (int v = 1; v < kPairs; ++v) all &= numbers[v];
    if (AnyOf(~all)) return false;
#pragma GCC unroll 8
    for (int v = 0; v < kVectors<kBytes>; ++v) lanes[v] = combined[v];
    return true;
  }
  template <typename Lane>
  static auto AreNumbers(Lane a, Lane b) {
    return (a < b) | (a >= b);
  }

  // Four rows at a time.
  template <int kBytes>
  struct RowsLoop {
    static void Run(const Acc* x, int64_t rows, int64_t stride, int64_t width, Acc* result) {
      for (; rows >= 4; rows -= 4, x += 4 * stride) FourRows<kBytes>(x, stride, width, result);
      for (; rows > 0; --rows, x += stride) OneRow<kBytes>(x, width, result);
    }
  };

  // With floating-point numbers by explicit vectors: left to the compiler, their comparisons become
  // branches.
  template <int kBytes>
  static void OneRow(const Acc* x, int64_t width, Acc* result) {
    int64_t i = 0;
    if constexpr (kInVectors) {
      for (; i + kLanes<Acc, kBytes> <= width; i += kLanes<Acc, kBytes>) {
        const Vector<Acc, kBytes> before = Load<kBytes>(result + i);
        Store(Reducer::Combine(before, LoadLanes<kBytes>(x + i)), result + i);
      }
    }
#pragma GCC ivdep
    for (; i < width; ++i) result[i] = Reducer::Combine(result[i], Reducer::Prepare(x[i]));
  }

  template <int kBytes>
  static void FourRows(const Acc* x, int64_t stride, int64_t width, Acc* result) {
    int64_t i = 0;
    if constexpr (kInVectors) {
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
      const Acc first = Reducer::Combine(Reducer::Prepare(x[i]), Reducer::Prepare(x[stride + i]));
      const Acc second = Reducer::Combine(Reducer::Prepare(x[2 * stride + i]),
                                          Reducer::Prepare(x[3 * stride + i]));
      result[i] = Reducer::Combine(result[i], Reducer::Combine(first, second));
    }
  }
};

// The usual members of a reducer.
template <typename T>
struct ReducerOf {
  using Acc = T;
  static constexpr bool kComparesVectors = false;
  template <typename V>
  static V Prepare(V x) {
    return x;
  }
};

template <typename Reducer>
inline constexpr ReduceLoops kReduceLoops = {
    &LoopsOfReducer<Reducer>::Runs,
    &LoopsOfReducer<Reducer>::Rows,
    &LoopsOfReducer<Reducer>::Combine,
    &LoopsOfReducer<Reducer>::CombineOne,
    &LoopsOfReducer<Reducer>::Fold,
    &LoopsOfReducer<Reducer>::FillIdentity,
    sizeof(typename Reducer::Acc),
    Reducer::kComparesVectors || std::is_integral_v<typename Reducer::Acc>};

// ---- Types that are made others ----

// Elements of T as numbers of Acc.
template <typename T, typename Acc>
void ConvertElements(const T* x, int64_t n, Acc* made) {
#pragma GCC ivdep
  for (int64_t i = 0; i < n; ++i) made[i] = static_cast<Acc>(x[i]);
}
template <typename T, typename Acc>
void MakeElements(const void* source, int64_t begin, int64_t n, void* made) {
  const T* x = static_cast<const T*>(source) + begin;
  if constexpr (kIsNarrowFloat<T>) {
    WidenElements(x, n, static_cast<Acc*>(made));
  } else {
    RunLoopOn<T, &ConvertElements<T, Acc>>(x, n, static_cast<Acc*>(made));
  }
}

// Results as outputs of T. Integers are cut to their low bits.
template <typename T, typename Acc>
void ConvertResults(const void* results, int64_t n, int64_t /*count*/, void* out, int64_t begin) {
  const Acc* x = static_cast<const Acc*>(results);
  T* const to = static_cast<T*>(out) + begin;
  if constexpr (kIsNarrowFloat<T>) {
    NarrowElements(x, n, to);
  } else {
    for (int64_t i = 0; i < n; ++i) to[i] = static_cast<T>(x[i]);
  }
}

// The entry for elements of T that are reduced as Acc.
template <typename T, typename Acc>
constexpr ReduceFunctions ReduceThrough(const ReduceLoops* loops) {
  return {ms::DTypeOf<T>(), loops, &MakeElements<T, Acc>, &ConvertResults<T, Acc>};
}

// Float, double, complex and unsigned loops of one reducer: all numbers are reduced by them where
// integers wrap.
struct WrappingLoops {
  ReduceLoops float32;
  ReduceLoops float64;
  ReduceLoops complex64;
  ReduceLoops complex128;
  ReduceLoops uint32;
  ReduceLoops uint64;
};
template <template <typename> class Reducer>
inline constexpr WrappingLoops kWrappingLoopsOf = {kReduceLoops<Reducer<float>>,
                                                   kReduceLoops<Reducer<double>>,
                                                   kReduceLoops<Reducer<std::complex<float>>>,
                                                   kReduceLoops<Reducer<std::complex<double>>>,
                                                   kReduceLoops<Reducer<uint32_t>>,
                                                   kReduceLoops<Reducer<uint64_t>>};

// The entries of an op whose outputs are results.
constexpr std::array<ReduceFunctions, 10> WrappingFunctions(const WrappingLoops& loops) {
  return {ReduceFunctions{MS_FLOAT32, &loops.float32},
          ReduceFunctions{MS_FLOAT64, &loops.float64},
          ReduceFunctions{MS_COMPLEX64, &loops.complex64},
          ReduceFunctions{MS_COMPLEX128, &loops.complex128},
          ReduceFunctions{MS_UINT32, &loops.uint32},
          ReduceFunctions{MS_UINT64, &loops.uint64},
          ReduceThrough<Float16, float>(&loops.float32),
          ReduceThrough<BFloat16, float>(&loops.float32),
          ReduceThrough<uint8_t, uint32_t>(&loops.uint32),
          ReduceThrough<uint16_t, uint32_t>(&loops.uint32)};
}

// Sums, which several ops make. Defined in sum.cc.
extern const WrappingLoops kSumLoops;

}  // namespace millstream::kernels

#endif  // MILLSTREAM_KERNELS_REDUCE_REDUCE_LOOPS_H_
