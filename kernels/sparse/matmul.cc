// SparseTensorDenseMatMul.
#include <complex>
#include <cstdint>
#include <cstring>

#include "framework/plugin/plugin.hpp"
#include "kernels/array/indices.h"
#include "kernels/common/narrow_float.h"
#include "kernels/common/parallel.h"
#include "kernels/common/wide_tensors.h"
#include "kernels/common/wrapping.h"

namespace millstream::kernels {
namespace {

template <typename T>
T Conjugate(T x) {
  return x;
}
template <typename Real>
std::complex<Real> Conjugate(std::complex<Real> x) {
  return std::conj(x);
}

// Inputs: a sparse matrix a, whose elements may come in any order, and a dense matrix b. Each is
// replaced by its adjoint first where an attribute says so.
template <typename T>
class SparseTensorDenseMatMul {
 public:
  ms::Status Init(const ms::KernelInfo& info) {
    MS_TRY(info.Attr("adjoint_a", &adjoint_a_));
    return info.Attr("adjoint_b", &adjoint_b_);
  }

  ms::Status Compute(ms::Frame& frame) const {
    const ms::View indices = frame.input(0);
    const ms::View values = frame.input(1);
    const ms::View b = frame.input(3);
    ms::Shape shape;
    MS_TRY(ReadIndexVector(frame.input(2), "a_shape", &shape));
    MS_TRY(CheckShapes(indices, values, shape, b));
    ms::View product;
    MS_TRY(
        frame.Output(0, ms::Shape{shape[adjoint_a_ ? 1 : 0], b.dim(adjoint_b_ ? 0 : 1)}, &product));
    for (int64_t i = 0; i < indices.size(); ++i) {
      const int64_t index = IndexAt(indices, i);
      const int64_t size = shape[static_cast<uint32_t>(i % 2)];
      if (index < 0 || index >= size) return NotInRange("a_indices", indices, i, size);
    }
    return Multiply(frame, indices, values, b, product);
  }

 private:
  using Number = ComputeTypeOf<T>;

  ms::Status CheckShapes(const ms::View& indices, const ms::View& values, const ms::Shape& shape,
                         const ms::View& b) const {
    if (shape.rank() != 2 || shape[0] < 0 || shape[1] < 0) {
      return ms::InvalidArgument("a_shape must have two elements, which are not negative, but is ",
                                 shape.ToString());
    }
    if (indices.rank() != 2 || indices.dim(1) != 2) {
      return ms::InvalidArgument("a_indices must be a matrix of 2 columns, but has shape ",
                                 indices.shape().ToString());
    }
    if (values.rank() != 1 || values.dim(0) != indices.dim(0)) {
      return ms::InvalidArgument("a_values must be a vector of ", indices.dim(0),
                                 " elements, but has shape ", values.shape().ToString());
    }
    if (b.rank() != 2) {
      return ms::InvalidArgument("b must be a matrix, but has shape ", b.shape().ToString());
    }
    const int64_t inner = shape[adjoint_a_ ? 0 : 1];
    if (b.dim(adjoint_b_ ? 1 : 0) == inner) return ms::Status();
    return ms::InvalidArgument(
        "Cannot multiply A and B because inner dimension does not match: ", "a_shape is ",
        shape.ToString(), ", b has shape ", b.shape().ToString());
  }

  // Columns of the product are cut among threads, so that each element is summed in one order.
  ms::Status Multiply(ms::Frame& frame, const ms::View& indices, const ms::View& values,
                      const ms::View& b, const ms::View& product) const {
    WideOutput<T> sums;
    MS_TRY(sums.Init(frame, product));
    Number* const to = sums.data();
    const int64_t rows = product.dim(0);
    const int64_t columns = product.dim(1);
    if (rows * columns == 0) return ms::Status();
    const int64_t row_step = adjoint_b_ ? 1 : columns;
    const int64_t column_step = adjoint_b_ ? b.dim(1) : 1;
    constexpr int64_t kPicoseconds = 1000;
    MS_TRY(ParallelRows(frame, columns, values.dim(0) + rows, kPicoseconds,
                        [&](int64_t begin, int64_t end) {
                          for (int64_t i = 0; i < rows; ++i) {
                            for (int64_t j = begin; j < end; ++j) to[i * columns + j] = Number(0);
                          }
                          for (int64_t k = 0; k < values.dim(0); ++k) {
                            const int64_t i = IndexAt(indices, 2 * k + (adjoint_a_ ? 1 : 0));
                            const int64_t inner = IndexAt(indices, 2 * k + (adjoint_a_ ? 0 : 1));
                            Number factor = static_cast<Number>(values.data<T>()[k]);
                            if (adjoint_a_) factor = Conjugate(factor);
                            const T* const row = b.data<T>() + inner * row_step;
                            Number* const sum = to + i * columns;
                            for (int64_t j = begin; j < end; ++j) {
                              Number element = static_cast<Number>(row[j * column_step]);
                              if (adjoint_b_) element = Conjugate(element);
                              sum[j] = WrappingSum(sum[j], WrappingProduct(factor, element));
                            }
                          }
                        }));
    return sums.Finish(frame);
  }

  bool adjoint_a_ = false;
  bool adjoint_b_ = false;
};

const ms::Registered matmul =
    ms::RegisterForTypes<SparseTensorDenseMatMul, float, double, Float16, BFloat16, int32_t,
                         std::complex<float>, std::complex<double>>(
        "SparseTensorDenseMatMul", "T",
        ms::KernelOptions().Types("Tindices", IndexTypes()).HostArg("a_shape"));

}  // namespace
}  // namespace millstream::kernels
