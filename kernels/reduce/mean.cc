// Mean, Prod, L2Loss, EuclideanNorm. Products of integers wrap; a mean of integers is cut towards
// zero and its sum is kept in 64 bits.
#include <algorithm>
#include <array>
#include <cmath>
#include <complex>
#include <cstdint>
#include <iterator>
#include <limits>
#include <type_traits>

#include "kernels/reduce/reduce_loops.h"

namespace millstream::kernels {
namespace {

template <typename T>
struct ProdReducer : ReducerOf<T> {
  static T Identity() { return T(1); }
  template <typename V>
  static V Combine(V a, V b) {
    return a * b;
  }
};

// Writes n outputs of T, each of which `finish` makes of a result. Narrow floats are made as
// floats, a tile at a time, and rounded by the loop that does that.
template <typename T, typename Acc, typename Finish>
void FinishEach(const void* results, int64_t n, void* out, int64_t begin, const Finish& finish) {
  const Acc* const x = static_cast<const Acc*>(results);
  T* const to = static_cast<T*>(out) + begin;
  if constexpr (kIsNarrowFloat<T>) {
    constexpr int64_t kTile = 128;
    float finished[kTile];
    for (int64_t i = 0; i < n; i += kTile) {
      const int64_t elements = std::min(kTile, n - i);
      for (int64_t j = 0; j < elements; ++j) finished[j] = finish(x[i + j]);
      NarrowElements(finished, elements, to + i);
    }
  } else {
    for (int64_t i = 0; i < n; ++i) to[i] = finish(x[i]);
  }
}

// ---- Mean: a sum that is divided at the end ----

template <typename T, typename Acc>
T MeanOf(Acc sum, int64_t count) {
  if constexpr (!std::is_integral_v<T>) {
    // A complex sum is divided by a real number.
    using Count = decltype(std::abs(sum));
    return T(sum / static_cast<Count>(count));
  } else if constexpr (std::is_signed_v<T>) {
    return count == 0 ? 0 : static_cast<T>(static_cast<int64_t>(sum) / count);
  } else {
    return count == 0 ? 0 : static_cast<T>(sum / static_cast<uint64_t>(count));
  }
}
template <typename T, typename Acc>
void FinishMeans(const void* sums, int64_t n, int64_t count, void* out, int64_t begin) {
  FinishEach<T, Acc>(sums, n, out, begin,
                     [count](Acc sum) { return MeanOf<ComputeTypeOf<T>>(sum, count); });
}

template <typename T>
constexpr ReduceFunctions MeanAs(const ReduceLoops* sums) {
  return {ms::DTypeOf<T>(), sums, nullptr, &FinishMeans<T, T>};
}
template <typename T, typename Acc>
constexpr ReduceFunctions MeanThrough(const ReduceLoops* sums) {
  return {ms::DTypeOf<T>(), sums, &MakeElements<T, Acc>, &FinishMeans<T, Acc>};
}
template <typename T>
constexpr ReduceFunctions IntegerMean() {
  return MeanThrough<T, uint64_t>(&kSumLoops.uint64);
}

constexpr ReduceFunctions kMeans[] = {
    MeanAs<float>(&kSumLoops.float32),
    MeanAs<double>(&kSumLoops.float64),
    MeanAs<std::complex<float>>(&kSumLoops.complex64),
    MeanAs<std::complex<double>>(&kSumLoops.complex128),
    MeanThrough<Float16, float>(&kSumLoops.float32),
    MeanThrough<BFloat16, float>(&kSumLoops.float32),
    IntegerMean<int8_t>(),
    IntegerMean<int16_t>(),
    IntegerMean<int32_t>(),
    {MS_INT64, &kSumLoops.uint64, nullptr, &FinishMeans<int64_t, uint64_t>},
    IntegerMean<uint8_t>(),
    IntegerMean<uint16_t>(),
    IntegerMean<uint32_t>(),
    MeanAs<uint64_t>(&kSumLoops.uint64)};
constexpr ReduceTable kMeanTable = {kMeans, std::size(kMeans)};

// ---- L2Loss: half the sum of squares ----

template <typename T>
struct SquareReducer : ReducerOf<T> {
  static T Identity() { return T(0); }
  template <typename V>
  static V Combine(V a, V b) {
    return a + b;
  }
  template <typename V>
  static V Prepare(V x) {
    return x * x;
  }
};
// Sums of squares are combined as other sums are, by the loop for those.
template <typename T>
void CombineSums(const void* other, int64_t n, void* result) {
  if constexpr (std::is_same_v<T, float>) {
    kSumLoops.float32.combine(other, n, result);
  } else if constexpr (std::is_same_v<T, double>) {
    kSumLoops.float64.combine(other, n, result);
  } else if constexpr (std::is_same_v<T, std::complex<float>>) {
    kSumLoops.complex64.combine(other, n, result);
  } else {
    static_assert(std::is_same_v<T, std::complex<double>>);
    kSumLoops.complex128.combine(other, n, result);
  }
}
template <typename T>
inline constexpr ReduceLoops kSquares = {&LoopsOfReducer<SquareReducer<T>>::Runs,
                                         &LoopsOfReducer<SquareReducer<T>>::Rows,
                                         &CombineSums<T>,
                                         &LoopsOfReducer<SquareReducer<T>>::CombineOne,
                                         &LoopsOfReducer<SquareReducer<T>>::Fold,
                                         &LoopsOfReducer<SquareReducer<T>>::FillIdentity,
                                         sizeof(T),
                                         false};

template <typename T, typename Acc>
void FinishHalves(const void* sums, int64_t n, int64_t /*count*/, void* out, int64_t begin) {
  FinishEach<T, Acc>(sums, n, out, begin, [](Acc sum) { return sum * Acc(0.5); });
}

class L2Loss {
 public:
  using Row = ReduceTable;

