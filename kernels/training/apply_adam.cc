// ResourceApplyAdam (Kingma, Ba, ICLR 2015, the form before section 2.1), and with use_nesterov
// NAdam's step (Dozat 2016):
//   rate = lr * sqrt(1 - beta2_power) / (1 - beta1_power)
//   m += (1 - beta1) * (grad - m)
//   v += (1 - beta2) * (grad^2 - v)
//   var -= rate * m / (sqrt(v) + epsilon)                                           plain
//   var -= rate * (beta1 * m + (1 - beta1) * grad) / (sqrt(v) + epsilon)            use_nesterov
#include <cmath>
#include <cstdint>

#include "framework/plugin/plugin.hpp"
#include "kernels/training/variables.h"

namespace millstream::kernels {
namespace {

// Inputs: var, m and v (variables), beta1_power, beta2_power, lr, beta1, beta2, epsilon, grad.
// Attribute: use_nesterov.
template <typename T>
class ResourceApplyAdam {
  using Number = ComputeTypeOf<T>;

 public:
  ms::Status Init(const ms::KernelInfo& info) { return info.Attr("use_nesterov", &use_nesterov_); }

  ms::Status Compute(ms::Frame& frame) const {
    Rates rates{};
    MS_TRY(ReadRates(frame, &rates));
    const ms::View grad = frame.input(9);
    ms::VariableLocks locks;
    MS_TRY(
        frame.LockVariables({{0, MS_LOCK_WRITE}, {1, MS_LOCK_WRITE}, {2, MS_LOCK_WRITE}}, &locks));
    ms::View variable;
    ms::View first;
    ms::View second;
    MS_TRY(locks.Write(0, &variable));
    MS_TRY(locks.Write(1, &first));
    MS_TRY(locks.Write(2, &second));
    MS_TRY(CheckSameShape("var", variable, "m", first));
    MS_TRY(CheckSameShape("var", variable, "v", second));
    MS_TRY(CheckSameShape("var", variable, "grad", grad));

    T* const var = variable.data<T>();
    T* const m = first.data<T>();
    T* const v = second.data<T>();
    const T* const gradient = grad.data<T>();
    const auto update = use_nesterov_ ? Update<true> : Update<false>;
    UpdateElements<T>(frame, variable.size(), 8, [=](int64_t begin, int64_t end) {
      update(var, m, v, gradient, rates, begin, end);
    });
    return ms::Status();
  }

 private:
  struct Rates {
    Number learning;  // corrected for the moments' start at zero
    Number beta1;
    Number beta2;
    Number epsilon;
  };

  static ms::Status ReadRates(const ms::Frame& frame, Rates* rates) {
    Number beta1_power{};
    Number beta2_power{};
    Number learning_rate{};
    MS_TRY(ReadScalar<T>(frame.input(3), "beta1_power", &beta1_power));
    MS_TRY(ReadScalar<T>(frame.input(4), "beta2_power", &beta2_power));
    MS_TRY(ReadScalar<T>(frame.input(5), "lr", &learning_rate));
    MS_TRY(ReadScalar<T>(frame.input(6), "beta1", &rates->beta1));
    MS_TRY(ReadScalar<T>(frame.input(7), "beta2", &rates->beta2));
    MS_TRY(ReadScalar<T>(frame.input(8), "epsilon", &rates->epsilon));
    const Number one = 1;
    rates->learning = learning_rate * std::sqrt(one - beta2_power) / (one - beta1_power);
    return ms::Status();
  }

  template <bool kNesterov>
  static void Update(T* __restrict var, T* __restrict m, T* __restrict v,
                     const T* __restrict gradient, Rates rates, int64_t begin, int64_t end) {
    const Number rest1 = Number(1) - rates.beta1;
    const Number rest2 = Number(1) - rates.beta2;
    for (int64_t i = begin; i < end; ++i) {
      const Number g = gradient[i];
      const Number mean = m[i] + (g - m[i]) * rest1;
      const Number square = v[i] + (g * g - v[i]) * rest2;
      m[i] = T(mean);
      v[i] = T(square);
      const Number direction = kNesterov ? mean * rates.beta1 + g * rest1 : mean;
      var[i] = T(var[i] - rates.learning * direction / (std::sqrt(square) + rates.epsilon));
    }
  }

  bool use_nesterov_ = false;
};

const ms::Registered registered = RegisterStep<ResourceApplyAdam>("ResourceApplyAdam");

}  // namespace
}  // namespace millstream::kernels
