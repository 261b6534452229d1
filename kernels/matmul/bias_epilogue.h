// What follows a product in the fused kernels: a bias, perhaps another tensor that is added, and
// perhaps an activation. It is done in one pass over the product, or by the product's own loops.
// The bits are those of the separate ops. (oneDNN could do it inside its own loops, but its Relu
// turns a NaN into a zero.)
#ifndef MILLSTREAM_KERNELS_MATMUL_BIAS_EPILOGUE_H_
#define MILLSTREAM_KERNELS_MATMUL_BIAS_EPILOGUE_H_

#include <cstdint>
#include <string>
#include <vector>

#include "framework/plugin/plugin.hpp"
#include "kernels/common/parallel.h"
#include "kernels/matmul/window_product.h"
#include "kernels/simd/instruction_set.h"

namespace millstream::kernels {

// Immutable after Init.
class BiasEpilogue {
 public:
  // Reads the attribute fused_ops.
  ms::Status Init(const ms::KernelInfo& info) {
    std::vector<std::string> ops;
    MS_TRY(info.Attr("fused_ops", &ops));
    size_t known = 0;
    const auto next_is = [&](const char* name) {
      if (known == ops.size() || ops[known] != name) return false;
      ++known;
      return true;
    };
    const bool has_bias = next_is("BiasAdd");
    adds_ = next_is("Add");
    if (next_is("Relu")) {
      limits_.least = 0;
    } else if (next_is("Relu6")) {
      limits_.least = 0;
      limits_.most = 6;
    }
    if (has_bias && known == ops.size()) return ms::Status();
    return ms::InvalidArgument(
        info.op(),
        ": attribute fused_ops must be BiasAdd, with or without Add and with "
        "or without Relu or Relu6 after it");
  }

  // Finds the operands, input 2 and perhaps input 3. REQUIRES: output 0 is there.
  ms::Status Find(const ms::Frame& frame, ProductEpilogue* epilogue) const {
    *epilogue = limits_;
    const ms::View output(frame.raw()->outputs[0]);
    const ms::View bias = frame.input(kBias);
    const int64_t columns = ColumnsOf(output);
    if (bias.rank() != 1 || bias.dim(0) != columns) {
      return ms::InvalidArgument("the bias must be a vector of ", columns, ", its shape is ",
                                 bias.shape().ToString());
    }
    epilogue->bias = bias.data<float>();
    if (!adds_) return ms::Status();
    const ms::View added = frame.input(kAdded);
    if (added.shape() != output.shape()) {
      return ms::InvalidArgument("what is added must have the shape ", output.shape().ToString(),
                                 " of the product, not ", added.shape().ToString());
    }
    epilogue->added = added.data<float>();
    return ms::Status();
  }

  // Changes output 0, which the kernel has written.
  ms::Status Run(ms::Frame& frame) const {
    ProductEpilogue epilogue;
    MS_TRY(Find(frame, &epilogue));
    const ms::View output(frame.raw()->outputs[0]);
    const int64_t columns = ColumnsOf(output);
    if (output.size() == 0) return ms::Status();
    float* const values = output.data<float>();
    return ParallelRows(
        frame, output.size() / columns, columns, kPicoseconds,
        [&](int64_t begin, int64_t end) { Apply(epilogue, begin, end, columns, values); });
  }

  // What follows but for its operands.
  const ProductEpilogue& limits() const { return limits_; }
  // Whether another tensor is added besides the bias.
  bool adds() const { return adds_; }

  // Writes rows of a product with what follows to rows that are `step` elements apart. REQUIRES:
  // the epilogue has a bias and adds nothing else.
  static void Write(const ProductEpilogue& epilogue, const float* product, int64_t rows,
                    int64_t columns, float* output, int64_t step) {
    RunLoop<&WriteRows>(epilogue, product, rows, columns, output, step);
  }

  // Changes the rows [begin, end) of a product.
  static void Apply(const ProductEpilogue& epilogue, int64_t begin, int64_t end, int64_t columns,
                    float* values) {
    if (epilogue.added == nullptr) {
      RunLoop<&AddBias>(epilogue, begin, end, columns, values);
    } else {
      RunLoop<&AddBoth>(epilogue, begin, end, columns, values);
    }
  }

 private:
  static constexpr uint32_t kBias = 2;
  static constexpr uint32_t kAdded = 3;
  static constexpr int64_t kPicoseconds = 250;  // see ParallelElements

  static int64_t ColumnsOf(const ms::View& output) {
    return output.rank() == 0 ? 0 : output.dim(output.rank() - 1);
  }

  // A NaN stays one.
  static float Limit(const ProductEpilogue& epilogue, float sum) {
    const float value = sum <= epilogue.least ? epilogue.least : sum;
    return value > epilogue.most ? epilogue.most : value;
  }
  static void AddBias(const ProductEpilogue& epilogue, int64_t begin, int64_t end, int64_t columns,
                      float* values) {
    const ProductEpilogue e = epilogue;
    for (int64_t row = begin; row < end; ++row) {
      float* const elements = values + row * columns;
#pragma GCC ivdep
      for (int64_t i = 0; i < columns; ++i) elements[i] = Limit(e, elements[i] + e.bias[i]);
    }
  }
  static void WriteRows(const ProductEpilogue& epilogue, const float* product, int64_t rows,
                        int64_t columns, float* output, int64_t step) {
    const ProductEpilogue e = epilogue;
    for (int64_t row = 0; row < rows; ++row) {
      const float* const from = product + row * columns;
      float* const to = output + row * step;
#pragma GCC ivdep
      for (int64_t i = 0; i < columns; ++i) to[i] = Limit(e, from[i] + e.bias[i]);
    }
  }
  static void AddBoth(const ProductEpilogue& epilogue, int64_t begin, int64_t end, int64_t columns,
                      float* values) {
    const ProductEpilogue e = epilogue;
    for (int64_t row = begin; row < end; ++row) {
      float* const elements = values + row * columns;
      const float* const added = e.added + row * columns;
#pragma GCC ivdep
      for (int64_t i = 0; i < columns; ++i) {
        elements[i] = Limit(e, elements[i] + e.bias[i] + added[i]);
      }
    }
  }

  ProductEpilogue limits_;  // without operands
  bool adds_ = false;
};

}  // namespace millstream::kernels

#endif  // MILLSTREAM_KERNELS_MATMUL_BIAS_EPILOGUE_H_
