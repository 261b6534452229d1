// The bias, and optionally the Relu, after a product in the fused kernels, in one pass over the
// product. The bits are those of the separate ops. (oneDNN could do both inside its own loops, but
// its Relu turns a NaN into a zero.)
#ifndef MILLSTREAM_KERNELS_MATMUL_BIAS_EPILOGUE_H_
#define MILLSTREAM_KERNELS_MATMUL_BIAS_EPILOGUE_H_

#include <cstdint>
#include <string>
#include <vector>

#include "framework/plugin/plugin.hpp"
#include "kernels/common/parallel.h"
#include "kernels/simd/instruction_set.h"

namespace millstream::kernels {

// Immutable after Init.
class BiasEpilogue {
 public:
  // Reads the attribute fused_ops.
  ms::Status Init(const ms::KernelInfo& info) {
    std::vector<std::string> ops;
    MS_TRY(info.Attr("fused_ops", &ops));
    relu_ = ops.size() == 2 && ops[1] == "Relu";
    if (!ops.empty() && ops[0] == "BiasAdd" && (ops.size() == 1 || relu_)) return ms::Status();
    return ms::InvalidArgument(
        info.op(), ": attribute fused_ops must be BiasAdd, with or without Relu after it");
  }

  // Input 2, one number for each element of the last dimension, is added to output 0, which the
  // kernel has written.
  ms::Status Run(ms::Frame& frame) const {
    const ms::View output(frame.raw()->outputs[0]);
    const ms::View bias = frame.input(kBias);
    const int64_t columns = output.rank() == 0 ? 0 : output.dim(output.rank() - 1);
    if (bias.rank() != 1 || bias.dim(0) != columns) {
      return ms::InvalidArgument("the bias must be a vector of ", columns, ", its shape is ",
                                 bias.shape().ToString());
    }
    if (output.size() == 0) return ms::Status();
    const float* const addend = bias.data<float>();
    float* const values = output.data<float>();
    MS_TRY(ParallelRows(frame, output.size() / columns, columns, kPicoseconds,
                        [&](int64_t begin, int64_t end) {
                          for (int64_t row = begin; row < end; ++row) {
                            float* const elements = values + row * columns;
                            relu_ ? RunLoop<&AddAndClamp>(addend, columns, elements)
                                  : RunLoop<&Add>(addend, columns, elements);
                          }
                        }));
    return ms::Status();
  }

 private:
  static constexpr uint32_t kBias = 2;
  static constexpr int64_t kPicoseconds = 250;  // see ParallelElements

  static void Add(const float* bias, int64_t columns, float* elements) {
#pragma GCC ivdep
    for (int64_t i = 0; i < columns; ++i) elements[i] += bias[i];
  }
  // A NaN stays one.
  static void AddAndClamp(const float* bias, int64_t columns, float* elements) {
#pragma GCC ivdep
    for (int64_t i = 0; i < columns; ++i) {
      const float sum = elements[i] + bias[i];
      elements[i] = sum <= 0 ? 0.0f : sum;
    }
  }

  bool relu_ = false;
};

}  // namespace millstream::kernels

#endif  // MILLSTREAM_KERNELS_MATMUL_BIAS_EPILOGUE_H_
