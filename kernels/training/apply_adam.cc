// ResourceApplyAdam (Kingma, Ba, ICLR 2015, the form before section 2.1), and with use_nesterov
// NAdam's step (Dozat 2016):
//   rate = lr * sqrt(1 - beta2_power) / (1 - beta1_power)
//   m += (1 - beta1) * (grad - m)
//   v += (1 - beta2) * (grad^2 - v)
//   var -= rate * m / (sqrt(v) + epsilon)                                           plain
//   var -= rate * (beta1 * m + (1 - beta1) * grad) / (sqrt(v) + epsilon)            use_nesterov
#include <array>
#include <cmath>
#include <complex>
#include <cstdint>
#include <string_view>

#include "kernels/training/optimizer.h"

namespace millstream::kernels {
namespace {

template <typename T>
struct Adam {
  static constexpr std::array<std::string_view, 3> kVariables = {"var", "m", "v"};
  static constexpr std::array<std::string_view, 7> kRest = {
      "beta1_power", "beta2_power", "lr", "beta1", "beta2", "epsilon", "grad"};
  static constexpr uint32_t kGradient = 6;
  static constexpr uint32_t kStreams = 8;
  static constexpr const char* kFlag = "use_nesterov";
  static constexpr std::array<uint32_t, 2> kWritten = {3, 3};
  struct Rates {
    T learning;  // corrected for the moments' start at zero
    T beta1;
    T beta2;
    T epsilon;
  };

  static Rates RatesOf(const T* rest) {
    const T beta1_power = rest[0];
    const T beta2_power = rest[1];
    const T learning_rate = rest[2];
    const T one = 1;
    const T learning = learning_rate * std::sqrt(one - beta2_power) / (one - beta1_power);
    return {learning, rest[3], rest[4], rest[5]};
  }

  static void Run(bool use_nesterov, const Rates& rates, const std::array<T*, 3>& variables,
                  const T* gradient, int64_t count) {
    const auto [var, m, v] = variables;
    // Not through a pointer: what is called that way is not compiled for every instruction set.
    use_nesterov ? Update<true>(var, m, v, gradient, rates, count)
                 : Update<false>(var, m, v, gradient, rates, count);
  }

 private:
  template <bool kNesterov>
  static void Update(T* __restrict var, T* __restrict m, T* __restrict v,
                     const T* __restrict gradient, Rates rates, int64_t count) {
    const T rest1 = T(1) - rates.beta1;
    const T rest2 = T(1) - rates.beta2;
    for (int64_t i = 0; i < count; ++i) {
      const T g = gradient[i];
      const T mean = m[i] + (g - m[i]) * rest1;
      const T square = v[i] + (g * g - v[i]) * rest2;
      m[i] = mean;
      v[i] = square;
      const T direction = kNesterov ? mean * rates.beta1 + g * rest1 : mean;
      var[i] = var[i] - rates.learning * direction / (std::sqrt(square) + rates.epsilon);
    }
  }
};

const ms::Registered registered =
    RegisterApply(kOptimizer<Adam>, "ResourceApplyAdam", "_MultiResourceApplyAdam");

}  // namespace
}  // namespace millstream::kernels
