// MatrixSquareRoot and MatrixLogarithm: functions of square matrices by their Schur decompositions;
// and MatrixExponential (N. Higham: Functions of Matrices, 2008).
#include <algorithm>
#include <cmath>
#include <complex>
#include <cstdint>
#include <limits>
#include <utility>

#include "framework/plugin/plugin.hpp"
#include "kernels/common/type_table.h"
#include "kernels/linalg/matrices.h"
#include "kernels/linalg/reflector.h"
#include "kernels/linalg/schur.h"

namespace millstream::kernels {
namespace {

// Replaces an upper triangular matrix by its square root (Higham, algorithm 6.3).
void TriangularRoot(int64_t n, Complex* t) {
  for (int64_t j = 0; j < n; ++j) {
    t[j * n + j] = std::sqrt(t[j * n + j]);
    for (int64_t i = j - 1; i >= 0; --i) {
      Complex sum = t[i * n + j];
      for (int64_t k = i + 1; k < j; ++k) sum -= Product(t[i * n + k], t[k * n + j]);
      t[i * n + j] = sum == Complex(0) ? sum : sum / (t[i * n + i] + t[j * n + j]);
    }
  }
}

// The largest sum of absolute values of a column of T - I.
double DistanceToOne(int64_t n, const Complex* t) {
  double largest = 0;
  for (int64_t j = 0; j < n; ++j) {
    double sum = 0;
    for (int64_t i = 0; i <= j; ++i) sum += std::abs(t[i * n + j] - (i == j ? 1.0 : 0.0));
    if (!(sum <= largest)) largest = sum;
  }
  return largest;
}

// y = (I + factor x)^-1 x for an upper triangular x.
void SolveShifted(int64_t n, double factor, const Complex* x, Complex* y) {
  for (int64_t i = n - 1; i >= 0; --i) {
    Complex* const row = y + i * n;
    std::copy(x + i * n, x + (i + 1) * n, row);
    for (int64_t j = i + 1; j < n; ++j) {
      SubtractMultiple(n - j, factor * x[i * n + j], y + j * n + j, row + j);
    }
    const Complex pivot = 1.0 + factor * x[i * n + i];
    for (int64_t j = i; j < n; ++j) row[j] /= pivot;
  }
}

// The Padé approximant of degree 7 of log(1 + x) is this sum of fractions, weight x / (1 + node x),
// by the rule of Gauss and Legendre (Higham, section 11.4). It holds where the norm of X is at most
// kLargestNorm.
struct Fraction {
  double node;
  double weight;
};
constexpr Fraction kFractions[] = {
    {0.5, 0.2089795918367347},
    {0.2970774243113014, 0.19091502525255946},
    {0.7029225756886986, 0.19091502525255946},
    {0.12923440720030277, 0.13985269574463832},
    {0.8707655927996972, 0.13985269574463832},
    {0.025446043828620736, 0.06474248308443484},
    {0.9745539561713793, 0.06474248308443484},
};
constexpr double kLargestNorm = 0.264;

// Replaces an upper triangular matrix by its logarithm: square roots until it is near to I, then
// Padé's approximant (Higham, algorithm 11.9). `memory` has 2 n^2 + n elements.
void TriangularLogarithm(int64_t n, Complex* t, Complex* memory, Stop* stop) {
  constexpr int kMostRoots = 100;
  Complex* const x = memory;
  Complex* const y = x + n * n;
  Complex* const diagonal = y + n * n;
  for (int64_t i = 0; i < n; ++i) diagonal[i] = std::log(t[i * n + i]);
  int roots = 0;
  while (roots < kMostRoots && DistanceToOne(n, t) > kLargestNorm) {
    if (n >= kStoppableSize && (*stop)()) return;
    TriangularRoot(n, t);
    ++roots;
  }
  std::copy(t, t + n * n, x);
  for (int64_t i = 0; i < n; ++i) x[i * n + i] -= 1.0;
  std::fill(t, t + n * n, Complex(0));
  std::fill(y, y + n * n, Complex(0));
  for (const Fraction& fraction : kFractions) {
    if (n >= kStoppableSize && (*stop)()) return;
    SolveShifted(n, fraction.node, x, y);
    SubtractMultiple(n * n, Complex(-std::ldexp(fraction.weight, roots)), y, t);
  }
  for (int64_t i = 0; i < n; ++i) t[i * n + i] = diagonal[i];
}

// result = Q T Q^H, with Q^H given. `memory` has n^2 elements.
void Restore(int64_t n, const Complex* t, const Complex* adjoint, Complex* result,
             Complex* memory) {
  std::fill(memory, memory + n * n, Complex(0));
  std::fill(result, result + n * n, Complex(0));
  for (int64_t i = 0; i < n; ++i) {
    for (int64_t k = i; k < n; ++k) {
      SubtractMultiple(n, -t[i * n + k], adjoint + k * n, memory + i * n);
    }
  }
  for (int64_t k = 0; k < n; ++k) {
    for (int64_t i = 0; i < n; ++i) {
      SubtractMultiple(n, -Conjugate(adjoint[k * n + i]), memory + k * n, result + i * n);
    }
  }
}

// result = a b
void Multiply(int64_t n, const Complex* a, const Complex* b, Complex* result) {
  std::fill(result, result + n * n, Complex(0));
  for (int64_t i = 0; i < n; ++i) {
    for (int64_t k = 0; k < n; ++k) {
      SubtractMultiple(n, -a[i * n + k], b + k * n, result + i * n);
    }
  }
}

// The largest sum of absolute values of a row.
double RowNorm(int64_t n, const Complex* x) {
  double largest = 0;
  for (int64_t i = 0; i < n; ++i) {
    double sum = 0;
    for (int64_t j = 0; j < n; ++j) sum += std::abs(x[i * n + j]);
    if (!(sum <= largest)) largest = sum;
  }
  return largest;
}

// Replaces a matrix by its exponential: the first terms of its power series for a power of two of
// it, which is squared as often (Higham, section 10.3). `memory` has 2 n^2 elements.
void Exponential(int64_t n, Complex* matrix, Complex* memory, Stop* stop) {
  constexpr int kTerms = 18;  // the next one is below 2^-53 for the largest norm
  constexpr double kLargestSeriesNorm = 0.5;
  constexpr int kMostSquarings = 1100;  // more than any finite matrix needs
  const double norm = RowNorm(n, matrix);
  int squarings = 0;
  if (norm > kLargestSeriesNorm) {
    squarings = std::min(std::ilogb(norm / kLargestSeriesNorm), kMostSquarings - 1) + 1;
  }
  const double scale = std::ldexp(1.0, -squarings);
  for (int64_t i = 0; i < n * n; ++i) matrix[i] *= scale;
  Complex* sum = memory;
  Complex* next = memory + n * n;
  std::fill(sum, sum + n * n, Complex(0));
  for (int64_t i = 0; i < n; ++i) sum[i * n + i] = 1;
  for (int k = kTerms; k > 0; --k) {
    if (n >= kStoppableSize && (*stop)()) return;
    Multiply(n, matrix, sum, next);
    for (int64_t i = 0; i < n * n; ++i) next[i] /= k;
    for (int64_t i = 0; i < n; ++i) next[i * n + i] += 1;
    std::swap(sum, next);
  }
  for (; squarings > 0; --squarings) {
    if (n >= kStoppableSize && (*stop)()) return;
    Multiply(n, sum, sum, next);
    std::swap(sum, next);
  }
  std::copy(sum, sum + n * n, matrix);
}

// A real matrix has a real root unless an eigenvalue is negative, which only the imaginary parts of
// the complex root show: more than rounding leaves.
bool IsReal(int64_t n, const Complex* x) {
  constexpr double kRounding = 1e-6;
  double re = 0;
  double im = 0;
  for (int64_t i = 0; i < n * n; ++i) {
    re = std::max(re, std::fabs(x[i].real()));
    im = std::max(im, std::fabs(x[i].imag()));
  }
  return im <= kRounding * re;
}

enum class Function { kSquareRoot, kLogarithm, kExponential };

class MatrixFunction {
 public:
  struct Row {
    Function function;
  };

