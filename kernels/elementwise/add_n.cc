// AddN: the sum of N tensors of one shape, in the order of the inputs. Integers wrap; sums of
// 16-bit floating-point numbers are rounded once, at the end.
#include <algorithm>
#include <complex>
#include <cstdint>
#include <cstring>

#include "kernels/common/parallel.h"
#include "kernels/elementwise/binary.h"

namespace millstream::kernels {
namespace {

// out = x + y over elements [begin, end); out may be x.
using SumLoop = void (*)(const void* x, const void* y, void* out, int64_t begin, int64_t end);

template <typename T>
void SumElements(const void* x_base, const void* y_base, void* out_base, int64_t begin,
                 int64_t end) {
  const T* x = static_cast<const T*>(x_base);
  const T* y = static_cast<const T*>(y_base);
  T* out = static_cast<T*>(out_base);
#pragma GCC ivdep
  for (int64_t i = begin; i < end; ++i) out[i] = WrappingSum(x[i], y[i]);
}

// As SumElements, in the chosen instruction set where the type gains by that.
template <typename T>
void RunSumElements(const void* x, const void* y, void* out, int64_t begin, int64_t end) {
  RunLoopOn<T, &SumElements<T>>(x, y, out, begin, end);
}

class AddNKernel {
 public:
  ms::Status Compute(ms::Frame& frame) const {
    const ms::View first = frame.input(0);
    const uint32_t n = frame.num_inputs();
    for (uint32_t i = 1; i < n; ++i) {
      if (frame.input(i).shape() != first.shape()) {
        return ms::InvalidArgument("AddN: all inputs must have the same shape, inputs[0] has ",
                                   first.shape().ToString(), " and inputs[", i, "] has ",
                                   frame.input(i).shape().ToString());
      }
    }
    ms::View out;
    MS_TRY(frame.ForwardOrOutput(0, 0, first.shape(), &out));
    if (n == 1) {
      if (out.raw() != first.raw() && first.bytes() > 0) {
        std::memcpy(out.raw(), first.raw(), first.bytes());
      }
      return ms::Status();
    }
    const int64_t picoseconds = format_ == nullptr ? 100 : kTilePicoseconds / 2;
    MS_TRY(ParallelElements(frame, first.size(), picoseconds * n, [&](int64_t begin, int64_t end) {
      if (format_ == nullptr) {
        AddRange(frame, out.raw(), begin, end);
      } else {
        AddNarrowRange(frame, out.raw(), begin, end);
      }
    }));
    return ms::Status();
  }

 protected:
  // `format`: how elements become the floats that the loop takes and back, or null.
  AddNKernel(SumLoop loop, const NarrowFormat* format) : loop_(loop), format_(format) {}

 private:
  // Block by block, so that the partial sums stay in the innermost cache.
  void AddRange(ms::Frame& frame, void* out, int64_t begin, int64_t end) const {
    constexpr int64_t kBlock = 2048;
    for (int64_t block = begin; block < end; block += kBlock) {
      const int64_t block_end = std::min(end, block + kBlock);
      loop_(frame.input(0).raw(), frame.input(1).raw(), out, block, block_end);
      for (uint32_t i = 2; i < frame.num_inputs(); ++i) {
        loop_(out, frame.input(i).raw(), out, block, block_end);
      }
    }
  }

  void AddNarrowRange(ms::Frame& frame, void* out, int64_t begin, int64_t end) const {
    float sum[kTileElements];
    float term[kTileElements];
    for (int64_t at = begin; at < end; at += kTileElements) {
      const int64_t n = std::min(kTileElements, end - at);
      format_->widen(frame.input(0).raw(), at, n, sum);
      for (uint32_t i = 1; i < frame.num_inputs(); ++i) {
        format_->widen(frame.input(i).raw(), at, n, term);
        loop_(sum, term, sum, 0, n);
      }
      format_->narrow(sum, n, out, at);
    }
  }

  const SumLoop loop_;
  const NarrowFormat* const format_;
};

template <typename T>
class AddN : public AddNKernel {
 public:
  AddN() : AddNKernel(&RunSumElements<ComputeTypeOf<T>>, NarrowFormatOf<T>()) {}
};

template <typename T>
ms::Registered RegisterAddN(std::vector<MS_DType> dtypes) {
  // Only the first input: the others are read after the output was first written.
  return ms::Register<AddN<T>>("AddN",
                               ms::KernelOptions().Types("T", std::move(dtypes)).InPlace(0, 0));
}

const ms::Registered float32 = RegisterAddN<float>({MS_FLOAT32});
const ms::Registered float64 = RegisterAddN<double>({MS_FLOAT64});
const ms::Registered float16 = RegisterAddN<Float16>({MS_FLOAT16});
const ms::Registered bfloat16 = RegisterAddN<BFloat16>({MS_BFLOAT16});
const ms::Registered complex64 = RegisterAddN<std::complex<float>>({MS_COMPLEX64});
const ms::Registered complex128 = RegisterAddN<std::complex<double>>({MS_COMPLEX128});
const ms::Registered bits8 = RegisterAddN<uint8_t>({MS_INT8, MS_UINT8});
const ms::Registered bits16 = RegisterAddN<uint16_t>({MS_INT16, MS_UINT16});
const ms::Registered bits32 = RegisterAddN<uint32_t>({MS_INT32, MS_UINT32});
const ms::Registered bits64 = RegisterAddN<uint64_t>({MS_INT64, MS_UINT64});

}  // namespace
}  // namespace millstream::kernels
