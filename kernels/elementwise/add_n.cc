// AddN and AccumulateNV2: the sum of N tensors of one shape, in the order of the inputs. Integers
// wrap; sums of 16-bit floating-point numbers are rounded once, at the end.
#include <algorithm>
#include <cstdint>
#include <cstring>
#include <string>

#include "kernels/array/declared_shape.h"
#include "kernels/common/parallel.h"
#include "kernels/elementwise/shared_tables.h"

namespace millstream::kernels {
namespace {

class AddN {
 public:
  ms::Status Init(const ms::KernelInfo& info) {
    op_ = info.op();
    if (info.HasAttr("shape")) MS_TRY(shape_.Init(info, "shape"));
    return call_.Init(kSumTable, info.input_dtype(0), info.output_dtype(0));
  }
  ms::Status Compute(ms::Frame& frame) const {
    const ms::View first = frame.input(0);
    const uint32_t n = frame.num_inputs();
    for (uint32_t i = 1; i < n; ++i) {
      if (frame.input(i).shape() != first.shape()) {
        return ms::InvalidArgument(op_, ": all inputs must have the same shape, inputs[0] has ",
                                   first.shape().ToString(), " and inputs[", i, "] has ",
                                   frame.input(i).shape().ToString());
      }
    }
    if (!shape_.Allows(first.shape())) {
      return ms::InvalidArgument(op_, ": inputs have shape ", first.shape().ToString(),
                                 ", which is not what attribute shape says");
    }
    ms::View out;
    MS_TRY(frame.ForwardOrOutput(0, 0, first.shape(), &out));
    if (n == 1) {
      if (out.raw() != first.raw() && first.bytes() > 0) {
        std::memcpy(out.raw(), first.raw(), first.bytes());
      }
      return ms::Status();
    }
    const int64_t picoseconds = call_.format == nullptr ? 100 : kTilePicoseconds / 2;
    MS_TRY(ParallelElements(frame, first.size(), picoseconds * n, [&](int64_t begin, int64_t end) {
      if (call_.format == nullptr) {
        AddRange(frame, out.raw(), begin, end);
      } else {
        AddNarrowRange(frame, out.raw(), begin, end);
      }
    }));
    return ms::Status();
  }

 private:
  // Block by block, so that the partial sums stay in the innermost cache.
  void AddRange(ms::Frame& frame, void* out, int64_t begin, int64_t end) const {
    constexpr int64_t kBlock = 2048;
    for (int64_t block = begin; block < end; block += kBlock) {
      const int64_t block_end = std::min(end, block + kBlock);
      RunBinaryElements(call_, frame.input(0).raw(), frame.input(1).raw(), out, block, block_end);
      for (uint32_t i = 2; i < frame.num_inputs(); ++i) {
        RunBinaryElements(call_, out, frame.input(i).raw(), out, block, block_end);
      }
    }
  }

  void AddNarrowRange(ms::Frame& frame, void* out, int64_t begin, int64_t end) const {
    float sum[kTileElements];
    float term[kTileElements];
    for (int64_t at = begin; at < end; at += kTileElements) {
      const int64_t n = std::min(kTileElements, end - at);
      call_.format->widen(frame.input(0).raw(), at, n, sum);
      for (uint32_t i = 1; i < frame.num_inputs(); ++i) {
        call_.format->widen(frame.input(i).raw(), at, n, term);
        call_.functions->both(sum, term, sum, RowBlock{0, 0, 0, 1, 0, 0}, n);
      }
      call_.format->narrow(sum, n, out, at);
    }
  }

  std::string op_;
  DeclaredShape shape_;  // of AccumulateNV2; AddN takes any
  BinaryCall call_;
};

// In place of the first input only: the others are read after the output was first written.
ms::Registered RegisterSum(const char* op) {
  return ms::Register<AddN>(op,
                            ms::KernelOptions().Types("T", TypesIn(kAllNumberTypes)).InPlace(0, 0));
}

const ms::Registered add_n = RegisterSum("AddN");
const ms::Registered accumulate_n = RegisterSum("AccumulateNV2");

}  // namespace
}  // namespace millstream::kernels
