// SparseSegmentMeanGrad and SparseSegmentSqrtNGrad.
#include <cmath>
#include <cstdint>
#include <vector>

#include "framework/plugin/plugin.hpp"
#include "kernels/array/accumulate_rows.h"
#include "kernels/array/indices.h"
#include "kernels/array/strided_copy.h"

namespace millstream::kernels {
namespace {

// Inputs: grad, a row a segment; indices; segment_ids; output_dim0, a scalar. Row indices[k] of the
// output is the sum of the rows segment_ids[k] of grad, each divided by the number of ids of its
// segment, or by the root of that.
template <typename T, bool kOfRoot>
class SparseSegmentGrad {
 public:
  ms::Status Compute(ms::Frame& frame) const {
    const ms::View grad = frame.input(0);
    int64_t rows = 0;
    MS_TRY(ReadIndexScalar(frame.input(3), "output_dim0", &rows));
    MS_TRY(Check(frame, rows));
    ms::Shape shape = grad.shape();
    const int64_t width = DimProduct(shape, 1, shape.rank());
    shape[0] = rows;
    ms::View output;
    MS_TRY(frame.Output(0, shape, &output));
    MS_TRY(CheckElements(frame, rows));
    if (output.size() == 0) return ms::Status();
    MS_TRY(SetToZero(frame, output));
    const std::vector<T> divisors = Divisors(frame.input(2), grad.dim(0));
    const int64_t n = frame.input(1).size();
    ForColumns(frame, n, width, sizeof(T), 2, [&](int64_t first, int64_t last) {
      for (int64_t k = 0; k < n; ++k) {
        const int64_t segment = IndexAt(frame.input(2), k);
        const T divisor = divisors[static_cast<size_t>(segment)];
        const T* const from = grad.data<T>() + segment * width;
        T* const to = output.data<T>() + IndexAt(frame.input(1), k) * width;
        for (int64_t c = first; c < last; ++c) to[c] += from[c] / divisor;
      }
    });
    return ms::Status();
  }

 private:
  static ms::Status Check(const ms::Frame& frame, int64_t rows) {
    if (frame.input(0).rank() == 0) return ms::InvalidArgument("grad must have rank 1 or more");
    if (rows < 0) return ms::InvalidArgument("output_dim0 = ", rows, " must not be negative");
    const ms::Shape indices = frame.input(1).shape();
    const ms::Shape ids = frame.input(2).shape();
    if (indices.rank() == 1 && indices == ids) return ms::Status();
    return ms::InvalidArgument("indices and segment_ids must be vectors of one length, but have ",
                               "the shapes ", indices.ToString(), " and ", ids.ToString());
  }

  static ms::Status CheckElements(const ms::Frame& frame, int64_t rows) {
    const int64_t segments = frame.input(0).dim(0);
    for (int64_t k = 0; k < frame.input(1).size(); ++k) {
      const int64_t row = IndexAt(frame.input(1), k);
      const int64_t segment = IndexAt(frame.input(2), k);
      if (row < 0 || row >= rows) return NotInRange("indices", frame.input(1), k, rows);
      if (segment < 0 || segment >= segments) {
        return NotInRange("segment_ids", frame.input(2), k, segments);
      }
    }
    return ms::Status();
  }

  static std::vector<T> Divisors(const ms::View& ids, int64_t segments) {
    std::vector<T> divisors(static_cast<size_t>(segments), T(0));
    for (int64_t k = 0; k < ids.size(); ++k) ++divisors[static_cast<size_t>(IndexAt(ids, k))];
    if (kOfRoot) {
      for (T& divisor : divisors) divisor = std::sqrt(divisor);
    }
    return divisors;
  }
};

template <typename T>
using MeanGrad = SparseSegmentGrad<T, false>;
template <typename T>
using SqrtNGrad = SparseSegmentGrad<T, true>;

ms::KernelOptions Indexed() {
  return ms::KernelOptions().Types("Tidx", IndexTypes()).HostArg("output_dim0");
}

const ms::Registered mean_grad =
    ms::RegisterForTypes<MeanGrad, float, double>("SparseSegmentMeanGrad", "T", Indexed());
const ms::Registered sqrt_n_grad =
    ms::RegisterForTypes<SqrtNGrad, float, double>("SparseSegmentSqrtNGrad", "T", Indexed());

}  // namespace
}  // namespace millstream::kernels
