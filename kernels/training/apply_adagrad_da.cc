// ResourceApplyAdagradDA and its sparse form, for real numbers: Adagrad by dual averaging (Duchi,
// Hazan and Singer, "Adaptive subgradient methods", JMLR 2011, section 1.1 and equation 24):
//   sum += grad, squares += grad^2
//   var = -lr * sign(sum) * max(|sum| - l1 * step, 0) / (sqrt(squares) + lr * l2 * step)
#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <string_view>

#include "kernels/training/optimizer.h"

namespace millstream::kernels {
namespace {

template <typename T>
struct AdagradDa {
  static constexpr std::array<std::string_view, 3> kVariables = {"var", "gradient_accumulator",
                                                                 "gradient_squared_accumulator"};
  static constexpr std::array<std::string_view, 5> kRest = {"grad", "lr", "l1", "l2",
                                                            "global_step"};
  static constexpr uint32_t kGradient = 0;
  static constexpr uint32_t kStreams = 6;
  static constexpr const char* kFlag = nullptr;
  static constexpr std::array<uint32_t, 2> kWritten = {3, 3};

  struct Rates {
    T learning;
    T threshold;  // l1 * step
    T damping;    // lr * l2 * step
  };
  static Rates RatesOf(const T* rest) {
    return {rest[1], rest[2] * rest[4], rest[1] * rest[3] * rest[4]};
  }

  static void Run(bool /*flag*/, const Rates& rates, const std::array<T*, 3>& variables,
                  const T* __restrict gradient, int64_t count) {
    T* const __restrict var = variables[0];
    T* const __restrict sum = variables[1];
    T* const __restrict squares = variables[2];
    const auto [learning, threshold, damping] = rates;
    for (int64_t i = 0; i < count; ++i) {
      const T g = gradient[i];
      sum[i] += g;
      squares[i] += g * g;
      const T length = std::max(std::abs(sum[i]) - threshold, T(0));
      var[i] = -learning * std::copysign(length, sum[i]) / (std::sqrt(squares[i]) + damping);
    }
  }
};

const ms::Registered dense = RegisterApply(kOptimizerOfReals<AdagradDa>, "ResourceApplyAdagradDA",
                                           "_MultiResourceApplyAdagradDA");
const ms::Registered sparse =
    RegisterSparseApply(kOptimizerOfReals<AdagradDa>, "ResourceSparseApplyAdagradDA");

}  // namespace
}  // namespace millstream::kernels
