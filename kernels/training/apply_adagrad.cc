// ResourceApplyAdagrad.
#include <array>
#include <cstdint>
#include <string_view>

#include "framework/plugin/plugin.hpp"
#include "kernels/training/adagrad_step.h"
#include "kernels/training/apply_steps.h"

namespace millstream::kernels {
namespace {

template <typename T>
class Adagrad {
 public:
  static constexpr std::array<std::string_view, 2> kVariables = {"var", "accum"};
  static constexpr std::array<std::string_view, 2> kRest = {"lr", "grad"};
  static constexpr size_t kGradient = 1;
  static constexpr uint64_t kStreams = 6;
  using Rates = AdagradStep<T>;

  ms::Status Init(const ms::KernelInfo& info) { return info.Attr("update_slots", &update_slots_); }
  size_t num_written() const { return update_slots_ ? 2 : 1; }

  Rates RatesOf(const std::array<ComputeTypeOf<T>, 2>& rest) const { return {rest[0]}; }

  void Run(const Rates& step, const std::array<T*, 2>& variables, const T* gradient,
           int64_t count) const {
    const auto [var, accum] = variables;
    if (update_slots_) {
      step.Run(var, accum, gradient, count);
    } else {
      step.RunOnVariableAlone(var, accum, gradient, count);
    }
  }

 private:
  bool update_slots_ = true;
};

const ms::Registered registered =
    RegisterApply<Adagrad>("ResourceApplyAdagrad", "_MultiResourceApplyAdagrad");

}  // namespace
}  // namespace millstream::kernels
