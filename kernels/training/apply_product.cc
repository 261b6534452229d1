// _MatMulApplyGradientDescent: var -= alpha * transpose(a) * b. The gradient, as large as the
// variable, is never in memory: a tile of it is used up as soon as it is there.
#include <algorithm>
#include <cstdint>

#include "framework/plugin/plugin.hpp"
#include "kernels/matmul/product_tile.h"
#include "kernels/simd/instruction_set.h"
#include "kernels/training/variables.h"

namespace millstream::kernels {
namespace {

// Inputs: var (a variable), alpha, a, b.
class MatMulApplyGradientDescent {
 public:
  ms::Status Compute(ms::Frame& frame) const {
    MS_TRY(CheckScalar(frame.input(1), "alpha"));
    const float alpha = *frame.input(1).data<float>();
    const ms::View a = frame.input(2);
    const ms::View b = frame.input(3);
    if (a.rank() != 2 || b.rank() != 2 || a.dim(0) != b.dim(0)) {
      return ms::InvalidArgument("a and b must be matrices with equally many rows, but are ",
                                 a.shape().ToString(), " and ", b.shape().ToString());
    }
    ms::VariableLocks locks;
    MS_TRY(frame.LockVariables({{0, MS_LOCK_WRITE}}, &locks));
    ms::View variable;
    MS_TRY(locks.Write(0, &variable));
    const ms::Shape product = {a.dim(1), b.dim(1)};
    if (variable.shape() != product) {
      return ms::InvalidArgument("var must have the product's shape ", product.ToString(),
                                 ", but has shape ", variable.shape().ToString());
    }
    Step(frame, {a.data<float>(), a.dim(1), b.data<float>(), b.dim(1), a.dim(0)}, alpha,
         variable.data<float>());
    return ms::Status();
  }

 private:
  static void Step(ms::Frame& frame, const ProductOperands& operands, float alpha, float* var) {
    const int64_t rows = operands.a_step;
    const int64_t blocks = (rows + kProductTileRows - 1) / kProductTileRows;
    // A read and a write of the variable, and the products at about 25 a nanosecond.
    const int64_t cost_ns =
        kProductTileRows * operands.b_step * (25 + 8 * operands.depth) / 200 + 1;
    frame.ParallelFor(blocks, static_cast<uint64_t>(cost_ns), [&](uint64_t begin, uint64_t end) {
      for (int64_t block = begin; block < static_cast<int64_t>(end); ++block) {
        const int64_t first = block * kProductTileRows;
        StepRows(operands, first, std::min(kProductTileRows, rows - first), alpha, var);
      }
    });
  }

  static void StepRows(ProductOperands operands, int64_t first, int64_t rows, float alpha,
                       float* var) {
    alignas(64) float tile[kProductTileRows * kProductTileColumns];
    const int64_t width = operands.b_step;
    operands.a += first;
    for (int64_t column = 0; column < width; column += kProductTileColumns) {
      const int64_t columns = std::min(kProductTileColumns, width - column);
      ComputeProductTile(operands, rows, columns, tile);
      operands.b += columns;
      RunLoop<&StepTile>(tile, rows, columns, alpha, width, var + first * width + column);
    }
  }

  static void StepTile(const float* tile, int64_t rows, int64_t columns, float alpha, int64_t width,
                       float* var) {
    for (int64_t i = 0; i < rows; ++i) {
      float* const __restrict to = var + i * width;
      const float* const __restrict gradient = tile + i * kProductTileColumns;
      for (int64_t j = 0; j < columns; ++j) to[j] = to[j] - alpha * gradient[j];
    }
  }
};

const ms::Registered registered = ms::Register<MatMulApplyGradientDescent>(
    "_MatMulApplyGradientDescent", ms::KernelOptions().Type<float>("T"));

}  // namespace
}  // namespace millstream::kernels
