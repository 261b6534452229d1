// TridiagonalSolve.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <utility>

#include "framework/plugin/plugin.hpp"
#include "kernels/common/type_table.h"
#include "kernels/linalg/lu.h"
#include "kernels/linalg/matrices.h"

namespace millstream::kernels {
namespace {

// Inputs: the diagonals above, on and below the main one, as rows of one length, and right-hand
// sides. The last element of the first row and the first of the third do not count.
class TridiagonalSolve {
 public:
  ms::Status Init(const ms::KernelInfo& info) {
    access_ = FindElementAccess(info.input_dtype(0));
    if (access_ == nullptr) return NoLoopFor(info.input_dtype(0));
    return info.Attr("partial_pivoting", &exchanges_rows_);
  }

  ms::Status Compute(ms::Frame& frame) const {
    const ms::View diagonals = frame.input(0);
    const ms::View right = frame.input(1);
    MS_TRY(CheckShapes(diagonals, right));
    ms::View output;
    MS_TRY(frame.Output(0, right.shape(), &output));
    if (output.size() == 0) return ms::Status();
    return access_->is_complex ? Run<Complex>(frame, diagonals, right, output)
                               : Run<double>(frame, diagonals, right, output);
  }

 private:
  static ms::Status CheckShapes(const ms::View& diagonals, const ms::View& right) {
    const uint32_t rank = diagonals.rank();
    if (rank < 2 || diagonals.dim(rank - 2) != 3) {
      return ms::InvalidArgument("argument 'diagonals' must have 3 rows, got the shape ",
                                 diagonals.shape().ToString());
    }
    bool fits = right.rank() == rank && right.dim(rank - 2) == diagonals.dim(rank - 1);
    for (uint32_t d = 0; fits && d + 2 < rank; ++d) fits = right.dim(d) == diagonals.dim(d);
    if (fits) return ms::Status();
    return ms::InvalidArgument("argument 'rhs' of shape ", right.shape().ToString(),
                               " does not fit diagonals of shape ", diagonals.shape().ToString());
  }

  template <typename T>
  ms::Status Run(ms::Frame& frame, const ms::View& diagonals, const ms::View& right,
                 const ms::View& output) const {
    const int64_t n = diagonals.dim(diagonals.rank() - 1);
    const int64_t columns = right.dim(right.rank() - 1);
    const int64_t count = diagonals.size() / (3 * n);
    int64_t refused = 0;
    MS_TRY(ForEachMatrix(
        frame, count, (4 * n + n * columns) * static_cast<int64_t>(sizeof(T)),
        static_cast<double>(n) * static_cast<double>(4 * columns + 10),
        [&](int64_t i, char* memory, Stop*) {
          T* const bands = reinterpret_cast<T*>(memory);
          T* const y = bands + 4 * n;
          access_->load(diagonals.raw(), i * 3 * n, 3, n, false, bands);
          access_->load(right.raw(), i * n * columns, n, columns, false, y);
          if (!SolveOne(n, columns, bands, y)) return false;
          access_->store(y, n * columns, output.raw(), i * n * columns);
          return true;
        },
        &refused));
    if (refused == count) return ms::Status();
    return ms::InvalidArgument("The coefficient matrix is not invertible: matrix ", refused,
                               " of argument 'diagonals'",
                               exchanges_rows_ ? "" : ", with partial_pivoting off");
  }

  // By elimination, for which the memory behind the bands holds a second one above the main one.
  template <typename T>
  bool SolveOne(int64_t n, int64_t columns, T* bands, T* y) const {
    T* const above = bands;
    T* const main = bands + n;
    T* const below = bands + 2 * n;
    T* const far = bands + 3 * n;
    for (int64_t i = 0; i < n; ++i) far[i] = T(0);
    above[n - 1] = T(0);
    for (int64_t i = 0; i + 1 < n; ++i) {
      if (exchanges_rows_ && std::abs(below[i + 1]) > std::abs(main[i])) {
        std::swap(main[i], below[i + 1]);
        std::swap(above[i], main[i + 1]);
        std::swap(far[i], above[i + 1]);
        std::swap_ranges(y + i * columns, y + (i + 1) * columns, y + (i + 1) * columns);
      }
      if (main[i] == T(0)) return false;
      const T factor = below[i + 1] / main[i];
      main[i + 1] -= factor * above[i];
      above[i + 1] -= factor * far[i];
      SubtractMultiple(columns, factor, y + i * columns, y + (i + 1) * columns);
    }
    if (main[n - 1] == T(0)) return false;
    for (int64_t i = n - 1; i >= 0; --i) {
      T* const row = y + i * columns;
      if (i + 1 < n) SubtractMultiple(columns, above[i], row + columns, row);
      if (i + 2 < n) SubtractMultiple(columns, far[i], row + 2 * columns, row);
      for (int64_t k = 0; k < columns; ++k) row[k] /= main[i];
    }
    return true;
  }

  const ElementAccess* access_ = nullptr;
  bool exchanges_rows_ = true;
};

const ms::Registered tridiagonal_solve = ms::Register<TridiagonalSolve>(
    "TridiagonalSolve",
    ms::KernelOptions().Types("T", {MS_FLOAT32, MS_FLOAT64, MS_COMPLEX64, MS_COMPLEX128}));

}  // namespace
}  // namespace millstream::kernels
