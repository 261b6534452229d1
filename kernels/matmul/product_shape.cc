#include "kernels/matmul/product_shape.h"

namespace millstream::kernels {
namespace {

ms::Shape BatchDims(const ms::Shape& shape) { return ms::Shape(shape.begin(), shape.rank() - 2); }

// Completes shape->gemm from the last two dimensions. `word` is what transposed matrices are
// called.
ms::Status ResolveMatrices(const GemmShape& transposes, const ms::Shape& a, const char* a_name,
                           const ms::Shape& b, const char* b_name, const char* word,
                           ProductShape* shape) {
  const uint32_t a_row = a.rank() - 2;
  const uint32_t b_row = b.rank() - 2;
  const int64_t depth_a = a[a_row + (transposes.transpose_a ? 0 : 1)];
  const int64_t depth_b = b[b_row + (transposes.transpose_b ? 1 : 0)];
  if (depth_a != depth_b) {
    return ms::InvalidArgument("Matrix size-incompatible: ", a_name, " is ", a.ToString(),
                               transposes.transpose_a ? word : "", " and ", b_name, " is ",
                               b.ToString(), transposes.transpose_b ? word : "",
                               ", so the inner dimensions ", depth_a, " and ", depth_b, " differ");
  }
  shape->gemm = transposes;
  shape->gemm.m = a[a_row + (transposes.transpose_a ? 1 : 0)];
  shape->gemm.n = b[b_row + (transposes.transpose_b ? 0 : 1)];
  shape->gemm.k = depth_a;
  shape->a_size = a.num_elements();
  shape->b_size = b.num_elements();
  return ms::Status();
}

// Where all products share b, the rows of all matrices of a are the rows of one.
void JoinRows(ProductShape* shape) {
  const bool shared = shape->count > 1 && shape->b_size == shape->b_matrix() &&
                      shape->a_size == shape->count * shape->a_matrix();
  if (!shared || shape->gemm.transpose_a) return;
  shape->gemm.m *= shape->count;
  shape->count = 1;
}

}  // namespace

MatrixPair ProductShape::MatricesOf(int64_t product) const {
  MatrixPair pair;
  for (uint32_t d = batch.rank; d-- > 0;) {
    const int64_t index = product % batch.dims[d];
    product /= batch.dims[d];
    pair.a += index * batch.x_strides[d];
    pair.b += index * batch.y_strides[d];
  }
  return pair;
}

ms::Status ResolveMatMul(const GemmShape& transposes, const ms::Shape& a, const ms::Shape& b,
                         ProductShape* shape) {
  if (a.rank() != 2) return ms::InvalidArgument("a must be a matrix, but is ", a.ToString());
  if (b.rank() != 2) return ms::InvalidArgument("b must be a matrix, but is ", b.ToString());
  MS_TRY(ResolveMatrices(transposes, a, "a", b, "b", " (transposed)", shape));
  shape->count = 1;
  shape->output = {shape->gemm.m, shape->gemm.n};
  return PlanBroadcast({}, {}, &shape->batch);
}

ms::Status ResolveBatchMatMul(const GemmShape& transposes, bool broadcast, const ms::Shape& x,
                              const ms::Shape& y, ProductShape* shape) {
  if (x.rank() < 2) {
    return ms::InvalidArgument("x must have at least rank 2, but is ", x.ToString());
  }
  if (y.rank() < 2) {
    return ms::InvalidArgument("y must have at least rank 2, but is ", y.ToString());
  }
  MS_TRY(ResolveMatrices(transposes, x, "x", y, "y", " (adjoint)", shape));
  if (!broadcast && BatchDims(x) != BatchDims(y)) {
    return ms::InvalidArgument("x ", x.ToString(), " and y ", y.ToString(),
                               " must be equal in all but the last two dimensions");
  }
  if (!PlanBroadcast(BatchDims(x), BatchDims(y), &shape->batch).ok()) {
    return ms::InvalidArgument("x ", x.ToString(), " and y ", y.ToString(),
                               " must broadcast in all but the last two dimensions");
  }
  shape->output = shape->batch.output;
  shape->count = shape->output.num_elements();
  shape->output.Append(shape->gemm.m);
  shape->output.Append(shape->gemm.n);
  JoinRows(shape);
  return ms::Status();
}

}  // namespace millstream::kernels
