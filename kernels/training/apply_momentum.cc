// ResourceApplyMomentum.
#include <array>
#include <cstdint>
#include <string_view>

#include "framework/plugin/plugin.hpp"
#include "kernels/training/apply_steps.h"
#include "kernels/training/momentum_step.h"

namespace millstream::kernels {
namespace {

template <typename T>
class Momentum {
 public:
  static constexpr std::array<std::string_view, 2> kVariables = {"var", "accum"};
  static constexpr std::array<std::string_view, 3> kRest = {"lr", "grad", "momentum"};
  static constexpr size_t kGradient = 1;
  static constexpr uint64_t kStreams = 5;
  using Rates = MomentumStep<T>;

  ms::Status Init(const ms::KernelInfo& info) { return info.Attr("use_nesterov", &use_nesterov_); }
  size_t num_written() const { return 2; }

  Rates RatesOf(const std::array<ComputeTypeOf<T>, 3>& rest) const { return {rest[0], rest[2]}; }

  void Run(const Rates& step, const std::array<T*, 2>& variables, const T* gradient,
           int64_t count) const {
    const auto [var, accum] = variables;
    if (use_nesterov_) {
      step.template Run<true>(var, accum, gradient, count);
    } else {
      step.template Run<false>(var, accum, gradient, count);
    }
  }

 private:
  bool use_nesterov_ = false;
};

const ms::Registered registered =
    RegisterApply<Momentum>("ResourceApplyMomentum", "_MultiResourceApplyMomentum");

}  // namespace
}  // namespace millstream::kernels
