// ResourceApplyMomentum and its sparse form (Polyak 1964), and their form after Nesterov (Sutskever
// et al., ICML 2013):
//   accum = momentum * accum + grad
//   var -= lr * accum                                    plain
//   var -= lr * grad + lr * momentum * accum             use_nesterov
// ResourceApplyKerasMomentum and its sparse form, whose accum holds steps instead of gradients:
//   accum = momentum * accum - lr * grad
//   var += accum                                         plain
//   var += momentum * accum - lr * grad                  use_nesterov
#include <array>
#include <cstdint>
#include <string_view>

#include "kernels/training/optimizer.h"

namespace millstream::kernels {
namespace {

template <typename T, bool kOfSteps>
struct AnyMomentum {
  static constexpr std::array<std::string_view, 2> kVariables = {"var", "accum"};
  static constexpr std::array<std::string_view, 3> kRest = {"lr", "grad", "momentum"};
  static constexpr uint32_t kGradient = 1;
  static constexpr uint32_t kStreams = 5;
  static constexpr const char* kFlag = "use_nesterov";
  static constexpr std::array<uint32_t, 2> kWritten = {2, 2};
  struct Rates {
    T learning;
    T momentum;
  };

  static Rates RatesOf(const T* rest) { return {rest[0], rest[2]}; }

  static void Run(bool use_nesterov, const Rates& rates, const std::array<T*, 2>& variables,
                  const T* gradient, int64_t count) {
    const auto [var, accum] = variables;
    // Not through a pointer: what is called that way is not compiled for every instruction set.
    use_nesterov ? Update<true>(var, accum, gradient, rates, count)
                 : Update<false>(var, accum, gradient, rates, count);
  }

 private:
  template <bool kNesterov>
  static void Update(T* __restrict var, T* __restrict accum, const T* __restrict gradient,
                     Rates rates, int64_t count) {
    const auto [learning, momentum] = rates;
    for (int64_t i = 0; i < count; ++i) {
      const T g = gradient[i];
      if constexpr (kOfSteps) {
        const T step = accum[i] * momentum - g * learning;
        accum[i] = step;
        var[i] = var[i] + (kNesterov ? step * momentum - g * learning : step);
      } else {
        const T sum = accum[i] * momentum + g;
        accum[i] = sum;
        var[i] = var[i] - (kNesterov ? g * learning + sum * momentum * learning : learning * sum);
      }
    }
  }
};

template <typename T>
using Momentum = AnyMomentum<T, false>;
template <typename T>
using KerasMomentum = AnyMomentum<T, true>;

const ms::Registered dense =
    RegisterApply(kOptimizer<Momentum>, "ResourceApplyMomentum", "_MultiResourceApplyMomentum");
const ms::Registered sparse =
    RegisterSparseApply(kOptimizer<Momentum>, "ResourceSparseApplyMomentum");
const ms::Registered keras_dense = RegisterApply(
    kOptimizer<KerasMomentum>, "ResourceApplyKerasMomentum", "_MultiResourceApplyKerasMomentum");
const ms::Registered keras_sparse =
    RegisterSparseApply(kOptimizer<KerasMomentum>, "ResourceSparseApplyKerasMomentum");

}  // namespace
}  // namespace millstream::kernels
