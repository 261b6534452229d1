// ResourceApplyAdagrad (Duchi, Hazan, Singer, JMLR 2011):
//   accum += grad^2                    (left alone without update_slots)
//   var -= lr * grad / sqrt(accum)
#include <cmath>
#include <cstdint>

#include "framework/plugin/plugin.hpp"
#include "kernels/training/variables.h"

namespace millstream::kernels {
namespace {

// Inputs: var and accum (variables), lr, grad. Attribute: update_slots.
template <typename T>
class ResourceApplyAdagrad {
 public:
  ms::Status Init(const ms::KernelInfo& info) { return info.Attr("update_slots", &update_slots_); }

  ms::Status Compute(ms::Frame& frame) const {
    T learning_rate{};
    MS_TRY(ReadScalar(frame.input(2), "lr", &learning_rate));
    const ms::View grad = frame.input(3);
    ms::VariableLocks locks;
    MS_TRY(frame.LockVariables(
        {{0, MS_LOCK_WRITE}, {1, update_slots_ ? MS_LOCK_WRITE : MS_LOCK_READ}}, &locks));
    ms::View variable;
    ms::View accum;
    MS_TRY(locks.Write(0, &variable));
    MS_TRY(update_slots_ ? locks.Write(1, &accum) : locks.Read(1, &accum));
    MS_TRY(CheckSameShape("var", variable, "accum", accum));
    MS_TRY(CheckSameShape("var", variable, "grad", grad));

    T* const var = variable.data<T>();
    T* const sum = accum.data<T>();
    const T* const gradient = grad.data<T>();
    const bool update_slots = update_slots_;
    UpdateElements<T>(frame, variable.size(), 6, [=](int64_t begin, int64_t end) {
      if (update_slots) {
        Update(var, sum, gradient, learning_rate, begin, end);
      } else {
        UpdateVariableOnly(var, sum, gradient, learning_rate, begin, end);
      }
    });
    return ms::Status();
  }

 private:
  static void Update(T* __restrict var, T* __restrict accum, const T* __restrict gradient,
                     T learning_rate, int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      accum[i] += gradient[i] * gradient[i];
      var[i] -= learning_rate * gradient[i] / std::sqrt(accum[i]);
    }
  }
  static void UpdateVariableOnly(T* __restrict var, const T* __restrict accum,
                                 const T* __restrict gradient, T learning_rate, int64_t begin,
                                 int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      var[i] -= learning_rate * gradient[i] / std::sqrt(accum[i]);
    }
  }

  bool update_slots_ = true;
};

const ms::Registered registered =
    ms::RegisterForTypes<ResourceApplyAdagrad, float, double>("ResourceApplyAdagrad", "T");

}  // namespace
}  // namespace millstream::kernels
