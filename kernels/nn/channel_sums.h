// The passes over images that batch normalization consists of. Each pass reads the images once from
// memory. Each channel has its own sums and coefficients.
//
// Sums have two levels: a block of 16 KiB is summed in the type of the elements, and the sums of
// blocks are added in double. So the error does not grow with the number of elements. A block is in
// the innermost cache when its variance is computed in a second pass, around the block's own mean.
// A sum of squares around zero, or around a guess of the mean, loses all its digits where the guess
// is far off. The moments of blocks are combined by the formulas of Chan, Golub and LeVeque
// ("Algorithms for computing the sample variance", 1983).
#ifndef MILLSTREAM_KERNELS_NN_CHANNEL_SUMS_H_
#define MILLSTREAM_KERNELS_NN_CHANNEL_SUMS_H_

#include "framework/plugin/plugin.hpp"
#include "kernels/nn/channel_cuts.h"

namespace millstream::kernels {

// The count of some numbers, their mean, and the sum of their squared distances to it.
struct Moments {
  double count = 0;
  double mean = 0;
  double squares = 0;
};

// Sets moments[c] for each channel c.
ms::Status ChannelMoments(ms::Frame& frame, const ChannelCuts& cuts, const float* x,
                          Moments* moments);

// What follows the normalization in the same pass. The functions below are for T = float and
// double without one, and for float with kRelu.
enum class Activation { kNone, kRelu };

// y = (x - mean) * factor + offset, or Relu of that; y may be x. `coefficients` has mean, factor
// and offset, each for all channels.
template <Activation kActivation, typename T>
ms::Status Normalize(ms::Frame& frame, const ChannelCuts& cuts, const T* x, const T* coefficients,
                     T* y);

// Sums of dy, or with kRelu of what ReluGrad gives for dy and y, and of its products with x - mean.
struct GradientSums {
  double dy = 0;
  double dy_distance = 0;
};

// Sets sums[c] for each channel c. `coefficients` has mean, and with kRelu factor and offset too.
template <Activation kActivation, typename T>
ms::Status ChannelGradientSums(ms::Frame& frame, const ChannelCuts& cuts, const T* dy, const T* x,
                               const T* coefficients, GradientSums* sums);

// dx = (dy - dy_mean) * factor + (x - mean) * slope, of the dy that GradientSums is of; dx may be
// dy or x. `coefficients` has mean, factor, offset, dy_mean and slope, each for all channels.
template <Activation kActivation, typename T>
ms::Status NormalizeGradient(ms::Frame& frame, const ChannelCuts& cuts, const T* dy, const T* x,
                             const T* coefficients, T* dx);

}  // namespace millstream::kernels

#endif  // MILLSTREAM_KERNELS_NN_CHANNEL_SUMS_H_