  explicit L2Loss(const Row& row) : row_(row) {}
  ms::Status Init(const ms::KernelInfo& info) { return FindReduction(row_, info, &functions_); }
  ms::Status Compute(ms::Frame& frame) const {
    const ms::View in = frame.input(0);
    ReducePlan plan;
    PlanReduction(in.shape(), ~uint32_t{0}, false, &plan);
    return RunReduction(frame, *functions_, plan, in, nullptr);
  }

 private:
  const Row& row_;
  const ReduceFunctions* functions_ = nullptr;
};

constexpr ReduceFunctions kLosses[] = {
    {MS_FLOAT32, &kSquares<float>, nullptr, &FinishHalves<float, float>},
    {MS_FLOAT64, &kSquares<double>, nullptr, &FinishHalves<double, double>},
    {MS_FLOAT16, &kSquares<float>, &MakeElements<Float16, float>, &FinishHalves<Float16, float>},
    {MS_BFLOAT16, &kSquares<float>, &MakeElements<BFloat16, float>,
     &FinishHalves<BFloat16, float>}};
constexpr ReduceTable kLossTable = {kLosses, std::size(kLosses)};

// ---- EuclideanNorm: the root of the sum of squares of absolute values ----

template <typename Real>
struct SquareReducer<std::complex<Real>> : ReducerOf<std::complex<Real>> {
  using Complex = std::complex<Real>;
  static Complex Identity() { return Complex(0); }
  static Complex Combine(Complex a, Complex b) { return a + b; }
  static Complex Prepare(Complex x) { return x.real() * x.real() + x.imag() * x.imag(); }
};

template <typename T, typename Acc>
auto RootOf(Acc squares) {
  if constexpr (std::is_integral_v<T>) {
    // Below 2^63, the smallest limit that is not exact, also for 64 bits.
    const double root = std::sqrt(squares);
    constexpr T kMost = std::numeric_limits<T>::max();
    return root < static_cast<double>(kMost) ? static_cast<T>(root) : kMost;
  } else {
    return std::sqrt(squares);
  }
}
template <typename T, typename Acc>
void FinishRoots(const void* sums, int64_t n, int64_t /*count*/, void* out, int64_t begin) {
  FinishEach<T, Acc>(sums, n, out, begin, [](Acc squares) { return RootOf<T>(squares); });
}

template <typename T>
constexpr ReduceFunctions NormAs() {
  return {ms::DTypeOf<T>(), &kSquares<T>, nullptr, &FinishRoots<T, T>};
}
template <typename T, typename Acc>
constexpr ReduceFunctions NormThrough() {
  return {ms::DTypeOf<T>(), &kSquares<Acc>, &MakeElements<T, Acc>, &FinishRoots<T, Acc>};
}
constexpr ReduceFunctions kNorms[] = {NormAs<float>(),
                                      NormAs<double>(),
                                      NormAs<std::complex<float>>(),
                                      NormAs<std::complex<double>>(),
                                      NormThrough<Float16, float>(),
                                      NormThrough<BFloat16, float>(),
                                      NormThrough<int8_t, double>(),
                                      NormThrough<int16_t, double>(),
                                      NormThrough<int32_t, double>(),
                                      NormThrough<int64_t, double>(),
                                      NormThrough<uint8_t, double>(),
                                      NormThrough<uint16_t, double>(),
                                      NormThrough<uint32_t, double>(),
                                      NormThrough<uint64_t, double>()};
constexpr ReduceTable kNormTable = {kNorms, std::size(kNorms)};

constexpr std::array kProducts = WrappingFunctions(kWrappingLoopsOf<ProdReducer>);
constexpr ReduceTable kProductTable = {kProducts.data(), kProducts.size()};

const ms::Registered prod = RegisterReduce("Prod", kProductTable, kAllNumberTypes);
const ms::Registered mean = RegisterReduce("Mean", kMeanTable, kAllNumberTypes);
const ms::Registered norm = RegisterReduce("EuclideanNorm", kNormTable, kAllNumberTypes);
const ms::Registered l2_loss = ms::RegisterRow<L2Loss>(
    "L2Loss", kLossTable, ms::KernelOptions().Types("T", TypesIn(kFloatTypes)));

}  // namespace
}  // namespace millstream::kernels
