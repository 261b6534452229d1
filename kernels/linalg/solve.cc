// MatrixSolve, MatrixTriangularSolve, Lu and batch forms: systems of linear equations, and the
// factors of square matrices.
#include <algorithm>
#include <cstdint>

#include "framework/plugin/plugin.hpp"
#include "kernels/common/type_table.h"
#include "kernels/elementwise/broadcast.h"
#include "kernels/linalg/lu.h"
#include "kernels/linalg/matrices.h"
#include "kernels/linalg/triangle.h"

namespace millstream::kernels {
namespace {

// Inputs: square matrices, and right-hand sides of as many rows, in batches of one shape; those of
// triangular matrices broadcast.
class Solve {
 public:
  struct Row {
    bool is_triangular;
  };

  explicit Solve(const Row& row) : row_(row) {}

  ms::Status Init(const ms::KernelInfo& info) {
    access_ = FindElementAccess(info.input_dtype(0));
    if (access_ == nullptr) return NoLoopFor(info.input_dtype(0));
    if (row_.is_triangular) MS_TRY(info.Attr("lower", &lower_));
    return info.Attr("adjoint", &adjoint_);
  }

  ms::Status Compute(ms::Frame& frame) const {
    const ms::View matrix = frame.input(0);
    const ms::View right = frame.input(1);
    BroadcastPlan batches;
    MS_TRY(PlanBatches(matrix, right, &batches));
    ms::Shape shape = batches.output;
    for (uint32_t d = right.rank() - 2; d < right.rank(); ++d) shape.Append(right.dim(d));
    ms::View output;
    MS_TRY(frame.Output(0, shape, &output));
    if (output.size() == 0) return ms::Status();
    return access_->is_complex ? Run<Complex>(frame, batches, matrix, right, output)
                               : Run<double>(frame, batches, matrix, right, output);
  }

 private:
  // Checks the shapes, and says which matrix and which right-hand side go together.
  ms::Status PlanBatches(const ms::View& matrix, const ms::View& right,
                         BroadcastPlan* batches) const {
    const uint32_t rank = matrix.rank();
    if (rank < 2 || matrix.dim(rank - 1) != matrix.dim(rank - 2)) {
      return ms::InvalidArgument("argument 'matrix' must be square matrices, got the shape ",
                                 matrix.shape().ToString());
    }
    if (right.rank() >= 2 && right.dim(right.rank() - 2) == matrix.dim(rank - 1)) {
      const ms::Shape of_matrix(matrix.shape().begin(), rank - 2);
      const ms::Shape of_right(right.shape().begin(), right.rank() - 2);
      const bool fits =
          row_.is_triangular ? CanBroadcast(of_matrix, of_right) : of_matrix == of_right;
      if (fits) return PlanBroadcast(of_matrix, of_right, batches);
    }
    return ms::InvalidArgument("argument 'rhs' must have the shape of 'matrix' ",
                               matrix.shape().ToString(), " but for its last dimension",
                               row_.is_triangular ? ", or batches that broadcast" : "",
                               ", but has ", right.shape().ToString());
  }

  template <typename T>
  ms::Status Run(ms::Frame& frame, const BroadcastPlan& batches, const ms::View& matrix,
                 const ms::View& right, const ms::View& output) const {
    const int64_t n = matrix.dim(matrix.rank() - 1);
    const int64_t columns = right.dim(right.rank() - 1);
    const int64_t count = output.size() / (n * columns);
    const int64_t of_factors = row_.is_triangular ? 0 : FactorNumbers<T>(n);
    const int64_t numbers = n * n + 2 * n * columns + of_factors;
    const double cost =
        static_cast<double>(n) * static_cast<double>(n) * static_cast<double>(n + columns + 10);
    int64_t refused = 0;
    MS_TRY(ForEachMatrix(
        frame, count,
        numbers * static_cast<int64_t>(sizeof(T)) + n * static_cast<int64_t>(sizeof(int64_t)), cost,
        [&](int64_t i, char* memory, Stop* stop) {
          T* const a = reinterpret_cast<T*>(memory);
          T* const y = a + n * n;
          T* const x = y + n * columns;
          T* const more = x + n * columns;
          auto* const order = reinterpret_cast<int64_t*>(more + of_factors);
          access_->load(matrix.raw(), OperandOffset(batches, batches.x_strides, i) * n * n, n, n,
                        adjoint_, a);
          access_->load(right.raw(), OperandOffset(batches, batches.y_strides, i) * n * columns, n,
                        columns, false, y);
          if (!(row_.is_triangular ? SolveGiven(n, columns, a, y, stop)
                                   : SolveAny<T>({n, columns, a, y, x, order, more}, stop))) {
            return false;
          }
          access_->store(row_.is_triangular ? y : x, n * columns, output.raw(), i * n * columns);
          return true;
        },
        &refused));
    if (refused == count) return ms::Status();
    return ms::InvalidArgument("Input matrix is not invertible: matrix ",
                               OperandOffset(batches, batches.x_strides, refused),
                               " of argument 'matrix' ", matrix.shape().ToString());
  }

