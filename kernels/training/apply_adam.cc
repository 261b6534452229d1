// ResourceApplyAdam (Kingma, Ba, ICLR 2015, the form before section 2.1), and with use_nesterov
// NAdam's step (Dozat 2016):
//   rate = lr * sqrt(1 - beta2_power) / (1 - beta1_power)
//   m += (1 - beta1) * (grad - m)
//   v += (1 - beta2) * (grad^2 - v)
//   var -= rate * m / (sqrt(v) + epsilon)                                           plain
//   var -= rate * (beta1 * m + (1 - beta1) * grad) / (sqrt(v) + epsilon)            use_nesterov
#include <array>
#include <cmath>
#include <cstdint>
#include <string_view>

#include "framework/plugin/plugin.hpp"
#include "kernels/training/apply_steps.h"

namespace millstream::kernels {
namespace {

// Attribute: use_nesterov.
template <typename T>
class Adam {
  using Number = ComputeTypeOf<T>;

 public:
  static constexpr std::array<std::string_view, 3> kVariables = {"var", "m", "v"};
  static constexpr std::array<std::string_view, 7> kRest = {
      "beta1_power", "beta2_power", "lr", "beta1", "beta2", "epsilon", "grad"};
  static constexpr size_t kGradient = 6;
  static constexpr uint64_t kStreams = 8;
  struct Rates {
    Number learning;  // corrected for the moments' start at zero
    Number beta1;
    Number beta2;
    Number epsilon;
  };

  ms::Status Init(const ms::KernelInfo& info) { return info.Attr("use_nesterov", &use_nesterov_); }
  size_t num_written() const { return 3; }

  Rates RatesOf(const std::array<Number, 7>& rest) const {
    const auto [beta1_power, beta2_power, learning_rate, beta1, beta2, epsilon, unused] = rest;
    const Number one = 1;
    const Number learning = learning_rate * std::sqrt(one - beta2_power) / (one - beta1_power);
    return {learning, beta1, beta2, epsilon};
  }

  void Run(const Rates& rates, const std::array<T*, 3>& variables, const T* gradient,
           int64_t count) const {
    const auto [var, m, v] = variables;
    // Not through a pointer: what is called that way is not compiled for every instruction set.
    use_nesterov_ ? Update<true>(var, m, v, gradient, rates, count)
                  : Update<false>(var, m, v, gradient, rates, count);
  }

 private:
  template <bool kNesterov>
  static void Update(T* __restrict var, T* __restrict m, T* __restrict v,
                     const T* __restrict gradient, Rates rates, int64_t count) {
    const Number rest1 = Number(1) - rates.beta1;
    const Number rest2 = Number(1) - rates.beta2;
    for (int64_t i = 0; i < count; ++i) {
      const Number g = gradient[i];
      const Number mean = m[i] + (g - m[i]) * rest1;
      const Number square = v[i] + (g * g - v[i]) * rest2;
      m[i] = T(mean);
      v[i] = T(square);
      const Number direction = kNesterov ? mean * rates.beta1 + g * rest1 : mean;
      var[i] = T(var[i] - rates.learning * direction / (std::sqrt(square) + rates.epsilon));
    }
  }

  bool use_nesterov_ = false;
};

const ms::Registered registered =
    RegisterApply<Adam>("ResourceApplyAdam", "_MultiResourceApplyAdam");

}  // namespace
}  // namespace millstream::kernels
