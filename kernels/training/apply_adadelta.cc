// ResourceApplyAdadelta and its sparse form (Zeiler 2012):
//   accum += (1 - rho) * (grad^2 - accum)
//   update = sqrt(accum_update + epsilon) / sqrt(accum + epsilon) * grad
//   accum_update += (1 - rho) * (update^2 - accum_update)
//   var -= lr * update
#include <array>
#include <cmath>
#include <cstdint>
#include <string_view>

#include "kernels/training/optimizer.h"

namespace millstream::kernels {
namespace {

template <typename T>
struct Adadelta {
  static constexpr std::array<std::string_view, 3> kVariables = {"var", "accum", "accum_update"};
  static constexpr std::array<std::string_view, 4> kRest = {"lr", "rho", "epsilon", "grad"};
  static constexpr uint32_t kGradient = 3;
  static constexpr uint32_t kStreams = 7;
  static constexpr const char* kFlag = nullptr;
  static constexpr std::array<uint32_t, 2> kWritten = {3, 3};
  struct Rates {
    T learning;
    T rest;  // 1 - rho
    T epsilon;
  };

  static Rates RatesOf(const T* rest) { return {rest[0], T(1) - rest[1], rest[2]}; }

  static void Run(bool /*flag*/, const Rates& rates, const std::array<T*, 3>& variables,
                  const T* __restrict gradient, int64_t count) {
    T* const __restrict var = variables[0];
    T* const __restrict accum = variables[1];
    T* const __restrict accum_update = variables[2];
    const auto [learning, rest, epsilon] = rates;
    for (int64_t i = 0; i < count; ++i) {
      const T g = gradient[i];
      const T square = accum[i] + (g * g - accum[i]) * rest;
      const T update = std::sqrt(accum_update[i] + epsilon) / std::sqrt(square + epsilon) * g;
      accum[i] = square;
      accum_update[i] = accum_update[i] + (update * update - accum_update[i]) * rest;
      var[i] = var[i] - learning * update;
    }
  }
};

const ms::Registered dense =
    RegisterApply(kOptimizer<Adadelta>, "ResourceApplyAdadelta", "_MultiResourceApplyAdadelta");
const ms::Registered sparse =
    RegisterSparseApply(kOptimizer<Adadelta>, "ResourceSparseApplyAdadelta");

}  // namespace
}  // namespace millstream::kernels
