// Cholesky, CholeskyGrad and their batch forms: A = L L^H with L lower triangular (G. Golub, C. Van
// Loan: Matrix Computations, 4th edition, section 4.2).
#include "kernels/linalg/cholesky.h"

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "framework/plugin/plugin.hpp"
#include "kernels/common/type_table.h"
#include "kernels/linalg/block_product.h"
#include "kernels/linalg/block_solve.h"
#include "kernels/linalg/matrices.h"

namespace millstream::kernels {
namespace {

constexpr int64_t kLargeMatrix = 128;
constexpr int64_t kPanel = kMostSolvedRows;  // rows that are done before those below see them
constexpr int64_t kStrip = 8;                // rows that are transposed at a time

// Calls fn(row, last) for strips of rows [row, last) of a matrix, by all threads.
template <typename Fn>
void ShareStrips(int64_t n, Stop* stop, const Fn& fn) {
  const double nanoseconds = static_cast<double>(n * kStrip) / 4;
  stop->Share((n + kStrip - 1) / kStrip, nanoseconds, [&](int64_t begin, int64_t end) {
    for (int64_t strip = begin; strip < end; ++strip) {
      fn(strip * kStrip, std::min(n, (strip + 1) * kStrip));
    }
  });
}

// Rows and columns [first, last) of U = L^H, from which what rows before them contribute has been
// subtracted. False if a pivot is not positive.
template <typename T>
bool FactorDiagonal(int64_t n, T* matrix, int64_t first, int64_t last) {
  for (int64_t k = first; k < last; ++k) {
    T* const row = matrix + k * n;
    const double pivot = RealPart(row[k]);
    if (!(pivot > 0) || std::isinf(pivot)) return false;
    const double root = std::sqrt(pivot);
    row[k] = T(root);
    for (int64_t j = k + 1; j < last; ++j) row[j] /= root;
    for (int64_t i = k + 1; i < last; ++i) {
      SubtractMultiple(last - i, Conjugate(row[i]), row + i, matrix + i * n + i);
    }
  }
  return true;
}

// Calls fn(begin, end) on ranges of columns that cover [first, n), by all threads.
template <typename Fn>
void ShareColumns(int64_t first, int64_t n, double nanoseconds, Stop* stop, const Fn& fn) {
  const int64_t units = (n - first + kProductColumns - 1) / kProductColumns;
  stop->Share(units, nanoseconds, [&](int64_t begin, int64_t end) {
    for (int64_t unit = begin; unit < end; ++unit) {
      const int64_t column = first + unit * kProductColumns;
      fn(column, std::min(n, column + kProductColumns));
    }
  });
}

// Rows [first, last) of U right of the diagonal, and what they subtract from the rows below.
template <typename T>
void EliminateRows(int64_t n, T* matrix, int64_t first, int64_t last, Stop* stop) {
  constexpr double kOfSolution = static_cast<double>(kPanel * kPanel * kProductColumns) / 16;
  const T* const rows = matrix + first * n;
  ShareColumns(last, n, kOfSolution, stop, [&](int64_t begin, int64_t end) {
    BlockSystem<T> system = {last - first, rows + first, 1, n, false, matrix + first * n, n};
    system.conjugate_a = true;
    SolveBlock(system, begin, end);
  });
  const double of_product = static_cast<double>((n - last) * kPanel * kProductColumns) / 16;
  ShareColumns(last, n, of_product, stop, [&](int64_t begin, int64_t end) {
    // Rows of the upper triangle that have elements in these columns.
    BlockProduct<T> product = {end - last,        n, last - first, rows + last, 1, n, rows, n,
                               matrix + last * n, n};
    product.conjugate_a = true;
    SubtractProduct(product, begin, end);
  });
}

// Replaces the upper triangle of A by U, where A = U^H U. The lower one is not read.
template <typename T>
bool FactorUpper(int64_t n, T* matrix, Stop* stop) {
  for (int64_t first = 0; first < n; first += kPanel) {
    if (first > 0 && (*stop)()) return true;
    const int64_t last = std::min(first + kPanel, n);
    if (!FactorDiagonal(n, matrix, first, last)) return false;
    if (last < n) EliminateRows(n, matrix, first, last, stop);
  }
  return true;
}

}  // namespace

template <typename T>
bool FactorCholesky(int64_t n, T* matrix, Stop* stop) {
  ShareStrips(n, stop, [&](int64_t first, int64_t last) {
    Transpose(last - first, first, matrix + first * n, n, matrix + first, n, /*conjugate=*/true);
    for (int64_t i = first; i < last; ++i) {
      for (int64_t j = first; j < i; ++j) matrix[j * n + i] = Conjugate(matrix[i * n + j]);
    }
  });
  if (!FactorUpper(n, matrix, stop)) return false;
  ShareStrips(n, stop, [&](int64_t first, int64_t last) {
    Transpose(first, last - first, matrix + first, n, matrix + first * n, n, /*conjugate=*/true);
    for (int64_t i = first; i < last; ++i) {
      for (int64_t j = first; j < i; ++j) matrix[i * n + j] = Conjugate(matrix[j * n + i]);
    }
    for (int64_t i = 0; i < last; ++i) {
      const int64_t right = std::max(first, i + 1);
      std::fill(matrix + i * n + right, matrix + i * n + last, T(0));
    }
  });
  return true;
}

template bool FactorCholesky<double>(int64_t n, double* matrix, Stop* stop);
template bool FactorCholesky<Complex>(int64_t n, Complex* matrix, Stop* stop);

namespace {

ms::Status CheckSquare(const char* name, const ms::View& input) {
  const uint32_t rank = input.rank();
  if (rank >= 2 && input.dim(rank - 1) == input.dim(rank - 2)) return ms::Status();
  return ms::InvalidArgument("argument '", name, "' must be square matrices, got the shape ",
                             input.shape().ToString());
}

class Cholesky {
 public:
  ms::Status Init(const ms::KernelInfo& info) {
    access_ = FindElementAccess(info.input_dtype(0));
    return access_ == nullptr ? NoLoopFor(info.input_dtype(0)) : ms::Status();
  }

