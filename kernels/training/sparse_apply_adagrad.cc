// ResourceSparseApplyAdagrad.
#include <cstdint>

#include "framework/plugin/plugin.hpp"
#include "kernels/simd/instruction_set.h"
#include "kernels/training/adagrad_step.h"
#include "kernels/training/row_updates.h"
#include "kernels/training/variables.h"

namespace millstream::kernels {
namespace {

// Inputs: var and accum (variables), lr, grad, indices. Attribute: update_slots.
template <typename T>
class ResourceSparseApplyAdagrad {
 public:
  ms::Status Init(const ms::KernelInfo& info) { return info.Attr("update_slots", &update_slots_); }

  ms::Status Compute(ms::Frame& frame) const {
    AdagradStep<T> step{};
    MS_TRY(ReadScalar<T>(frame.input(2), "lr", &step.learning));
    const ms::View grad = frame.input(3);
    const ms::View indices = frame.input(4);
    VariableWithSlot locked;
    MS_TRY(locked.Lock(frame, "accum", update_slots_));
    const ms::View& variable = locked.variable();
    MS_TRY(CheckRowGradient(variable, grad, indices));

    T* const var = variable.data<T>();
    T* const sum = locked.slot().data<T>();
    const T* const gradient = grad.data<T>();
    const bool update_slots = update_slots_;
    return UpdateIndexedRows<T>(
        frame, variable, indices, 6, [=](int64_t place, int64_t row, int64_t count) {
          RunLoop<&ResourceSparseApplyAdagrad::Step>(step, update_slots, var + place, sum + place,
                                                     gradient + row, count);
        });
  }

 private:
  static void Step(const AdagradStep<T>& step, bool update_slots, T* var, T* sum, const T* gradient,
                   int64_t count) {
    if (update_slots) {
      step.Run(var, sum, gradient, count);
    } else {
      step.RunOnVariableAlone(var, sum, gradient, count);
    }
  }

  bool update_slots_ = true;
};

const ms::Registered registered = RegisterStep<ResourceSparseApplyAdagrad>(
    "ResourceSparseApplyAdagrad", ms::KernelOptions().Types("Tindices", IndexTypes()));

}  // namespace
}  // namespace millstream::kernels
