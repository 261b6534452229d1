// ResourceApplyGradientDescent: var -= alpha * delta.
#include <cstdint>

#include "framework/plugin/plugin.hpp"
#include "kernels/training/variables.h"

namespace millstream::kernels {
namespace {

// Inputs: var (a variable), alpha, delta.
template <typename T>
class ResourceApplyGradientDescent {
  using Number = ComputeTypeOf<T>;

 public:
  ms::Status Compute(ms::Frame& frame) const {
    Number alpha{};
    MS_TRY(ReadScalar<T>(frame.input(1), "alpha", &alpha));
    const ms::View delta = frame.input(2);
    ms::VariableLocks locks;
    MS_TRY(frame.LockVariables({{0, MS_LOCK_WRITE}}, &locks));
    ms::View variable;
    MS_TRY(locks.Write(0, &variable));
    MS_TRY(CheckSameShape("var", variable, "delta", delta));

    T* const __restrict var = variable.data<T>();
    const T* const gradient = delta.data<T>();
    UpdateElements<T>(frame, variable.size(), 3, [=](int64_t begin, int64_t end) {
      Update(var, gradient, alpha, begin, end);
    });
    return ms::Status();
  }

 private:
  static void Update(T* __restrict var, const T* __restrict gradient, Number alpha, int64_t begin,
                     int64_t end) {
    for (int64_t i = begin; i < end; ++i) var[i] = T(Number(var[i]) - alpha * gradient[i]);
  }
};

const ms::Registered registered =
    RegisterStep<ResourceApplyGradientDescent>("ResourceApplyGradientDescent");

}  // namespace
}  // namespace millstream::kernels