  ms::Status Compute(ms::Frame& frame) const {
    const ms::View input = frame.input(0);
    MS_TRY(CheckSquare("input", input));
    ms::View output;
    MS_TRY(frame.Output(0, input.shape(), &output));
    if (output.size() == 0) return ms::Status();
    return access_->is_complex ? Run<Complex>(frame, input, output)
                               : Run<double>(frame, input, output);
  }

 private:
  template <typename T>
  ms::Status Run(ms::Frame& frame, const ms::View& input, const ms::View& output) const {
    const int64_t n = input.dim(input.rank() - 1);
    const int64_t count = input.size() / (n * n);
    int64_t refused = 0;
    MS_TRY(ForEachMatrix(
        frame, count, n * n * static_cast<int64_t>(sizeof(T)),
        static_cast<double>(n) * static_cast<double>(n) * static_cast<double>(n + 10) / 3,
        [&](int64_t i, char* memory, Stop* stop) {
          T* const matrix = reinterpret_cast<T*>(memory);
          access_->load(input.raw(), i * n * n, n, n, false, matrix);
          if (!FactorCholesky(n, matrix, stop)) return false;
          access_->store(matrix, n * n, output.raw(), i * n * n);
          return true;
        },
        &refused));
    if (refused == count) return ms::Status();
    return ms::InvalidArgument("Cholesky decomposition was not successful. The input might not be ",
                               "valid: matrix ", refused, " of argument 'input' is not positive ",
                               "definite");
  }

  const ElementAccess* access_ = nullptr;
};

// Inputs: L and the gradient by it. Output: the gradient by A (I. Murray: Differentiation of the
// Cholesky decomposition, 2016), L^-T (P + P^T) L^-1 / 2 with P the lower triangle of L^T dL, whose
// diagonal is halved.
class CholeskyGrad {
 public:
  ms::Status Init(const ms::KernelInfo& info) {
    access_ = FindElementAccess(info.input_dtype(0));
    return access_ == nullptr ? NoLoopFor(info.input_dtype(0)) : ms::Status();
  }