  explicit MatrixFunction(const Row& row) : row_(row) {}

  ms::Status Init(const ms::KernelInfo& info) {
    access_ = FindElementAccess(info.input_dtype(0));
    return access_ == nullptr ? NoLoopFor(info.input_dtype(0)) : ms::Status();
  }

  ms::Status Compute(ms::Frame& frame) const {
    const ms::View input = frame.input(0);
    const uint32_t rank = input.rank();
    if (rank < 2 || input.dim(rank - 1) != input.dim(rank - 2)) {
      return ms::InvalidArgument("argument 'input' must be square matrices, got the shape ",
                                 input.shape().ToString());
    }
    ms::View output;
    MS_TRY(frame.Output(0, input.shape(), &output));
    if (output.size() == 0) return ms::Status();
    const int64_t n = input.dim(rank - 1);
    const int64_t elements = n * n;
    const int64_t numbers = 5 * elements + SchurNumbers(n);
    int64_t refused = 0;
    return ForEachMatrix(
        frame, input.size() / elements, numbers * static_cast<int64_t>(sizeof(Complex)),
        60 * static_cast<double>(elements) * static_cast<double>(n + 10),
        [&](int64_t i, char* memory, Stop* stop) {
          auto* const matrix = reinterpret_cast<Complex*>(memory);
          Load(input, i * elements, n, matrix);
          Apply(n, matrix, stop);
          Store(n, matrix, output, i * elements);
          return true;
        },
        &refused);
  }

