// AddN: the sum of N tensors of one shape, in the order of the inputs. Integers wrap.
#include <algorithm>
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
    ParallelElements(frame, first.size(), int64_t{100} * n,
                     [&](int64_t begin, int64_t end) { AddRange(frame, out.raw(), begin, end); });
    return ms::Status();
  }

 protected:
  explicit AddNKernel(SumLoop loop) : loop_(loop) {}

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

  const SumLoop loop_;
};

template <typename T>
class AddN : public AddNKernel {
 public:
  AddN() : AddNKernel(&SumElements<T>) {}
};

template <typename T>
ms::Registered RegisterAddN(std::vector<MS_DType> dtypes) {
  // Only the first input: the others are read after the output was first written.
  return ms::Register<AddN<T>>("AddN",
                               ms::KernelOptions().Types("T", std::move(dtypes)).InPlace(0, 0));
}

const ms::Registered float32 = RegisterAddN<float>({MS_FLOAT32});
const ms::Registered float64 = RegisterAddN<double>({MS_FLOAT64});
const ms::Registered bits8 = RegisterAddN<uint8_t>({MS_INT8, MS_UINT8});
const ms::Registered bits16 = RegisterAddN<uint16_t>({MS_INT16, MS_UINT16});
const ms::Registered bits32 = RegisterAddN<uint32_t>({MS_INT32, MS_UINT32});
const ms::Registered bits64 = RegisterAddN<uint64_t>({MS_INT64, MS_UINT64});

}  // namespace
}  // namespace millstream::kernels
