// The shapes of a step's inputs, told as a Specialization tells them.
#ifndef MILLSTREAM_KERNELS_COMMON_INPUT_SHAPES_H_
#define MILLSTREAM_KERNELS_COMMON_INPUT_SHAPES_H_

#include <cstdint>

#include "framework/plugin/plugin.hpp"

namespace millstream::kernels {

// So a kernel has one function for what follows from shapes, whether they are known before the step
// or not. REQUIRES: `frame` outlives the object.
struct InputShapes {
  const ms::Frame& frame;

  uint32_t num_inputs() const { return frame.num_inputs(); }
  ms::Shape input(uint32_t i) const { return frame.input(i).shape(); }
};

}  // namespace millstream::kernels

#endif  // MILLSTREAM_KERNELS_COMMON_INPUT_SHAPES_H_