  // With the triangle of the matrix that `lower` names, now that the matrix is adjoint or not.
  template <typename T>
  bool SolveGiven(int64_t n, int64_t columns, const T* a, T* y, Stop* stop) const {
    for (int64_t i = 0; i < n; ++i) {
      if (a[i * n + i] == T(0)) return false;
    }
    SolveTriangle(n, columns, a, {lower_ != adjoint_, /*has_unit_diagonal=*/false}, y, stop);
    return true;
  }

  template <typename T>
  struct System {
    int64_t n;
    int64_t columns;
    T* a;        // is replaced by its factors
    const T* y;  // the right-hand sides
    T* x;        // the solutions
    int64_t* order;
    T* memory;
  };

  // By P A = L U.
  template <typename T>
  static bool SolveAny(const System<T>& system, Stop* stop) {
    const int64_t n = system.n;
    const int64_t columns = system.columns;
    Factorize(n, system.a, system.order, system.memory, stop);
    if (IsSingular(n, system.a)) return false;
    for (int64_t i = 0; i < n; ++i) {
      std::copy_n(system.y + system.order[i] * columns, columns, system.x + i * columns);
    }
    SolveTriangle(n, columns, system.a, {/*is_lower=*/true, /*has_unit_diagonal=*/true}, system.x,
                  stop);
    SolveTriangle(n, columns, system.a, {/*is_lower=*/false, /*has_unit_diagonal=*/false}, system.x,
                  stop);
    return true;
  }

  const Row& row_;
  const ElementAccess* access_ = nullptr;
  bool lower_ = true;
  bool adjoint_ = false;
};

// Outputs: both factors in one matrix, and for each row of their product which row of the input it
// is.
class Lu {
 public:
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
    ms::View factors;
    ms::View order;
    MS_TRY(frame.Output(0, input.shape(), &factors));
    MS_TRY(frame.Output(1, ms::Shape(input.shape().begin(), rank - 1), &order));
    if (input.size() == 0) return ms::Status();
    return access_->is_complex ? Run<Complex>(frame, input, factors, order)
                               : Run<double>(frame, input, factors, order);
  }

 private:
  template <typename T>
  ms::Status Run(ms::Frame& frame, const ms::View& input, const ms::View& factors,
                 const ms::View& order) const {
    const int64_t n = input.dim(input.rank() - 1);
    const int64_t count = input.size() / (n * n);
    int64_t refused = 0;
    MS_TRY(ForEachMatrix(
        frame, count,
        (n * n + FactorNumbers<T>(n)) * static_cast<int64_t>(sizeof(T)) +
            n * static_cast<int64_t>(sizeof(int64_t)),
        static_cast<double>(n) * static_cast<double>(n) * static_cast<double>(n + 10),
        [&](int64_t i, char* memory, Stop* stop) {
          T* const a = reinterpret_cast<T*>(memory);
          T* const more = a + n * n;
          auto* const rows = reinterpret_cast<int64_t*>(more + FactorNumbers<T>(n));
          access_->load(input.raw(), i * n * n, n, n, false, a);
          Factorize(n, a, rows, more, stop);
          if (IsSingular(n, a)) return false;
          access_->store(a, n * n, factors.raw(), i * n * n);
          for (int64_t k = 0; k < n; ++k) {
            if (order.dtype() == MS_INT32) {
              order.data<int32_t>()[i * n + k] = static_cast<int32_t>(rows[k]);
            } else {
              order.data<int64_t>()[i * n + k] = rows[k];
            }
          }
          return true;
        },
        &refused));
    if (refused == count) return ms::Status();
    return ms::InvalidArgument("Input is not invertible: matrix ", refused,
                               " of argument 'input' is singular");
  }

  const ElementAccess* access_ = nullptr;
};

constexpr Solve::Row kAny = {false};
constexpr Solve::Row kTriangular = {true};

ms::KernelOptions All() {
  return ms::KernelOptions().Types(
      "T", {MS_FLOAT16, MS_FLOAT32, MS_FLOAT64, MS_COMPLEX64, MS_COMPLEX128});
}
ms::KernelOptions Real() { return ms::KernelOptions().Types("T", {MS_FLOAT32, MS_FLOAT64}); }

const ms::Registered solve = ms::RegisterRow<Solve>("MatrixSolve", kAny, All());
const ms::Registered batch_solve = ms::RegisterRow<Solve>("BatchMatrixSolve", kAny, Real());
const ms::Registered triangular =
    ms::RegisterRow<Solve>("MatrixTriangularSolve", kTriangular, All());
const ms::Registered batch_triangular =
    ms::RegisterRow<Solve>("BatchMatrixTriangularSolve", kTriangular, Real());
const ms::Registered lu = ms::Register<Lu>("Lu", All());

}  // namespace
}  // namespace millstream::kernels
