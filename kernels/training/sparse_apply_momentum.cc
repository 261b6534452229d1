// ResourceSparseApplyMomentum.
#include <cstdint>

#include "framework/plugin/plugin.hpp"
#include "kernels/simd/instruction_set.h"
#include "kernels/training/momentum_step.h"
#include "kernels/training/row_updates.h"
#include "kernels/training/variables.h"

namespace millstream::kernels {
namespace {

// Inputs: var and accum (variables), lr, grad, indices, momentum. Attribute: use_nesterov.
template <typename T>
class ResourceSparseApplyMomentum {
 public:
  ms::Status Init(const ms::KernelInfo& info) { return info.Attr("use_nesterov", &use_nesterov_); }

  ms::Status Compute(ms::Frame& frame) const {
    MomentumStep<T> step{};
    MS_TRY(ReadScalar<T>(frame.input(2), "lr", &step.learning));
    MS_TRY(ReadScalar<T>(frame.input(5), "momentum", &step.momentum));
    const ms::View grad = frame.input(3);
    const ms::View indices = frame.input(4);
    VariableWithSlot locked;
    MS_TRY(locked.Lock(frame, "accum", true));
    const ms::View& variable = locked.variable();
    MS_TRY(CheckRowGradient(variable, grad, indices));

    T* const var = variable.data<T>();
    T* const sum = locked.slot().data<T>();
    const T* const gradient = grad.data<T>();
    const bool nesterov = use_nesterov_;
    return UpdateIndexedRows<T>(
        frame, variable, indices, 5, [=](int64_t place, int64_t row, int64_t count) {
          RunLoop<&ResourceSparseApplyMomentum::Step>(step, nesterov, var + place, sum + place,
                                                      gradient + row, count);
        });
  }

 private:
  static void Step(const MomentumStep<T>& step, bool nesterov, T* var, T* sum, const T* gradient,
                   int64_t count) {
    if (nesterov) {
      step.template Run<true>(var, sum, gradient, count);
    } else {
      step.template Run<false>(var, sum, gradient, count);
    }
  }

  bool use_nesterov_ = false;
};

const ms::Registered registered = RegisterStep<ResourceSparseApplyMomentum>(
    "ResourceSparseApplyMomentum", ms::KernelOptions().Types("Tindices", IndexTypes()));

}  // namespace
}  // namespace millstream::kernels
