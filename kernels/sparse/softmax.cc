// SparseSoftmax: over the elements of each row of the last dimension.
#include <algorithm>
#include <cmath>
#include <cstdint>

#include "framework/plugin/plugin.hpp"
#include "kernels/sparse/order.h"
#include "kernels/sparse/sparse_input.h"

namespace millstream::kernels {
namespace {

template <typename T>
class SparseSoftmax {
 public:
  ms::Status Compute(ms::Frame& frame) const {
    SparseInput input;
    MS_TRY(ReadSparse(frame, 0, {"sp_indices", "sp_values", "sp_shape"}, &input));
    if (input.rank() < 2) {
      return ms::InvalidArgument("Input should have rank >= 2, but sp_shape is ",
                                 input.shape.ToString());
    }
    ms::View output;
    MS_TRY(frame.Output(0, input.values.shape(), &output));
    const T* const from = input.values.data<T>();
    T* const to = output.data<T>();
    for (int64_t begin = 0; begin < input.count();) {
      int64_t end = begin + 1;
      while (end < input.count() &&
             CompareIndices(input.index(begin), input.index(end), input.rank() - 1) == 0) {
        ++end;
      }
      const T largest = *std::max_element(from + begin, from + end);
      T sum = 0;
      for (int64_t k = begin; k < end; ++k) sum += to[k] = std::exp(from[k] - largest);
      for (int64_t k = begin; k < end; ++k) to[k] /= sum;
      begin = end;
    }
    return ms::Status();
  }
};

const ms::Registered softmax = ms::RegisterForTypes<SparseSoftmax, float, double>(
    "SparseSoftmax", "T", ms::KernelOptions().HostArg("sp_shape"));

}  // namespace
}  // namespace millstream::kernels
