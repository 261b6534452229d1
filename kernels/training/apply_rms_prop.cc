// ResourceApplyRMSProp (Tieleman, Hinton, 2012), ResourceApplyCenteredRMSProp (Graves 2013) and
// their sparse forms:
//   ms += (1 - rho) * (grad^2 - ms)
//   mg += (1 - rho) * (grad - mg)                                   centered
//   mom = momentum * mom + lr * grad / sqrt(ms + epsilon)           plain
//   mom = momentum * mom + lr * grad / sqrt(ms - mg^2 + epsilon)    centered
//   var -= mom
#include <array>
#include <cmath>
#include <cstdint>
#include <string_view>

#include "kernels/training/optimizer.h"

namespace millstream::kernels {
namespace {

template <typename T>
struct RmsRates {
  T learning;
  T rest;  // 1 - rho
  T momentum;
  T epsilon;
};

// What both have in common.
template <typename T>
struct RmsScalars {
  static constexpr std::array<std::string_view, 5> kRest = {"lr", "rho", "momentum", "epsilon",
                                                            "grad"};
  static constexpr uint32_t kGradient = 4;
  static constexpr const char* kFlag = nullptr;
  using Rates = RmsRates<T>;

  static Rates RatesOf(const T* rest) { return {rest[0], T(1) - rest[1], rest[2], rest[3]}; }
};

template <typename T>
struct RmsProp : RmsScalars<T> {
  static constexpr std::array<std::string_view, 3> kVariables = {"var", "ms", "mom"};
  static constexpr uint32_t kStreams = 7;
  static constexpr std::array<uint32_t, 2> kWritten = {3, 3};

  static void Run(bool /*flag*/, const RmsRates<T>& rates, const std::array<T*, 3>& variables,
                  const T* __restrict gradient, int64_t count) {
    T* const __restrict var = variables[0];
    T* const __restrict ms = variables[1];
    T* const __restrict mom = variables[2];
    const auto [learning, rest, momentum, epsilon] = rates;
    for (int64_t i = 0; i < count; ++i) {
      const T g = gradient[i];
      const T square = ms[i] + (g * g - ms[i]) * rest;
      const T step = mom[i] * momentum + learning * g / std::sqrt(square + epsilon);
      ms[i] = square;
      mom[i] = step;
      var[i] = var[i] - step;
    }
  }
};

template <typename T>
struct CenteredRmsProp : RmsScalars<T> {
  static constexpr std::array<std::string_view, 4> kVariables = {"var", "mg", "ms", "mom"};
  static constexpr uint32_t kStreams = 9;
  static constexpr std::array<uint32_t, 2> kWritten = {4, 4};

  static void Run(bool /*flag*/, const RmsRates<T>& rates, const std::array<T*, 4>& variables,
                  const T* __restrict gradient, int64_t count) {
    T* const __restrict var = variables[0];
    T* const __restrict mg = variables[1];
    T* const __restrict ms = variables[2];
    T* const __restrict mom = variables[3];
    const auto [learning, rest, momentum, epsilon] = rates;
    for (int64_t i = 0; i < count; ++i) {
      const T g = gradient[i];
      const T mean = mg[i] + (g - mg[i]) * rest;
      const T square = ms[i] + (g * g - ms[i]) * rest;
      const T variance = square - mean * mean + epsilon;
      const T step = mom[i] * momentum + learning * g / std::sqrt(variance);
      mg[i] = mean;
      ms[i] = square;
      mom[i] = step;
      var[i] = var[i] - step;
    }
  }
};

const ms::Registered dense =
    RegisterApply(kOptimizer<RmsProp>, "ResourceApplyRMSProp", "_MultiResourceApplyRMSProp");
const ms::Registered sparse =
    RegisterSparseApply(kOptimizer<RmsProp>, "ResourceSparseApplyRMSProp");
const ms::Registered centered_dense =
    RegisterApply(kOptimizer<CenteredRmsProp>, "ResourceApplyCenteredRMSProp",
                  "_MultiResourceApplyCenteredRMSProp");
const ms::Registered centered_sparse =
    RegisterSparseApply(kOptimizer<CenteredRmsProp>, "ResourceSparseApplyCenteredRMSProp");

}  // namespace
}  // namespace millstream::kernels
