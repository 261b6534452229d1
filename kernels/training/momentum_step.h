// The step of ResourceApplyMomentum and its sparse form (Polyak 1964), and its form after Nesterov
// (Sutskever et al., ICML 2013):
//   accum = momentum * accum + grad
//   var -= lr * accum                                    plain
//   var -= lr * grad + lr * momentum * accum             use_nesterov
#ifndef MILLSTREAM_KERNELS_TRAINING_MOMENTUM_STEP_H_
#define MILLSTREAM_KERNELS_TRAINING_MOMENTUM_STEP_H_

#include <cstdint>

#include "kernels/common/narrow_float.h"

namespace millstream::kernels {

template <typename T>
struct MomentumStep {
  using Number = ComputeTypeOf<T>;

  Number learning;
  Number momentum;

  // On `count` elements; the arrays do not overlap.
  template <bool kNesterov>
  void Run(T* __restrict var, T* __restrict accum, const T* __restrict gradient,
           int64_t count) const {
    for (int64_t i = 0; i < count; ++i) {
      const Number g = gradient[i];
      const Number sum = accum[i] * momentum + g;
      accum[i] = T(sum);
      if constexpr (kNesterov) {
        var[i] = T(var[i] - (g * learning + sum * momentum * learning));
      } else {
        var[i] = T(var[i] - learning * sum);
      }
    }
  }
};

}  // namespace millstream::kernels

#endif  // MILLSTREAM_KERNELS_TRAINING_MOMENTUM_STEP_H_
