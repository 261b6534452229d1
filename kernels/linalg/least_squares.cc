// MatrixSolveLs and BatchMatrixSolveLs: solutions of least squares, by normal equations or by
// singular values (G. Golub, C. Van Loan: Matrix Computations, 4th edition, sections 5.3, 5.5).
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>

#include "framework/plugin/plugin.hpp"
#include "kernels/common/type_table.h"
#include "kernels/linalg/cholesky.h"
#include "kernels/linalg/matrices.h"
#include "kernels/linalg/reflector.h"
#include "kernels/linalg/svd.h"

namespace millstream::kernels {
namespace {

struct Sizes {
  int64_t rows;
  int64_t columns;
  int64_t of_right;  // columns of the right-hand sides
  int64_t least() const { return std::min(rows, columns); }
  int64_t most() const { return std::max(rows, columns); }
};

// result = A^H x for A of `rows` times `columns`, or A x if `adjoint` is false; x has `width`
// columns.
template <typename T>
void Multiply(const T* a, int64_t rows, int64_t columns, bool adjoint, const T* x, int64_t width,
              T* result) {
  std::fill(result, result + (adjoint ? columns : rows) * width, T(0));
  for (int64_t i = 0; i < rows; ++i) {
    for (int64_t j = 0; j < columns; ++j) {
      const T element = a[i * columns + j];
      if (adjoint) {
        SubtractMultiple(width, -Conjugate(element), x + i * width, result + j * width);
      } else {
        SubtractMultiple(width, -element, x + j * width, result + i * width);
      }
    }
  }
}

// Solves L L^H X = Y in place.
template <typename T>
void SolveFactored(int64_t n, const T* l, int64_t width, T* y) {
  for (int64_t i = 0; i < n; ++i) {
    T* const row = y + i * width;
    for (int64_t j = 0; j < i; ++j) SubtractMultiple(width, l[i * n + j], y + j * width, row);
    for (int64_t k = 0; k < width; ++k) row[k] /= RealPart(l[i * n + i]);
  }
  for (int64_t i = n - 1; i >= 0; --i) {
    T* const row = y + i * width;
    for (int64_t j = i + 1; j < n; ++j) {
      SubtractMultiple(width, Conjugate(l[j * n + i]), y + j * width, row);
    }
    for (int64_t k = 0; k < width; ++k) row[k] /= RealPart(l[i * n + i]);
  }
}

// By the normal equations, (A^H A + l2 I) X = A^H B, or X = A^H (A A^H + l2 I)^-1 B for a wide
// matrix. `adjoint` is A^H. `memory` has least^2 + columns * of_right elements.
template <typename T>
bool SolveNormal(const Sizes& sizes, double l2, const T* a, const T* adjoint, const T* b, T* result,
                 T* memory, Stop* stop) {
  const int64_t n = sizes.least();
  T* const gram = memory;
  const bool wide = sizes.rows < sizes.columns;
  // Without the upper triangle, which Cholesky's factors do not need.
  const T* const left = wide ? adjoint : a;
  Multiply(left, sizes.most(), n, true, left, n, gram);
  for (int64_t i = 0; i < n; ++i) gram[i * n + i] += l2;
  double largest = 0;
  for (int64_t i = 0; i < n; ++i) largest = std::max(largest, RealPart(gram[i * n + i]));
  if (!FactorCholesky(n, gram, stop)) return false;
  for (int64_t i = 0; i < n; ++i) {
    // Of a matrix without full rank rounding leaves such pivots.
    const double pivot = RealPart(gram[i * n + i]);
    const double allowed = largest * std::numeric_limits<double>::epsilon();
    if (pivot * pivot <= allowed * static_cast<double>(n)) return false;
  }
  if (wide) {
    T* const y = gram + n * n;
    std::copy(b, b + n * sizes.of_right, y);
    SolveFactored(n, gram, sizes.of_right, y);
    Multiply(a, sizes.rows, sizes.columns, true, y, sizes.of_right, result);
  } else {
    Multiply(a, sizes.rows, sizes.columns, true, b, sizes.of_right, result);
    SolveFactored(n, gram, sizes.of_right, result);
  }
  return true;
}

// X = V diag(1 / s) U^H B without the singular values below `tolerance` times the largest: the
// solution with the least norm.
template <typename T>
bool SolveBySvd(const Sizes& sizes, double tolerance, T* a, T* adjoint, const T* b, T* result,
                T* memory, Stop* stop) {
  const bool wide = sizes.rows < sizes.columns;
  const int64_t n = sizes.least();
  const SvdSizes of_svd = {sizes.most(), n, n};
  SvdResult<T> svd = {};
  if (!DecomposeSingular(of_svd, wide ? adjoint : a, memory, &svd, stop)) return false;
  const T* const u = wide ? svd.v : svd.u;
  const T* const v = wide ? svd.u : svd.v;
  T* const part = memory + of_svd.numbers<T>();
  std::fill(result, result + sizes.columns * sizes.of_right, T(0));
  for (int64_t i = 0; i < n && svd.values[i] > tolerance * svd.values[0]; ++i) {
    std::fill(part, part + sizes.of_right, T(0));
    for (int64_t j = 0; j < sizes.rows; ++j) {
      SubtractMultiple(sizes.of_right, -Conjugate(u[j * n + i]), b + j * sizes.of_right, part);
    }
    for (int64_t k = 0; k < sizes.of_right; ++k) part[k] /= svd.values[i];
    for (int64_t j = 0; j < sizes.columns; ++j) {
      SubtractMultiple(sizes.of_right, -v[j * n + i], part, result + j * sizes.of_right);
    }
  }
  return true;
}

// Inputs: matrices, right-hand sides of as many rows, and the weight of the solution's square.
class SolveLeastSquares {
 public:
  ms::Status Init(const ms::KernelInfo& info) {
    access_ = FindElementAccess(info.input_dtype(0));
    if (access_ == nullptr) return NoLoopFor(info.input_dtype(0));
    epsilon_ = EpsilonOf(info.input_dtype(0));
    return info.Attr("fast", &fast_);
  }

