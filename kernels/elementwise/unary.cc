#include "kernels/elementwise/unary.h"

#include <algorithm>

#include "kernels/common/parallel.h"
#include "kernels/common/streamed_output.h"

namespace millstream::kernels {
namespace {

// Of an element and a thread: what takes longer is not held up by the memory, and the copy past the
// caches would only come on top of it.
constexpr int64_t kMostStreamedPicoseconds = 500;

}  // namespace

ms::Status ElementwiseKernel::Init(const ms::KernelInfo& info) {
  const MS_DType dtype = info.input_dtype(0);
  const UnaryFunctions* functions = row_.Find(dtype);
  if (functions == nullptr) return NoLoopFor(dtype);
  format_ = NarrowFormatOf(dtype);
  loop_ = functions->loop;
  same_dtype_ = dtype == info.output_dtype(0);
  bytes_ = static_cast<int64_t>(ms::ElementSize(dtype));
  result_bytes_ = static_cast<int64_t>(ms::ElementSize(info.output_dtype(0)));
  picoseconds_ = functions->picoseconds + (format_ == nullptr ? 0 : kTilePicoseconds);
  return ms::Status();
}

ms::Status ElementwiseKernel::Compute(ms::Frame& frame) const {
  const ms::View x = frame.input(0);
  ms::View out;
  if (same_dtype_) {
    MS_TRY(frame.ForwardOrOutput(0, 0, x.shape(), &out));
  } else {
    MS_TRY(frame.Output(0, x.shape(), &out));
  }
  const void* const x_data = x.raw();
  void* const out_data = out.raw();
  const bool is_streamed = format_ == nullptr && out_data != x_data &&
                           IsStreamed(x.size() * bytes_, x.size() * result_bytes_) &&
                           picoseconds_ <= kMostStreamedPicoseconds * frame.num_threads();
  MS_TRY(ParallelElements(frame, x.size(), picoseconds_, [&](int64_t begin, int64_t end) {
    if (is_streamed) {
      RunStreamed(x_data, out_data, begin, end);
    } else if (format_ == nullptr) {
      loop_(x_data, out_data, begin, end);
    } else {
      RunNarrow(x_data, out_data, begin, end);
    }
  }));
  return ms::Status();
}

void ElementwiseKernel::RunStreamed(const void* x, void* out, int64_t begin, int64_t end) const {
  const int64_t tile_elements = kStreamedTileBytes / std::max(bytes_, result_bytes_);
  alignas(64) char tile[kStreamedTileBytes];
  for (int64_t at = begin; at < end; at += tile_elements) {
    const int64_t n = std::min(tile_elements, end - at);
    loop_(static_cast<const char*>(x) + at * bytes_, tile, 0, n);
    StreamCopy(tile, n * result_bytes_, static_cast<char*>(out) + at * result_bytes_);
  }
  EndStreaming();
}

void ElementwiseKernel::RunNarrow(const void* x, void* out, int64_t begin, int64_t end) const {
  float tile[kTileElements];
  for (int64_t at = begin; at < end; at += kTileElements) {
    const int64_t n = std::min(kTileElements, end - at);
    format_->widen(x, at, n, tile);
    if (same_dtype_) {
      loop_(tile, tile, 0, n);
      format_->narrow(tile, n, out, at);
    } else {
      loop_(tile, static_cast<bool*>(out) + at, 0, n);
    }
  }
}

}  // namespace millstream::kernels
