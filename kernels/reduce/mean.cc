// Mean, Prod, L2Loss. Products of integers wrap; a mean of integers is cut towards zero and its sum
// is kept in 64 bits.
#include "kernels/reduce/reducers.h"

namespace millstream::kernels {
namespace {

template <typename T>
struct ProdReducer : SameTypes<T> {
  static T Identity() { return T(1); }
  template <typename V>
  static V Combine(V a, V b) {
    if constexpr (std::is_same_v<V, uint16_t>) return static_cast<V>(uint32_t{a} * uint32_t{b});
    return static_cast<V>(a * b);
  }
};

template <typename T, bool kInteger = std::is_integral_v<T>>
struct MeanReducer : SumReducer<T> {
  static T Finish(T sum, int64_t count) { return sum / static_cast<T>(count); }
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
  static T Load(T x) { return x * x; }
  static T Finish(T sum, int64_t) { return sum * T(0.5); }
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

template <typename... Ts>
ms::Registered RegisterMean() {
  (RegisterReduce<MeanReducer<Ts>>("Mean", {ms::DTypeOf<Ts>()}), ...);
  return ms::Registered();
}

const ms::Registered prod = RegisterWrappingReduce<ProdReducer>("Prod");
const ms::Registered mean = RegisterMean<float, double, int8_t, int16_t, int32_t, int64_t, uint8_t,
                                         uint16_t, uint32_t, uint64_t>();
const ms::Registered l2_loss = ms::RegisterForTypes<L2Loss, float, double>("L2Loss", "T");

}  // namespace
}  // namespace millstream::kernels
