// Max, Min, All, Any. A NaN is the extreme of whatever it is among; the extreme of nothing is the
// least extreme value of the type.
#include <algorithm>
#include <iterator>
#include <limits>
#include <type_traits>

#include "kernels/reduce/reduce_loops.h"
#include "kernels/simd/vector.h"

namespace millstream::kernels {
namespace {

// b where it beats a, by Beats of vectors or of integers, or is a NaN; else a. The result of a
// comparison of vectors is all ones or all zeros an element and is used as bits: compilers turn ?:
// on vectors into a branch an element. Two floating-point numbers are taken as vectors too: of a
// branch for each, half would be guessed wrong.
template <typename Beats, typename V>
V Extreme(V a, V b) {
  if constexpr (std::is_integral_v<V>) {
    return Beats()(b, a) ? b : a;
  } else if constexpr (std::is_floating_point_v<V>) {
    return Extreme<Beats>(Vector<V, 16>{a}, Vector<V, 16>{b})[0];
  } else {
    const auto taken = Beats()(b, a) | (b != b);
    return (V)((taken & (decltype(taken))b) | (~taken & (decltype(taken))a));
  }
}

struct IsLarger {
  template <typename V>
  auto operator()(V a, V b) const {
    return a > b;
  }
};
struct IsSmaller {
  template <typename V>
  auto operator()(V a, V b) const {
    return a < b;
  }
};

template <typename T>
struct MaxReducer : ReducerOf<T> {
  static constexpr bool kComparesVectors = true;
  static T Identity() {
    if constexpr (std::is_floating_point_v<T>) return -std::numeric_limits<T>::infinity();
    return std::numeric_limits<T>::lowest();
  }
  template <typename V>
  static V Combine(V a, V b) {
    return Extreme<IsLarger>(a, b);
  }
  template <typename V>
  static V CombineNumbers(V a, V b) {
    return a < b ? b : a;
  }
};

template <typename T>
struct MinReducer : ReducerOf<T> {
  static constexpr bool kComparesVectors = true;
  static T Identity() {
    if constexpr (std::is_floating_point_v<T>) return std::numeric_limits<T>::infinity();
    return std::numeric_limits<T>::max();
  }
  template <typename V>
  static V Combine(V a, V b) {
    return Extreme<IsSmaller>(a, b);
  }
  template <typename V>
  static V CombineNumbers(V a, V b) {
    return b < a ? b : a;
  }
};

// On the bytes of bool, which are 0 or 1.
struct AllReducer : ReducerOf<uint8_t> {
  static uint8_t Identity() { return 1; }
  static uint8_t Combine(uint8_t a, uint8_t b) { return static_cast<uint8_t>(a & b); }
};

struct AnyReducer : ReducerOf<uint8_t> {
  static uint8_t Identity() { return 0; }
  static uint8_t Combine(uint8_t a, uint8_t b) { return static_cast<uint8_t>(a | b); }
};

// Results of Acc as integers of T: the extreme of nothing is that of T.
template <typename T, typename Acc>
void ClampResults(const void* results, int64_t n, int64_t /*count*/, void* out, int64_t begin) {
  const Acc* x = static_cast<const Acc*>(results);
  T* const to = static_cast<T*>(out) + begin;
  constexpr Acc kLowest = std::numeric_limits<T>::lowest();
  constexpr Acc kHighest = std::numeric_limits<T>::max();
  for (int64_t i = 0; i < n; ++i) to[i] = static_cast<T>(std::clamp(x[i], kLowest, kHighest));
}
template <typename T, typename Acc>
constexpr ReduceFunctions ClampThrough(const ReduceLoops* loops) {
  return {ms::DTypeOf<T>(), loops, &MakeElements<T, Acc>, &ClampResults<T, Acc>};
}

template <template <typename> class Reducer>
inline constexpr ReduceFunctions kFunctions[] = {
    {MS_FLOAT32, &kReduceLoops<Reducer<float>>},
    {MS_FLOAT64, &kReduceLoops<Reducer<double>>},
    {MS_INT32, &kReduceLoops<Reducer<int32_t>>},
    {MS_INT64, &kReduceLoops<Reducer<int64_t>>},
    {MS_UINT64, &kReduceLoops<Reducer<uint64_t>>},
    {MS_UINT8, &kReduceLoops<Reducer<uint8_t>>},
    ReduceThrough<Float16, float>(&kReduceLoops<Reducer<float>>),
    ReduceThrough<BFloat16, float>(&kReduceLoops<Reducer<float>>),
    ClampThrough<int8_t, int32_t>(&kReduceLoops<Reducer<int32_t>>),
    ClampThrough<int16_t, int32_t>(&kReduceLoops<Reducer<int32_t>>),
    ClampThrough<uint16_t, int32_t>(&kReduceLoops<Reducer<int32_t>>),
    ClampThrough<uint32_t, int64_t>(&kReduceLoops<Reducer<int64_t>>)};
template <template <typename> class Reducer>
inline constexpr ReduceTable kTable = {kFunctions<Reducer>, std::size(kFunctions<Reducer>)};

template <typename Reducer>
inline constexpr ReduceFunctions kBoolFunctions[] = {{MS_BOOL, &kReduceLoops<Reducer>}};
template <typename Reducer>
inline constexpr ReduceTable kBoolTable = {kBoolFunctions<Reducer>, 1};

const ms::Registered max_kernels = RegisterReduce("Max", kTable<MaxReducer>, kOrderedTypes);
const ms::Registered min_kernels = RegisterReduce("Min", kTable<MinReducer>, kOrderedTypes);
const ms::Registered all = RegisterReduce("All", kBoolTable<AllReducer>, 0);
const ms::Registered any = RegisterReduce("Any", kBoolTable<AnyReducer>, 0);

}  // namespace
}  // namespace millstream::kernels
