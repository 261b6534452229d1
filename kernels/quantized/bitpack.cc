// CompareAndBitpack.
#include <cstdint>

#include "framework/plugin/plugin.hpp"
#include "kernels/common/narrow_float.h"
#include "kernels/common/parallel.h"

namespace millstream::kernels {
namespace {

constexpr int64_t kBits = 8;

// The loop of one type.
struct Packing {
  MS_DType dtype;
  // Bytes [begin, end) of `to`.
  void (*pack)(const void* from, const void* threshold, int64_t begin, int64_t end, uint8_t* to);
};

template <typename T>
void Pack(const void* from, const void* threshold, int64_t begin, int64_t end, uint8_t* to) {
  const auto limit = static_cast<ComputeTypeOf<T>>(*static_cast<const T*>(threshold));
  const T* const elements = static_cast<const T*>(from);
  for (int64_t i = begin; i < end; ++i) {
    unsigned bits = 0;
    for (int64_t k = 0; k < kBits; ++k) {
      const auto element = static_cast<ComputeTypeOf<T>>(elements[i * kBits + k]);
      bits = bits << 1 | (element > limit ? 1u : 0u);
    }
    to[i] = static_cast<uint8_t>(bits);
  }
}

constexpr Packing kPackings[] = {{MS_BOOL, &Pack<bool>},     {MS_FLOAT16, &Pack<Float16>},
                                 {MS_FLOAT32, &Pack<float>}, {MS_FLOAT64, &Pack<double>},
                                 {MS_INT8, &Pack<int8_t>},   {MS_INT16, &Pack<int16_t>},
                                 {MS_INT32, &Pack<int32_t>}, {MS_INT64, &Pack<int64_t>}};

class CompareAndBitpack {
 public:
  ms::Status Init(const ms::KernelInfo& info) {
    for (const Packing& packing : kPackings) {
      if (packing.dtype != info.input_dtype(0)) continue;
      pack_ = packing.pack;
      return ms::Status();
    }
    return ms::Internal("CompareAndBitpack has no loop for dtype ", info.input_dtype(0));
  }

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
    ms::View output;
    MS_TRY(frame.Output(0, shape, &output));
    constexpr int64_t kPicoseconds = 4000;
    return ParallelElements(frame, output.size(), kPicoseconds, [&](int64_t begin, int64_t end) {
      pack_(input.raw(), threshold.raw(), begin, end, output.data<uint8_t>());
    });
  }

 private:
  void (*pack_)(const void*, const void*, int64_t, int64_t, uint8_t*) = nullptr;
};

const ms::Registered bitpack = ms::Register<CompareAndBitpack>(
    "CompareAndBitpack", ms::KernelOptions()
                             .Types("T", {MS_BOOL, MS_FLOAT16, MS_FLOAT32, MS_FLOAT64, MS_INT8,
                                          MS_INT16, MS_INT32, MS_INT64})
                             .HostArg("threshold"));

}  // namespace
}  // namespace millstream::kernels
