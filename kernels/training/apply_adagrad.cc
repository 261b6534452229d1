// ResourceApplyAdagrad.
#include <cstdint>

#include "framework/plugin/plugin.hpp"
#include "kernels/training/adagrad_step.h"
#include "kernels/training/variables.h"

namespace millstream::kernels {
namespace {

// Inputs: var and accum (variables), lr, grad. Attribute: update_slots.
template <typename T>
class ResourceApplyAdagrad {
 public:
  ms::Status Init(const ms::KernelInfo& info) { return info.Attr("update_slots", &update_slots_); }

  ms::Status Compute(ms::Frame& frame) const {
    AdagradStep<T> step{};
    MS_TRY(ReadScalar<T>(frame.input(2), "lr", &step.learning));
    const ms::View grad = frame.input(3);
    VariableWithSlot locked;
    MS_TRY(locked.Lock(frame, "accum", update_slots_));
    const ms::View& variable = locked.variable();
    MS_TRY(CheckSameShape("var", variable, "grad", grad));

    T* const var = variable.data<T>();
    T* const sum = locked.slot().data<T>();
    const T* const gradient = grad.data<T>();
    const bool update_slots = update_slots_;
    UpdateElements<T>(frame, variable.size(), 6, [=](int64_t begin, int64_t end) {
      if (update_slots) {
        step.Run(var + begin, sum + begin, gradient + begin, end - begin);
      } else {
        step.RunOnVariableAlone(var + begin, sum + begin, gradient + begin, end - begin);
      }
    });
    return ms::Status();
  }

 private:
  bool update_slots_ = true;
};

const ms::Registered registered = RegisterStep<ResourceApplyAdagrad>("ResourceApplyAdagrad");

}  // namespace
}  // namespace millstream::kernels
