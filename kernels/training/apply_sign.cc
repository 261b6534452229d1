// ResourceApplyAddSign and ResourceApplyPowerSign (Bello et al., ICML 2017):
//   m = beta * m + (1 - beta) * grad
//   agreement = sign(grad) * sign(m)
//   var -= lr * (alpha + sign_decay * agreement) * grad              AddSign
//   var -= lr * exp(logbase * sign_decay * agreement) * grad         PowerSign
// The agreement is one of three numbers, so the factor of grad is computed once for each of them.
#include <array>
#include <cmath>
#include <cstdint>
#include <string_view>

#include "kernels/training/optimizer.h"

namespace millstream::kernels {
namespace {

template <typename T>
struct SignRates {
  T beta;
  // The factor of the gradient, where its sign and that of m
  T equal;      // are equal
  T neither;    // are not both there
  T different;  // differ
};

// What both have in common.
template <typename T>
struct SignStep {
  static constexpr std::array<std::string_view, 2> kVariables = {"var", "m"};
  static constexpr uint32_t kGradient = 4;
  static constexpr uint32_t kStreams = 5;
  static constexpr const char* kFlag = nullptr;
  static constexpr std::array<uint32_t, 2> kWritten = {2, 2};
  using Rates = SignRates<T>;

  static void Run(bool /*flag*/, const Rates& rates, const std::array<T*, 2>& variables,
                  const T* __restrict gradient, int64_t count) {
    T* const __restrict var = variables[0];
    T* const __restrict m = variables[1];
    const auto [beta, equal, neither, different] = rates;
    const T rest = T(1) - beta;
    for (int64_t i = 0; i < count; ++i) {
      const T g = gradient[i];
      const T mean = m[i] * beta + g * rest;
      const bool is_equal = ((g > 0) & (mean > 0)) | ((g < 0) & (mean < 0));
      const bool is_different = ((g > 0) & (mean < 0)) | ((g < 0) & (mean > 0));
      const T factor = is_equal ? equal : is_different ? different : neither;
      m[i] = mean;
      var[i] = var[i] - factor * g;
    }
  }
};

template <typename T>
struct AddSign : SignStep<T> {
  static constexpr std::array<std::string_view, 5> kRest = {"lr", "alpha", "sign_decay", "beta",
                                                            "grad"};
  static SignRates<T> RatesOf(const T* rest) {
    const T learning = rest[0];
    const T alpha = rest[1];
    const T decay = rest[2];
    return {rest[3], learning * (alpha + decay), learning * alpha, learning * (alpha - decay)};
  }
};

template <typename T>
struct PowerSign : SignStep<T> {
  static constexpr std::array<std::string_view, 5> kRest = {"lr", "logbase", "sign_decay", "beta",
                                                            "grad"};
  static SignRates<T> RatesOf(const T* rest) {
    const T learning = rest[0];
    const T power = rest[1] * rest[2];
    return {rest[3], learning * std::exp(power), learning, learning * std::exp(-power)};
  }
};

const ms::Registered add_sign =
    RegisterApply(kOptimizerOfReals<AddSign>, "ResourceApplyAddSign", "_MultiResourceApplyAddSign");
const ms::Registered power_sign = RegisterApply(
    kOptimizerOfReals<PowerSign>, "ResourceApplyPowerSign", "_MultiResourceApplyPowerSign");

}  // namespace
}  // namespace millstream::kernels
