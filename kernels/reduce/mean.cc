// Mean, Prod, L2Loss. Products of integers wrap; a mean of integers is cut towards zero and its sum
// is kept in 64 bits.
#include <cmath>
#include <complex>
#include <cstdint>
#include <type_traits>

#include "kernels/reduce/reducers.h"

namespace millstream::kernels {
namespace {

template <typename T>
struct ProdReducer : SameTypes<T> {
  using Acc = ComputeTypeOf<T>;
  static Acc Identity() { return Acc(1); }
  template <typename V>
  static V Combine(V a, V b) {
    if constexpr (std::is_same_v<V, uint16_t>) return static_cast<V>(uint32_t{a} * uint32_t{b});
    return static_cast<V>(a * b);
  }
};

template <typename T, bool kInteger = std::is_integral_v<T>>
struct MeanReducer : SumReducer<T> {
  using Acc = ComputeTypeOf<T>;
  static T Finish(Acc sum, int64_t count) {
    // A complex sum is divided by a real number.
    using Count = decltype(std::abs(sum));
    return T(sum / static_cast<Count>(count));
  }
};

template <typename T>
struct MeanReducer<T, true> {
  using In = T;
  using Acc = uint64_t;
  using Out = T;
  static uint64_t Identity() { return 0; }
  template <typename V>
  static V Combine(V a, V b) {
    return a + b;
  }
  static uint64_t Load(T x) { return static_cast<uint64_t>(x); }
  static T Finish(uint64_t sum, int64_t count) {
    if (count == 0) return 0;
    if constexpr (std::is_signed_v<T>) return static_cast<T>(static_cast<int64_t>(sum) / count);
    return static_cast<T>(sum / static_cast<uint64_t>(count));
  }
};

// Half the sum of squares.
template <typename T>
struct L2Reducer : SumReducer<T> {
  template <typename V>
  static V Prepare(V x) {
    return x * x;
  }
  using Acc = ComputeTypeOf<T>;
  static Acc Load(T x) { return Acc(x) * Acc(x); }
  static T Finish(Acc sum, int64_t) { return T(sum * Acc(0.5)); }
};

class L2LossKernel {
 public:
  ms::Status Compute(ms::Frame& frame) const {
    const ms::View in = frame.input(0);
    ReducePlan plan;
    PlanReduction(in.shape(), ~uint32_t{0}, false, &plan);
    return RunReduction(frame, functions_, plan, in, nullptr);
  }

 protected:
  explicit L2LossKernel(const ReduceFunctions& functions) : functions_(functions) {}

 private:
  const ReduceFunctions& functions_;
};

template <typename T>
class L2Loss : public L2LossKernel {
 public:
  L2Loss() : L2LossKernel(kReduceFunctions<L2Reducer<T>>) {}
};

template <typename T>
using Mean = MeanReducer<T>;

const ms::Registered prod = RegisterWrappingReduce<ProdReducer>("Prod");
const ms::Registered mean =
    RegisterEach<Mean, float, double, Float16, BFloat16, std::complex<float>, std::complex<double>,
                 int8_t, int16_t, int32_t, int64_t, uint8_t, uint16_t, uint32_t, uint64_t>("Mean");
const ms::Registered l2_loss =
    ms::RegisterForTypes<L2Loss, float, double, Float16, BFloat16>("L2Loss", "T");

}  // namespace
}  // namespace millstream::kernels
