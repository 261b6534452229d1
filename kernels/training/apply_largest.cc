// Steps of Adam's kin that keep the largest of some numbers.
//
// ResourceApplyAdaMax (Kingma, Ba, ICLR 2015, section 7.1):
//   m += (1 - beta1) * (grad - m)
//   v = max(beta2 * v, |grad|)
//   var -= lr / (1 - beta1_power) * m / (v + epsilon)
// ResourceApplyAdamWithAmsgrad (Reddi, Kale, Kumar, ICLR 2018), with Adam's rate, m and v:
//   vhat = max(vhat, v)
//   var -= rate * m / (sqrt(vhat) + epsilon)
#include <array>
#include <cmath>
#include <cstdint>
#include <string_view>

#include "kernels/training/optimizer.h"

namespace millstream::kernels {
namespace {

template <typename T>
struct LargestRates {
  T learning;  // corrected for the moments' start at zero
  T beta1;
  T beta2;
  T epsilon;
};

template <typename T>
T Larger(T x, T y) {
  return x < y ? y : x;
}

template <typename T>
struct AdaMax {
  static constexpr std::array<std::string_view, 3> kVariables = {"var", "m", "v"};
  static constexpr std::array<std::string_view, 6> kRest = {"beta1_power", "lr",      "beta1",
                                                            "beta2",       "epsilon", "grad"};
  static constexpr uint32_t kGradient = 5;
  static constexpr uint32_t kStreams = 7;
  static constexpr const char* kFlag = nullptr;
  static constexpr std::array<uint32_t, 2> kWritten = {3, 3};
  using Rates = LargestRates<T>;

  static Rates RatesOf(const T* rest) {
    return {rest[1] / (T(1) - rest[0]), rest[2], rest[3], rest[4]};
  }

  static void Run(bool /*flag*/, const Rates& rates, const std::array<T*, 3>& variables,
                  const T* __restrict gradient, int64_t count) {
    T* const __restrict var = variables[0];
    T* const __restrict m = variables[1];
    T* const __restrict v = variables[2];
    const auto [learning, beta1, beta2, epsilon] = rates;
    const T rest1 = T(1) - beta1;
    for (int64_t i = 0; i < count; ++i) {
      const T g = gradient[i];
      const T mean = m[i] + (g - m[i]) * rest1;
      const T largest = Larger(beta2 * v[i], std::abs(g));
      m[i] = mean;
      v[i] = largest;
      var[i] = var[i] - learning * (mean / (largest + epsilon));
    }
  }
};

template <typename T>
struct Amsgrad {
  static constexpr std::array<std::string_view, 4> kVariables = {"var", "m", "v", "vhat"};
  static constexpr std::array<std::string_view, 7> kRest = {
      "beta1_power", "beta2_power", "lr", "beta1", "beta2", "epsilon", "grad"};
  static constexpr uint32_t kGradient = 6;
  static constexpr uint32_t kStreams = 10;
  static constexpr const char* kFlag = nullptr;
  static constexpr std::array<uint32_t, 2> kWritten = {4, 4};
  using Rates = LargestRates<T>;

  static Rates RatesOf(const T* rest) {
    const T one = 1;
    const T learning = rest[2] * std::sqrt(one - rest[1]) / (one - rest[0]);
    return {learning, rest[3], rest[4], rest[5]};
  }

  static void Run(bool /*flag*/, const Rates& rates, const std::array<T*, 4>& variables,
                  const T* __restrict gradient, int64_t count) {
    T* const __restrict var = variables[0];
    T* const __restrict m = variables[1];
    T* const __restrict v = variables[2];
    T* const __restrict vhat = variables[3];
    const auto [learning, beta1, beta2, epsilon] = rates;
    const T rest1 = T(1) - beta1;
    const T rest2 = T(1) - beta2;
    for (int64_t i = 0; i < count; ++i) {
      const T g = gradient[i];
      const T mean = m[i] + (g - m[i]) * rest1;
      const T square = v[i] + (g * g - v[i]) * rest2;
      const T largest = Larger(vhat[i], square);
      m[i] = mean;
      v[i] = square;
      vhat[i] = largest;
      var[i] = var[i] - mean * learning / (std::sqrt(largest) + epsilon);
    }
  }
};

const ms::Registered ada_max =
    RegisterApply(kOptimizerOfReals<AdaMax>, "ResourceApplyAdaMax", "_MultiResourceApplyAdaMax");
const ms::Registered amsgrad =
    RegisterApply(kOptimizerOfReals<Amsgrad>, "ResourceApplyAdamWithAmsgrad",
                  "_MultiResourceApplyAdamWithAmsgrad");

}  // namespace
}  // namespace millstream::kernels