  ms::Status Compute(ms::Frame& frame) const {
    const ms::View matrix = frame.input(0);
    const ms::View right = frame.input(1);
    const ms::View l2 = frame.input(2);
    MS_TRY(CheckInputs(matrix, right, l2));
    const uint32_t rank = matrix.rank();
    const Sizes sizes = {matrix.dim(rank - 2), matrix.dim(rank - 1), right.dim(rank - 1)};
    ms::Shape shape = right.shape();
    shape[rank - 2] = sizes.columns;
    ms::View output;
    MS_TRY(frame.Output(0, shape, &output));
    if (output.size() == 0) return ms::Status();
    const int64_t count = ms::Shape(matrix.shape().begin(), rank - 2).num_elements();
    const double weight = *l2.data<double>();
    return access_->is_complex ? Run<Complex>(frame, sizes, count, weight, output)
                               : Run<double>(frame, sizes, count, weight, output);
  }

 private:
  // Beside it rounding shows in the input.
  static double EpsilonOf(MS_DType dtype) {
    if (dtype == MS_FLOAT16) return 0x1p-10;
    if (dtype == MS_FLOAT32 || dtype == MS_COMPLEX64) return std::numeric_limits<float>::epsilon();
    return std::numeric_limits<double>::epsilon();
  }

