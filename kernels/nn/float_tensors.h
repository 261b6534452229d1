// The tensors of a kernel that computes in float32, whatever floating-point type its node has.
#ifndef MILLSTREAM_KERNELS_NN_FLOAT_TENSORS_H_
#define MILLSTREAM_KERNELS_NN_FLOAT_TENSORS_H_

#include <array>
#include <cstddef>
#include <cstdint>

#include "framework/plugin/plugin.hpp"
#include "kernels/common/wide_tensors.h"

namespace millstream::kernels {

// An error, with the argument's name, unless an input has this shape.
inline ms::Status CheckShape(const ms::Frame& frame, uint32_t i, const char* name,
                             const ms::Shape& wanted) {
  const ms::Shape shape = frame.input(i).shape();
  if (shape == wanted) return ms::Status();
  return ms::InvalidArgument(name, " must have the shape ", wanted.ToString(), ", its shape is ",
                             shape.ToString());
}

template <typename T, size_t kInputs, size_t kOutputs>
class FloatTensors {
 public:
  // The inputs are those from `first` on, the outputs all of them, with these shapes.
  ms::Status Init(ms::Frame& frame, uint32_t first, const std::array<ms::Shape, kOutputs>& shapes) {
    for (size_t i = 0; i < kOutputs; ++i) {
      ms::View output;
      MS_TRY(frame.Output(static_cast<uint32_t>(i), shapes[i], &output));
      MS_TRY(outputs_[i].Init(frame, output));
      out[i] = outputs_[i].data();
    }
    for (size_t i = 0; i < kInputs; ++i) {
      MS_TRY(WideInput<T>(frame, first + static_cast<uint32_t>(i), &in[i]));
    }
    return ms::Status();
  }

  // Rounds what was written to the outputs.
  ms::Status Finish(ms::Frame& frame) const {
    for (const WideOutput<T>& output : outputs_) MS_TRY(output.Finish(frame));
    return ms::Status();
  }

  std::array<float*, kInputs> in;
  std::array<float*, kOutputs> out;

 private:
  std::array<WideOutput<T>, kOutputs> outputs_;
};

}  // namespace millstream::kernels

#endif  // MILLSTREAM_KERNELS_NN_FLOAT_TENSORS_H_
