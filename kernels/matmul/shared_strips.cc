// _WeightStrips and _StripMatMul: several products with a matrix that is arranged once for all of
// them. The bits of a product do not depend on how it is cut (window_product.h).
#include <cstdint>

#include "framework/plugin/plugin.hpp"
#include "kernels/common/parallel.h"
#include "kernels/matmul/strip_blocks.h"
#include "kernels/matmul/window_product.h"
#include "kernels/simd/instruction_set.h"

namespace millstream::kernels {
namespace {

// Inputs: b.
class WeightStrips {
 public:
  ms::Status Init(const ms::KernelInfo& info) {
    MS_TRY(info.Attr("first_row", &first_));
    MS_TRY(info.Attr("num_rows", &rows_));
    return info.Attr("transpose_b", &transpose_);
  }

  ms::Status Compute(ms::Frame& frame) const {
    const ms::View b = frame.input(0);
    if (b.rank() != 2 || first_ > b.dim(0) || rows_ > b.dim(0) - first_) {
      return ms::InvalidArgument("b must be a matrix with rows ", first_, " to ", first_ + rows_,
                                 ", its shape is ", b.shape().ToString());
    }
    const int64_t width = b.dim(1);
    const int64_t depth = transpose_ ? width : rows_;
    const int64_t columns = transpose_ ? rows_ : width;
    ms::View output;
    MS_TRY(frame.Output(0, ms::Shape{StripsOf(columns), depth, kStripColumns}, &output));
    if (output.size() == 0) return ms::Status();
    const StridedMatrix matrix{b.data<float>() + first_ * width, transpose_ ? 1 : width,
                               transpose_ ? width : 1};
    auto* const strips = output.data<float>();
    return ParallelRows(frame, StripsOf(columns), depth * kStripColumns, kPicoseconds,
                        [&](int64_t begin, int64_t end) {
                          ArrangeStrips(matrix, depth, columns, begin, end, strips);
                        });
  }

 private:
  static constexpr int64_t kPicoseconds = 250;  // see ParallelElements

  int64_t first_ = 0;
  int64_t rows_ = 0;
  bool transpose_ = false;
};

// Inputs: a, strips, addends.
class StripMatMul {
 public:
  ms::Status Init(const ms::KernelInfo& info) { return info.Attr("num_columns", &columns_); }

  ms::Status Compute(ms::Frame& frame) const {
    MS_TRY(Check(frame));
    const int64_t rows = frame.input(0).dim(0);
    ms::View output;
    MS_TRY(frame.Output(0, ms::Shape{rows, columns_}, &output));
    if (output.size() == 0) return ms::Status();
    return ForEachStripBlock(frame, rows, frame.input(0).dim(1), columns_,
                             [&](const StripBlock& block) { Multiply(frame, block, output); });
  }

 private:
  ms::Status Check(const ms::Frame& frame) const {
    const ms::Shape a = frame.input(0).shape();
    const ms::Shape strips = frame.input(1).shape();
    if (a.rank() != 2 || strips.rank() != 3 || strips[0] != StripsOf(columns_) ||
        strips[1] != a[1] || strips[2] != kStripColumns) {
      return ms::InvalidArgument("a must be a matrix, and strips those of a matrix of ", columns_,
                                 " columns that it is multiplied with, their shapes are ",
                                 a.ToString(), " and ", strips.ToString());
    }
    for (uint32_t i = 2; i < frame.num_inputs(); ++i) {
      const ms::Shape addend = frame.input(i).shape();
      if (addend == ms::Shape{columns_} || addend == ms::Shape{a[0], columns_}) continue;
      return ms::InvalidArgument("addends must go with a product of shape [", a[0], ",", columns_,
                                 "], one has shape ", addend.ToString());
    }
    return ms::Status();
  }

  static void Add(const float* addend, int64_t columns, float* elements) {
#pragma GCC ivdep
    for (int64_t j = 0; j < columns; ++j) elements[j] += addend[j];
  }

  // One block, which is finished while it is in a cache.
  void Multiply(const ms::Frame& frame, const StripBlock& block, const ms::View& output) const {
    const ms::View a = frame.input(0);
    const int64_t depth = a.dim(1);
    float* const first = output.data<float>() + block.row * columns_ + block.column;
    MultiplyStrips({a.data<float>() + block.row * depth, depth, block.rows,
                    frame.input(1).data<float>() + block.column * depth, depth, block.columns,
                    first, columns_});
    for (uint32_t i = 2; i < frame.num_inputs(); ++i) {
      const ms::View addend = frame.input(i);
      const int64_t step = addend.rank() == 1 ? 0 : columns_;
      const float* const addends = addend.data<float>() + block.row * step + block.column;
      for (int64_t k = 0; k < block.rows; ++k) {
        RunLoop<&Add>(addends + k * step, block.columns, first + k * columns_);
      }
    }
  }

  int64_t columns_ = 0;
};

const ms::Registered weight_strips =
    ms::Register<WeightStrips>("_WeightStrips", ms::KernelOptions().Type<float>("T"));
const ms::Registered strip_mat_mul =
    ms::Register<StripMatMul>("_StripMatMul", ms::KernelOptions().Type<float>("T"));

}  // namespace
}  // namespace millstream::kernels
