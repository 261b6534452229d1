// UnravelIndex.
#include <cstdint>

#include "framework/plugin/plugin.hpp"
#include "kernels/array/indices.h"

namespace millstream::kernels {
namespace {

// Inputs: indices, a scalar or a vector of places in flat order; dims, the shape that they are
// places in. Output: a row a dimension, the index of each place along it.
template <typename T>
class UnravelIndex {
 public:
  ms::Status Compute(ms::Frame& frame) const {
    const ms::View indices = frame.input(0);
    const ms::View dims = frame.input(1);
    if (indices.rank() > 1) {
      return ms::InvalidArgument("indices must be a scalar or a vector, but has shape ",
                                 indices.shape().ToString());
    }
    int64_t total = 0;
    MS_TRY(CountPlaces(dims, &total));
    ms::Shape shape{dims.dim(0)};
    if (indices.rank() == 1) shape.Append(indices.dim(0));
    ms::View output;
    MS_TRY(frame.Output(0, shape, &output));
    const int64_t count = indices.size();
    T* const rows = output.data<T>();
    for (int64_t k = 0; k < count; ++k) {
      int64_t place = IndexAt(indices, k);
      if (place < 0 || place >= total) return NotInRange("indices", indices, k, total);
      for (int64_t d = dims.dim(0); d-- > 0; place /= IndexAt(dims, d)) {
        rows[d * count + k] = static_cast<T>(place % IndexAt(dims, d));
      }
    }
    return ms::Status();
  }

 private:
  static ms::Status CountPlaces(const ms::View& dims, int64_t* total) {
    if (dims.rank() != 1) {
      return ms::InvalidArgument("dims must be a vector, but has shape ", dims.shape().ToString());
    }
    *total = 1;
    for (int64_t d = 0; d < dims.dim(0); ++d) {
      const int64_t size = IndexAt(dims, d);
      if (size <= 0) {
        return ms::InvalidArgument(ElementName("dims", dims.shape(), d), " = ", size,
                                   " must be positive");
      }
      if (__builtin_mul_overflow(*total, size, total)) {
        return ms::InvalidArgument("dims make a tensor of more elements than 64 bits count");
      }
    }
    return ms::Status();
  }
};

const ms::Registered unravel_index = ms::RegisterForTypes<UnravelIndex, int32_t, int64_t>(
    "UnravelIndex", "Tidx", ms::KernelOptions().HostArg("dims"));

}  // namespace
}  // namespace millstream::kernels