 private:
  // Real matrices are computed with as complex ones.
  void Load(const ms::View& input, int64_t begin, int64_t n, Complex* matrix) const {
    if (access_->is_complex) {
      access_->load(input.raw(), begin, n, n, false, matrix);
      return;
    }
    auto* const numbers = reinterpret_cast<double*>(matrix + n * n);
    access_->load(input.raw(), begin, n, n, false, numbers);
    std::copy(numbers, numbers + n * n, matrix);
  }

  void Store(int64_t n, Complex* matrix, const ms::View& output, int64_t begin) const {
    if (access_->is_complex) {
      access_->store(matrix, n * n, output.raw(), begin);
      return;
    }
    const bool is_real = IsReal(n, matrix);
    auto* const numbers = reinterpret_cast<double*>(matrix + n * n);
    for (int64_t i = 0; i < n * n; ++i) {
      numbers[i] = is_real ? matrix[i].real() : std::numeric_limits<double>::quiet_NaN();
    }
    access_->store(numbers, n * n, output.raw(), begin);
  }

  // Of a matrix that has no decomposition all elements become NaN.
  void Apply(int64_t n, Complex* matrix, Stop* stop) const {
    Complex* const adjoint = matrix + n * n;
    if (row_.function == Function::kExponential) return Exponential(n, matrix, adjoint, stop);
    Complex* const result = adjoint + n * n;
    Complex* const more = result + n * n;
    if (!DecomposeSchur(n, matrix, adjoint, more, stop)) {
      const double nan = std::numeric_limits<double>::quiet_NaN();
      std::fill(matrix, matrix + n * n, Complex(nan, nan));
      return;
    }
    if (row_.function == Function::kLogarithm) {
      TriangularLogarithm(n, matrix, result, stop);
    } else {
      TriangularRoot(n, matrix);
    }
    Restore(n, matrix, adjoint, result, more);
    std::copy(result, result + n * n, matrix);
  }

  const Row& row_;
  const ElementAccess* access_ = nullptr;
};

constexpr MatrixFunction::Row kSquareRoot = {Function::kSquareRoot};
constexpr MatrixFunction::Row kLogarithm = {Function::kLogarithm};
constexpr MatrixFunction::Row kExponential = {Function::kExponential};

const ms::Registered square_root = ms::RegisterRow<MatrixFunction>(
    "MatrixSquareRoot", kSquareRoot,
    ms::KernelOptions().Types("T",
                              {MS_FLOAT16, MS_FLOAT32, MS_FLOAT64, MS_COMPLEX64, MS_COMPLEX128}));
const ms::Registered logarithm = ms::RegisterRow<MatrixFunction>(
    "MatrixLogarithm", kLogarithm, ms::KernelOptions().Types("T", {MS_COMPLEX64, MS_COMPLEX128}));
const ms::Registered exponential = ms::RegisterRow<MatrixFunction>(
    "MatrixExponential", kExponential,
    ms::KernelOptions().Types("T",
                              {MS_FLOAT16, MS_FLOAT32, MS_FLOAT64, MS_COMPLEX64, MS_COMPLEX128}));

}  // namespace
}  // namespace millstream::kernels
