// ResourceApplyMomentum (Polyak 1964), and its form after Nesterov (Sutskever et al., ICML 2013):
//   accum = momentum * accum + grad
//   var -= lr * accum                                    plain
//   var -= lr * grad + lr * momentum * accum             use_nesterov
#include <cstdint>

#include "framework/plugin/plugin.hpp"
#include "kernels/training/variables.h"

namespace millstream::kernels {
namespace {

// Inputs: var and accum (variables), lr, grad, momentum. Attribute: use_nesterov.
template <typename T>
class ResourceApplyMomentum {
 public:
  ms::Status Init(const ms::KernelInfo& info) { return info.Attr("use_nesterov", &use_nesterov_); }

  ms::Status Compute(ms::Frame& frame) const {
    Rates rates{};
    MS_TRY(ReadScalar(frame.input(2), "lr", &rates.learning));
    MS_TRY(ReadScalar(frame.input(4), "momentum", &rates.momentum));
    const ms::View grad = frame.input(3);
    ms::VariableLocks locks;
    MS_TRY(frame.LockVariables({{0, MS_LOCK_WRITE}, {1, MS_LOCK_WRITE}}, &locks));
    ms::View variable;
    ms::View accum;
    MS_TRY(locks.Write(0, &variable));
    MS_TRY(locks.Write(1, &accum));
    MS_TRY(CheckSameShape("var", variable, "accum", accum));
    MS_TRY(CheckSameShape("var", variable, "grad", grad));

    T* const var = variable.data<T>();
    T* const sum = accum.data<T>();
    const T* const gradient = grad.data<T>();
    const auto update = use_nesterov_ ? UpdateNesterov : UpdatePlain;
    UpdateElements<T>(frame, variable.size(), 5, [=](int64_t begin, int64_t end) {
      update(var, sum, gradient, rates, begin, end);
    });
    return ms::Status();
  }

 private:
  struct Rates {
    T learning;
    T momentum;
  };

  static void UpdatePlain(T* __restrict var, T* __restrict accum, const T* __restrict gradient,
                          Rates rates, int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      accum[i] = accum[i] * rates.momentum + gradient[i];
      var[i] -= rates.learning * accum[i];
    }
  }
  static void UpdateNesterov(T* __restrict var, T* __restrict accum, const T* __restrict gradient,
                             Rates rates, int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      accum[i] = accum[i] * rates.momentum + gradient[i];
      var[i] -= gradient[i] * rates.learning + accum[i] * rates.momentum * rates.learning;
    }
  }

  bool use_nesterov_ = false;
};

const ms::Registered registered =
    ms::RegisterForTypes<ResourceApplyMomentum, float, double>("ResourceApplyMomentum", "T");

}  // namespace
}  // namespace millstream::kernels