  static ms::Status CheckInputs(const ms::View& matrix, const ms::View& right, const ms::View& l2) {
    const uint32_t rank = matrix.rank();
    if (rank < 2) {
      return ms::InvalidArgument("argument 'matrix' must be matrices, got the shape ",
                                 matrix.shape().ToString());
    }
    bool fits = right.rank() == rank;
    for (uint32_t d = 0; fits && d + 1 < rank; ++d) fits = right.dim(d) == matrix.dim(d);
    if (!fits) {
      return ms::InvalidArgument("Input matrix and rhs are incompatible: argument 'rhs' must have ",
                                 "the shape of 'matrix' ", matrix.shape().ToString(),
                                 " but for its last dimension, but has ", right.shape().ToString());
    }
    if (l2.rank() != 0) {
      return ms::InvalidArgument("l2_regularizer must be a scalar, but has the shape ",
                                 l2.shape().ToString());
    }
    if (*l2.data<double>() >= 0) return ms::Status();
    return ms::InvalidArgument("l2_regularizer must be >= 0, got ", *l2.data<double>());
  }

  template <typename T>
  ms::Status Run(ms::Frame& frame, const Sizes& sizes, int64_t count, double l2,
                 const ms::View& output) const {
    const ms::View matrix = frame.input(0);
    const ms::View right = frame.input(1);
    const int64_t elements = sizes.rows * sizes.columns;
    const int64_t of_right = sizes.rows * sizes.of_right;
    const int64_t of_result = sizes.columns * sizes.of_right;
    const SvdSizes of_svd = {sizes.most(), sizes.least(), sizes.least()};
    const int64_t work =
        fast_ ? sizes.least() * sizes.least() + of_right : of_svd.numbers<T>() + sizes.of_right;
    const int64_t numbers = 2 * elements + of_right + of_result + work;
    int64_t refused = 0;
    MS_TRY(ForEachMatrix(
        frame, count, numbers * static_cast<int64_t>(sizeof(T)),
        (fast_ ? 1.0 : 16.0) * static_cast<double>(elements + 10) *
            static_cast<double>(sizes.least() + sizes.of_right + 10),
        [&](int64_t i, char* memory, Stop* stop) {
          T* const a = reinterpret_cast<T*>(memory);
          T* const adjoint = a + elements;
          T* const b = adjoint + elements;
          T* const result = b + of_right;
          T* const more = result + of_result;
          access_->load(matrix.raw(), i * elements, sizes.rows, sizes.columns, false, a);
          access_->load(matrix.raw(), i * elements, sizes.rows, sizes.columns, true, adjoint);
          access_->load(right.raw(), i * of_right, sizes.rows, sizes.of_right, false, b);
          if (sizes.least() == 0) {
            std::fill(result, result + of_result, T(0));
          } else if (!(fast_ ? SolveNormal(sizes, l2, a, adjoint, b, result, more, stop)
                             : SolveBySvd(sizes, epsilon_ * static_cast<double>(sizes.least()), a,
                                          adjoint, b, result, more, stop))) {
            return false;
          }
          access_->store(result, of_result, output.raw(), i * of_result);
          return true;
        },
        &refused));
    if (refused == count) return ms::Status();
    if (!fast_) {
      return ms::InvalidArgument("matrix ", refused, " of argument 'matrix' is not finite");
    }
    return ms::InvalidArgument("Input matrix was rank deficient or ill-conditioned. Try setting ",
                               "fast=False or provide a larger l2_regularizer > 0: matrix ",
                               refused, " of argument 'matrix'");
  }

  const ElementAccess* access_ = nullptr;
  double epsilon_ = 0;
  bool fast_ = true;
};

const ms::Registered solve = ms::Register<SolveLeastSquares>(
    "MatrixSolveLs",
    ms::KernelOptions()
        .Types("T", {MS_FLOAT16, MS_FLOAT32, MS_FLOAT64, MS_COMPLEX64, MS_COMPLEX128})
        .HostArg("l2_regularizer"));
const ms::Registered batch_solve = ms::Register<SolveLeastSquares>(
    "BatchMatrixSolveLs",
    ms::KernelOptions().Types("T", {MS_FLOAT32, MS_FLOAT64}).HostArg("l2_regularizer"));

}  // namespace
}  // namespace millstream::kernels
