// ResourceApplyMomentum.
#include <cstdint>

#include "framework/plugin/plugin.hpp"
#include "kernels/training/momentum_step.h"
#include "kernels/training/variables.h"

namespace millstream::kernels {
namespace {

// Inputs: var and accum (variables), lr, grad, momentum. Attribute: use_nesterov.
template <typename T>
class ResourceApplyMomentum {
 public:
  ms::Status Init(const ms::KernelInfo& info) { return info.Attr("use_nesterov", &use_nesterov_); }

  ms::Status Compute(ms::Frame& frame) const {
    MomentumStep<T> step{};
    MS_TRY(ReadScalar<T>(frame.input(2), "lr", &step.learning));
    MS_TRY(ReadScalar<T>(frame.input(4), "momentum", &step.momentum));
    const ms::View grad = frame.input(3);
    VariableWithSlot locked;
    MS_TRY(locked.Lock(frame, "accum", true));
    const ms::View& variable = locked.variable();
    MS_TRY(CheckSameShape("var", variable, "grad", grad));

    T* const var = variable.data<T>();
    T* const sum = locked.slot().data<T>();
    const T* const gradient = grad.data<T>();
    const bool nesterov = use_nesterov_;
    UpdateElements<T>(frame, variable.size(), 5, [=](int64_t begin, int64_t end) {
      if (nesterov) {
        step.template Run<true>(var + begin, sum + begin, gradient + begin, end - begin);
      } else {
        step.template Run<false>(var + begin, sum + begin, gradient + begin, end - begin);
      }
    });
    return ms::Status();
  }

 private:
  bool use_nesterov_ = false;
};

const ms::Registered registered = RegisterStep<ResourceApplyMomentum>("ResourceApplyMomentum");

}  // namespace
}  // namespace millstream::kernels
