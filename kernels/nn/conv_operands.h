// The arguments of the three kinds of convolution op: forward (input, filter), and the gradients
// for the input (input_sizes, filter, out_backprop) and for the filter (input, filter_sizes,
// out_backprop).
#ifndef MILLSTREAM_KERNELS_NN_CONV_OPERANDS_H_
#define MILLSTREAM_KERNELS_NN_CONV_OPERANDS_H_

#include "framework/plugin/plugin.hpp"
#include "kernels/common/narrow_float.h"
#include "kernels/common/wide_tensors.h"
#include "kernels/nn/conv_shape.h"

namespace millstream::kernels {

// The shapes that a problem follows from, and the names of the arguments that have them.
struct ConvShapes {
  const char* input_name;
  const char* filter_name;
  ms::Shape input;
  ms::Shape filter;
  ms::Shape gradient;  // of the output; none for kForward
};

// When a plan is built and all shapes are known.
ConvShapes ShapesOf(ConvDirection direction, const ms::Specialization& spec);
// When the kernel runs. INVALID_ARGUMENT when sizes do not describe a tensor of `rank`.
ms::Status ShapesOf(ConvDirection direction, const ms::Frame& frame, uint32_t rank,
                    ConvShapes* shapes);

// The three tensors of a problem, whichever of them is computed, in the type of the computation.
template <typename Compute>
struct Operands {
  Compute* input;
  Compute* filter;
  Compute* output;
};

template <typename T, typename Compute = ComputeTypeOf<T>>
ms::Status FindOperands(ConvDirection direction, ms::Frame& frame, Compute* computed,
                        Operands<Compute>* operands) {
  *operands = {computed, computed, computed};
  if (direction != ConvDirection::kBackwardInput) {
    MS_TRY(WideInput<T>(frame, 0, &operands->input));
  }
  if (direction != ConvDirection::kBackwardFilter) {
    MS_TRY(WideInput<T>(frame, 1, &operands->filter));
  }
  if (direction != ConvDirection::kForward) {
    MS_TRY(WideInput<T>(frame, 2, &operands->output));
  }
  return ms::Status();
}

}  // namespace millstream::kernels

#endif  // MILLSTREAM_KERNELS_NN_CONV_OPERANDS_H_
