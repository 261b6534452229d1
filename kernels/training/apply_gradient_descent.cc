// ResourceApplyGradientDescent: var -= alpha * delta.
#include <array>
#include <cstdint>
#include <string_view>

#include "kernels/training/optimizer.h"

namespace millstream::kernels {
namespace {

template <typename T>
struct GradientDescent {
  static constexpr std::array<std::string_view, 1> kVariables = {"var"};
  static constexpr std::array<std::string_view, 2> kRest = {"alpha", "delta"};
  static constexpr uint32_t kGradient = 1;
  static constexpr uint32_t kStreams = 3;
  static constexpr const char* kFlag = nullptr;
  static constexpr std::array<uint32_t, 2> kWritten = {1, 1};
  using Rates = T;

  static Rates RatesOf(const T* rest) { return rest[0]; }

  static void Run(bool /*flag*/, const T& rate, const std::array<T*, 1>& variables,
                  const T* __restrict gradient, int64_t count) {
    T* const __restrict var = variables[0];
    const T alpha = rate;
    for (int64_t i = 0; i < count; ++i) var[i] = var[i] - alpha * gradient[i];
  }
};

const ms::Registered registered =
    RegisterApply(kOptimizer<GradientDescent>, "ResourceApplyGradientDescent",
                  "_MultiResourceApplyGradientDescent");

}  // namespace
}  // namespace millstream::kernels