  ms::Status Compute(ms::Frame& frame) const {
    const ms::View l = frame.input(0);
    const ms::View gradient = frame.input(1);
    MS_TRY(CheckSquare("l", l));
    if (gradient.shape() != l.shape()) {
      return ms::InvalidArgument("grad must have the shape of l, ", l.shape().ToString(),
                                 ", but has ", gradient.shape().ToString());
    }
    ms::View output;
    MS_TRY(frame.Output(0, l.shape(), &output));
    if (output.size() == 0) return ms::Status();
    const int64_t n = l.dim(l.rank() - 1);
    int64_t refused = 0;
    return ForEachMatrix(
        frame, l.size() / (n * n), 3 * n * n * static_cast<int64_t>(sizeof(double)),
        2 * static_cast<double>(n) * static_cast<double>(n) * static_cast<double>(n + 10),
        [&](int64_t i, char* memory, Stop* stop) {
          double* const factor = reinterpret_cast<double*>(memory);
          double* const dl = factor + n * n;
          double* const result = dl + n * n;
          access_->load(l.raw(), i * n * n, n, n, false, factor);
          access_->load(gradient.raw(), i * n * n, n, n, false, dl);
          Backward(n, factor, dl, result, stop);
          access_->store(result, n * n, output.raw(), i * n * n);
          return true;
        },
        &refused);
  }

 private:
  static void Backward(int64_t n, const double* l, double* dl, double* s, Stop* stop) {
    // s = P + P^T, from rows of L and dL, which both are lower triangular.
    for (int64_t i = 0; i < n * n; ++i) s[i] = 0;
    for (int64_t k = 0; k < n; ++k) {
      if (n >= kLargeMatrix && (*stop)()) return;
      for (int64_t i = 0; i <= k; ++i) {
        SubtractMultiple(i + 1, -l[k * n + i], dl + k * n, s + i * n);
      }
    }
    for (int64_t i = 0; i < n; ++i) {
      for (int64_t j = 0; j < i; ++j) s[j * n + i] = s[i * n + j];
    }
    // X = L^-T s, then the same from the other side: dl = (L^-T X^T)^T is symmetric again.
    SolveTransposed(n, l, s, stop);
    for (int64_t i = 0; i < n; ++i) {
      for (int64_t j = 0; j < n; ++j) dl[i * n + j] = s[j * n + i];
    }
    SolveTransposed(n, l, dl, stop);
    for (int64_t i = 0; i < n * n; ++i) s[i] = dl[i] / 2;
  }

  // Solves L^T X = Y in place.
  static void SolveTransposed(int64_t n, const double* l, double* y, Stop* stop) {
    for (int64_t i = n - 1; i >= 0; --i) {
      if (n >= kLargeMatrix && (*stop)()) return;
      double* const row = y + i * n;
      for (int64_t j = i + 1; j < n; ++j) SubtractMultiple(n, l[j * n + i], y + j * n, row);
      for (int64_t k = 0; k < n; ++k) row[k] /= l[i * n + i];
    }
  }

  const ElementAccess* access_ = nullptr;
};

ms::KernelOptions All() {
  return ms::KernelOptions().Types(
      "T", {MS_FLOAT16, MS_FLOAT32, MS_FLOAT64, MS_COMPLEX64, MS_COMPLEX128});
}
ms::KernelOptions Real() { return ms::KernelOptions().Types("T", {MS_FLOAT32, MS_FLOAT64}); }

const ms::Registered cholesky = ms::Register<Cholesky>("Cholesky", All());
const ms::Registered batch_cholesky = ms::Register<Cholesky>("BatchCholesky", Real());
const ms::Registered cholesky_grad = ms::Register<CholeskyGrad>(
    "CholeskyGrad", ms::KernelOptions().Types("T", {MS_FLOAT16, MS_FLOAT32, MS_FLOAT64}));
const ms::Registered batch_cholesky_grad = ms::Register<CholeskyGrad>("BatchCholeskyGrad", Real());

}  // namespace
}  // namespace millstream::kernels
