// CompareAndBitpack.
#include <cstdint>

#include "framework/plugin/plugin.hpp"
#include "kernels/common/narrow_float.h"
#include "kernels/common/parallel.h"

namespace millstream::kernels {
namespace {

template <typename T>
class CompareAndBitpack {
 public:
  ms::Status Compute(ms::Frame& frame) const {
    const ms::View input = frame.input(0);
    const ms::View threshold = frame.input(1);
    if (threshold.rank() != 0) {
      return ms::InvalidArgument("threshold must be a scalar, but has shape ",
                                 threshold.shape().ToString());
    }
    ms::Shape shape = input.shape();
    if (shape.rank() == 0 || shape[shape.rank() - 1] % kBits != 0) {
      return ms::InvalidArgument("input must have a multiple of 8 as its last dimension, but is ",
                                 shape.ToString());
    }
    shape[shape.rank() - 1] /= kBits;
    const auto limit = static_cast<ComputeTypeOf<T>>(*threshold.data<T>());
    ms::View output;
    MS_TRY(frame.Output(0, shape, &output));
    const T* const from = input.data<T>();
    uint8_t* const to = output.data<uint8_t>();
    constexpr int64_t kPicoseconds = 4000;
    return ParallelElements(frame, output.size(), kPicoseconds, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        unsigned bits = 0;
        for (int64_t k = 0; k < kBits; ++k) {
          const auto element = static_cast<ComputeTypeOf<T>>(from[i * kBits + k]);
          bits = bits << 1 | (element > limit ? 1u : 0u);
        }
        to[i] = static_cast<uint8_t>(bits);
      }
    });
  }

 private:
  static constexpr int64_t kBits = 8;
};

const ms::Registered bitpack = ms::RegisterForTypes<CompareAndBitpack, bool, Float16, float, double,
                                                    int8_t, int16_t, int32_t, int64_t>(
    "CompareAndBitpack", "T", ms::KernelOptions().HostArg("threshold"));

}  // namespace
}  // namespace millstream::kernels
