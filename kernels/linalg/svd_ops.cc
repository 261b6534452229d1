// Svd and BatchSvd: singular values and vectors of matrices.
#include <algorithm>
#include <cstdint>
#include <limits>

#include "framework/plugin/plugin.hpp"
#include "kernels/common/type_table.h"
#include "kernels/linalg/matrices.h"
#include "kernels/linalg/svd.h"

namespace millstream::kernels {
namespace {

class Svd {
 public:
  ms::Status Init(const ms::KernelInfo& info) {
    access_ = FindElementAccess(info.input_dtype(0));
    if (access_ == nullptr) return NoLoopFor(info.input_dtype(0));
    MS_TRY(info.Attr("compute_uv", &vectors_));
    return info.Attr("full_matrices", &full_);
  }

  ms::Status Compute(ms::Frame& frame) const {
    const ms::View input = frame.input(0);
    const uint32_t rank = input.rank();
    if (rank < 2) {
      return ms::InvalidArgument("argument 'input' must be matrices, got the shape ",
                                 input.shape().ToString());
    }
    Work work = {};
    work.input = input;
    work.rows = input.dim(rank - 2);
    work.columns = input.dim(rank - 1);
    const int64_t least = std::min(work.rows, work.columns);
    work.count = ms::Shape(input.shape().begin(), rank - 2).num_elements();
    ms::Shape values(input.shape().begin(), rank - 1);
    values[rank - 2] = least;
    MS_TRY(frame.Output(0, values, &work.values));
    MS_TRY(OutputVectors(frame, 1, work.rows, full_ ? work.rows : least, input.shape(), &work.u));
    MS_TRY(OutputVectors(frame, 2, work.columns, full_ ? work.columns : least, input.shape(),
                         &work.v));
    if (work.values.size() == 0 && work.u.size() == 0 && work.v.size() == 0) return ms::Status();
    return access_->is_complex ? Run<Complex>(frame, work) : Run<double>(frame, work);
  }

 private:
  struct Work {
    ms::View input;
    ms::View values;
    ms::View u;
    ms::View v;
    int64_t count;
    int64_t rows;
    int64_t columns;
  };

  ms::Status OutputVectors(ms::Frame& frame, uint32_t i, int64_t size, int64_t vectors,
                           const ms::Shape& like, ms::View* output) const {
    if (!vectors_) return frame.Output(i, ms::Shape({0}), output);
    ms::Shape shape = like;
    shape[like.rank() - 2] = size;
    shape[like.rank() - 1] = vectors;
    return frame.Output(i, shape, output);
  }

  template <typename T>
  ms::Status Run(ms::Frame& frame, const Work& work) const {
    // A wide matrix is decomposed as its adjoint, whose U and V are V and U.
    const bool wide = work.rows < work.columns;
    const int64_t m = std::max(work.rows, work.columns);
    const int64_t n = std::min(work.rows, work.columns);
    const SvdSizes sizes = {m, n, vectors_ ? (full_ ? m : n) : 0};
    const int64_t numbers = m * n + n + sizes.numbers<T>();
    int64_t refused = 0;
    return ForEachMatrix(
        frame, work.count, numbers * static_cast<int64_t>(sizeof(T)),
        (vectors_ ? 16.0 : 4.0) * static_cast<double>(m * n + 10) * static_cast<double>(n + 10),
        [&](int64_t i, char* memory, Stop* stop) {
          T* const matrix = reinterpret_cast<T*>(memory);
          T* const values = matrix + m * n;
          T* const more = values + n;
          access_->load(work.input.raw(), i * m * n, work.rows, work.columns, wide, matrix);
          SvdResult<T> result = {};
          if (!DecomposeSingular(sizes, matrix, more, &result, stop)) {
            Fill(work, i, n, more, values);
            return true;
          }
          std::copy(result.values, result.values + n, values);
          access_->store(values, n, work.values.raw(), i * n);
          if (!vectors_) return true;
          const int64_t of_u = m * sizes.of_u;
          access_->store(result.u, of_u, (wide ? work.v : work.u).raw(), i * of_u);
          access_->store(result.v, n * n, (wide ? work.u : work.v).raw(), i * n * n);
          return true;
        },
        &refused);
  }

  // All results of a matrix with elements that are not finite are NaN.
  template <typename T>
  void Fill(const Work& work, int64_t i, int64_t n, T* memory, T* values) const {
    const T nan(std::numeric_limits<double>::quiet_NaN());
    std::fill(values, values + n, nan);
    access_->store(values, n, work.values.raw(), i * n);
    if (!vectors_) return;
    for (const ms::View* output : {&work.u, &work.v}) {
      const auto size = static_cast<int64_t>(output->size()) / work.count;
      std::fill(memory, memory + size, nan);
      access_->store(memory, size, output->raw(), i * size);
    }
  }

  const ElementAccess* access_ = nullptr;
  bool vectors_ = true;
  bool full_ = false;
};

const ms::Registered svd = ms::Register<Svd>(
    "Svd", ms::KernelOptions().Types(
               "T", {MS_FLOAT16, MS_FLOAT32, MS_FLOAT64, MS_COMPLEX64, MS_COMPLEX128}));
const ms::Registered batch_svd = ms::Register<Svd>(
    "BatchSvd",
    ms::KernelOptions().Types("T", {MS_FLOAT32, MS_FLOAT64, MS_COMPLEX64, MS_COMPLEX128}));

}  // namespace
}  // namespace millstream::kernels
