// ResourceApplyGradientDescent: var -= alpha * delta.
#include <array>
#include <cstdint>
#include <string_view>

#include "framework/plugin/plugin.hpp"
#include "kernels/training/apply_steps.h"

namespace millstream::kernels {
namespace {

template <typename T>
class GradientDescent {
 public:
  static constexpr std::array<std::string_view, 1> kVariables = {"var"};
  static constexpr std::array<std::string_view, 2> kRest = {"alpha", "delta"};
  static constexpr size_t kGradient = 1;
  static constexpr uint64_t kStreams = 3;
  using Rates = ComputeTypeOf<T>;

  ms::Status Init(const ms::KernelInfo&) { return ms::Status(); }
  size_t num_written() const { return 1; }

  Rates RatesOf(const std::array<Rates, 2>& rest) const { return rest[0]; }

  void Run(Rates alpha, const std::array<T*, 1>& variables, const T* __restrict gradient,
           int64_t count) const {
    T* const __restrict var = variables[0];
    for (int64_t i = 0; i < count; ++i) var[i] = T(Rates(var[i]) - alpha * gradient[i]);
  }
};

const ms::Registered registered = RegisterApply<GradientDescent>(
    "ResourceApplyGradientDescent", "_MultiResourceApplyGradientDescent");

}  // namespace
}  // namespace millstream::kernels
