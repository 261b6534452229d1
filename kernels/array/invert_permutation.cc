// InvertPermutation.
#include <algorithm>
#include <cstdint>

#include "framework/plugin/plugin.hpp"

namespace millstream::kernels {
namespace {

// Input: x, a vector that holds each of 0 to n - 1 once. output[x[i]] = i.
template <typename T>
class InvertPermutation {
 public:
  ms::Status Compute(ms::Frame& frame) const {
    const ms::View x = frame.input(0);
    if (x.rank() != 1) {
      return ms::InvalidArgument("x must be a vector, but has shape ", x.shape().ToString());
    }
    ms::View output;
    MS_TRY(frame.Output(0, x.shape(), &output));
    const T n = static_cast<T>(x.dim(0));
    const T* source = x.data<T>();
    T* target = output.data<T>();
    std::fill_n(target, n, T{-1});
    for (T i = 0; i < n; ++i) {
      const T place = source[i];
      if (place < 0 || place >= n) {
        return ms::InvalidArgument("x[", i, "] = ", place, " is outside [0, ", n, ")");
      }
      if (target[place] != -1) {
        return ms::InvalidArgument("x holds ", place, " more than once, at ", target[place],
                                   " and at ", i);
      }
      target[place] = i;
    }
    return ms::Status();
  }
};

const ms::Registered invert_permutation =
    ms::RegisterForTypes<InvertPermutation, int32_t, int64_t>("InvertPermutation", "T");

}  // namespace
}  // namespace millstream::kernels
