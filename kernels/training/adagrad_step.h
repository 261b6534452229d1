// The step of ResourceApplyAdagrad and its sparse form (Duchi, Hazan, Singer, JMLR 2011):
//   accum += grad^2                    (left alone without update_slots)
//   var -= lr * grad / sqrt(accum)
#ifndef MILLSTREAM_KERNELS_TRAINING_ADAGRAD_STEP_H_
#define MILLSTREAM_KERNELS_TRAINING_ADAGRAD_STEP_H_

#include <cmath>
#include <complex>
#include <cstdint>

#include "kernels/common/narrow_float.h"

namespace millstream::kernels {

template <typename T>
struct AdagradStep {
  using Number = ComputeTypeOf<T>;

  Number learning;

  // On `count` elements; the arrays do not overlap.
  void Run(T* __restrict var, T* __restrict accum, const T* __restrict gradient,
           int64_t count) const {
    for (int64_t i = 0; i < count; ++i) {
      const Number g = gradient[i];
      const Number sum = accum[i] + g * g;
      accum[i] = T(sum);
      var[i] = T(var[i] - learning * g / std::sqrt(sum));
    }
  }
  void RunOnVariableAlone(T* __restrict var, const T* __restrict accum,
                          const T* __restrict gradient, int64_t count) const {
    for (int64_t i = 0; i < count; ++i) {
      var[i] = T(var[i] - learning * gradient[i] / std::sqrt(Number(accum[i])));
    }
  }
};

}  // namespace millstream::kernels

#endif  // MILLSTREAM_KERNELS_TRAINING_ADAGRAD_STEP_H_
